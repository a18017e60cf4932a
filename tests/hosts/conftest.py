"""Hosts to test on."""

from collections.abc import Iterator

import pytest

from tests.namespaces import Cluster, joined_hosts


@pytest.fixture
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1 and node2."""
    with joined_hosts(2, tmp_path_factory.mktemp("hosts")) as cluster:
        yield cluster


@pytest.fixture
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1, node2 and node3."""
    with joined_hosts(3, tmp_path_factory.mktemp("hosts")) as cluster:
        yield cluster
