"""Hosts to test on."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from suite.launch.mpirun import Flavour
from tests.every_case import EVERY_CASE
from tests.hosts.training import Trainer, adopt_open_mpi
from tests.namespaces import OVER_THE_WIRE, Cluster, joined_hosts


@pytest.fixture
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1 and node2; in a proof each has an SSH server."""
    with joined_hosts(2, tmp_path_factory.mktemp("hosts"), by_ssh=EVERY_CASE) as cluster:
        yield cluster


@pytest.fixture
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1, node2 and node3."""
    with joined_hosts(3, tmp_path_factory.mktemp("hosts")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def over_open_mpi(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables that choose the system's Open MPI and send it over the wire."""
    home = tmp_path_factory.mktemp("open-mpi")
    adopt_open_mpi(home)
    return {"SUITE_HOME": str(home), "OMPI_MCA_btl": "tcp,self"}


@pytest.fixture
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """node1 to node4."""
    with joined_hosts(4, tmp_path_factory.mktemp("hosts")) as cluster:
        yield cluster


@pytest.fixture
def trainer(
    request: pytest.FixtureRequest, two_hosts: Cluster, tmp_path: Path, digits: Path
) -> Trainer:
    """Trains on node1 and node2, over MPICH, which the environments bring, unless the test asks for
    the other."""
    is_other = getattr(request, "param", Flavour.MPICH) is Flavour.OPEN_MPI
    variables = request.getfixturevalue("over_open_mpi") if is_other else OVER_THE_WIRE
    return Trainer(two_hosts, digits, two_hosts.hostfile(tmp_path / "hosts.txt"), variables)
