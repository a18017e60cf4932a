"""Where ranks run, and what starts them there."""

from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.mpi import HOSTS_NAME, Flavour, Mpirun, Placement, command, is_ranks_complaint, is_this_machine, place, read_hosts, said_by_ranks

MPICH, OPEN_MPI = Mpirun(Path("/env/bin/mpirun"), Flavour.MPICH), Mpirun(Path("/usr/bin/mpirun"), Flavour.OPEN_MPI)
PI = Placement(("pi1", "pi2"), 2, "/usr/bin/agent")
VARIABLES = {"OMP_NUM_THREADS": "1", "UCX_TLS": "tcp,self", "HOME": "/root", "SUITE_WATCH": "10.0.0.1:1"}


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.txt"
    path.write_text("# the shelf\npi1 slots=4\n\npi2:4  # the slow one\npi1\n")
    return path


def test_hosts_are_the_first_words_of_lines_each_once(hostfile: Path) -> None:
    assert read_hosts(hostfile) == ("pi1", "pi2")


@pytest.mark.parametrize(("text", "words"), [("", "names no host"), ("pi1\n-o ProxyCommand=x\n", ":2:"), ("pi1;reboot\n", ":1:")])
def test_a_file_without_hosts_or_with_what_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "hosts.txt").write_text(text)
    with pytest.raises(SuiteError, match=words):
        read_hosts(tmp_path / "hosts.txt")


def test_fewer_nodes_than_the_file_has_are_its_first_ones_and_more_are_refused(hostfile: Path) -> None:
    assert place(1, hostfile, 1, None).hosts == ("pi1",)
    assert place(None, hostfile, 2, None).ranks == 4
    with pytest.raises(SuiteError, match="needs 1 more"):
        place(3, hostfile, 1, None)
    with pytest.raises(SuiteError, match="--hostfile"):
        place(2, None, 1, None)


def test_a_machine_knows_its_own_addresses_from_others() -> None:
    assert is_this_machine("127.0.0.1")
    assert not is_this_machine("192.0.2.1")  # set aside for documents, RFC 5737


def test_mpich_is_told_hosts_agent_and_the_variables_that_concern_it(tmp_path: Path) -> None:
    words = command(MPICH, PI, ["python", "-m", "x"], VARIABLES, tmp_path)
    assert words[:3] == ["/env/bin/mpirun", "-n", "4"]
    assert words[-3:] == ["python", "-m", "x"]
    assert words[words.index("-launcher-exec") + 1] == "/usr/bin/agent"
    assert (tmp_path / HOSTS_NAME).read_text() == "pi1:2\npi2:2\n"
    assert {words[place + 1] for place, word in enumerate(words) if word == "-genv"} == set(VARIABLES) - {"HOME"}


def test_open_mpi_is_told_the_same_in_its_own_words(tmp_path: Path) -> None:
    words = command(OPEN_MPI, PI, ["python"], VARIABLES, tmp_path)
    assert words[words.index("plm_rsh_agent") + 1] == "/usr/bin/agent"
    assert (tmp_path / HOSTS_NAME).read_text() == "pi1 slots=2\npi2 slots=2\n"
    assert {"UCX_TLS=tcp,self", "OMP_NUM_THREADS=1"} <= set(words)
    assert not [word for word in words if word.startswith("HOME=")]


def test_this_machine_alone_needs_no_hosts(tmp_path: Path) -> None:
    for mpirun in (MPICH, OPEN_MPI):
        words = command(mpirun, Placement((), 2), ["python"], {}, tmp_path)
        assert words[1:3] == ["-n", "2"]
    assert not (tmp_path / HOSTS_NAME).exists()


def test_what_ranks_said_is_told_from_what_their_launcher_says() -> None:
    mpich = """\
error: rank 1 on pi2: the data set is not there
Abort(2) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 2) - process 1

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   EXIT CODE: 9
===================================================================================
[proxy:1@pi2] main (proxy/pmip.c:123): demux engine error waiting for event
[mpiexec@pi1] main (mpiexec.c:270): process manager error waiting for completion
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
    rule = "-" * 74
    open_mpi = f"error: rank 1 on pi2: the data set is not there\n{rule}\nMPI_ABORT was invoked on rank 1\n{rule}\n"
    for said in (mpich, open_mpi):
        (line,) = said_by_ranks(said.splitlines())
        assert line == "error: rank 1 on pi2: the data set is not there"
        assert is_ranks_complaint(line)
