"""Hosts to test on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.mpi import Flavour
from tests.hosts.training import Trainer, variables_of
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


@pytest.fixture
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1 to node4."""
    with joined_hosts(4, tmp_path_factory.mktemp("hosts")) as cluster:
        yield cluster


@pytest.fixture
def trainer(request: pytest.FixtureRequest, two_hosts: Cluster, tmp_path: Path, digits: Path) -> Trainer:
    """Trains on node1 and node2, over MPICH unless the test asks for the other."""
    flavour = getattr(request, "param", Flavour.MPICH)
    return Trainer(two_hosts, digits, two_hosts.hostfile(tmp_path / "hosts.txt"), variables_of(flavour, tmp_path))
