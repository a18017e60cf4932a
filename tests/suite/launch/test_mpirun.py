"""Where ranks run, and what starts them there."""

import re
import signal
from pathlib import Path

import pytest

from suite.bundle.layout import HOSTS
from suite.errors import SuiteError
from suite.launch.mpirun import (
    HOSTS_NAME,
    FailedProcess,
    Flavour,
    Mpirun,
    all_reduce_variables,
    closed_host,
    failed_process,
    last_output_line,
    mpirun_command,
    rank_output,
    refused_host,
    with_meeting_point,
)
from suite.launch.placement import Placement, expand_hosts, is_this_machine, place_ranks, read_hosts

MPICH, OPEN_MPI = (
    Mpirun(Path("/env/bin/mpirun"), Flavour.MPICH),
    Mpirun(Path("/usr/bin/mpirun"), Flavour.OPEN_MPI),
)
PI = Placement(("pi1", "pi2"), 2, "/usr/bin/agent")
VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "UCX_TLS": "tcp,self",
    "HOME": "/root",
    "SUITE_HEARTBEAT_ADDRESS": "10.0.0.1:1",
}


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.txt"
    # by an editor of another system
    path.write_text("\ufeff# the shelf\r\npi1 slots=4\r\n\npi2:4  # the slow one")
    return path


def test_hosts_are_the_first_words_of_lines_with_the_slots_that_they_state(hostfile: Path) -> None:
    assert read_hosts(hostfile) == {"pi1": 4, "pi2": 4}


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("pi[1-3]", ["pi1", "pi2", "pi3"]),
        ("rack2-pi[08-10,12].lan:2", [f"rack2-pi{n}.lan:2" for n in ("08", "09", "10", "12")]),
        ("pi1", ["pi1"]),
        ("pi[1-", ["pi[1-"]),
        ("pi[1,4-2]", ["pi[1,4-2]"]),
    ],
)
def test_a_list_of_hosts_is_written_as_slurm_does(word: str, names: list[str]) -> None:
    assert expand_hosts(word) == names


@pytest.mark.parametrize(
    ("text", "typed", "ranks"),
    [
        ("pi[1-2] slots=4", None, 4),
        ("pi1:2\npi2 slots=2", None, 2),
        ("pi1\npi2", None, 1),
        ("pi1:2\npi2", 3, 3),
        ("pi1 max-slots=4", None, 1),
        ("pi1:2\npi2", None, "different numbers of slots (2, none)"),
        ("localhost slots=3", None, 3),
        ("pi1 slots=0", None, "0 slots"),
    ],
)
def test_slots_are_the_ranks_of_a_node_unless_they_were_typed(
    tmp_path: Path, text: str, typed: int | None, ranks: int | str
) -> None:
    (tmp_path / "hosts").write_text(text)
    if isinstance(ranks, str):
        with pytest.raises(SuiteError, match=f"states {re.escape(ranks)}"):
            place_ranks(None, tmp_path / "hosts", typed, None)
    else:
        assert place_ranks(None, tmp_path / "hosts", typed, None).ranks_per_node == ranks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no host"),
        ("pi1\n-o ProxyCommand=x\n", ":2:"),
        ("pi1;reboot\n", ":1:"),
        ("pi1\nbad host name\n", ":2: 'host' stands after the host name"),
        ("pi1\npi2\npi1:2\n", ":3: pi1 is named twice"),
        ("pi1\nfe80::1\n", ":2: fe80::1 is an IPv6 address"),
        ("pi1\njane@pi2\n", ":2: 'jane@pi2' names a user; write pi2, and `User jane`"),
        ("pi1,pi2\n", ":1: 'pi1,pi2' is not a host name"),
        ("pi1\npi2 slots=x\n", ":2: 'slots=x' is not a number of slots"),
    ],
)
def test_a_file_without_hosts_or_with_what_is_none_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "hosts.txt").write_text(text)
    with pytest.raises(SuiteError, match=words):
        read_hosts(tmp_path / "hosts.txt")


def test_fewer_nodes_than_the_file_has_are_its_first_ones_and_more_are_refused(
    hostfile: Path,
) -> None:
    assert place_ranks(1, hostfile, 1, None).hosts == ("pi1",)
    assert place_ranks(None, hostfile, 2, None).ranks == 4
    hostfile.write_text("pi1:2\npi2:3")
    assert place_ranks(1, hostfile, None, None).ranks == 2, "the slots of hosts that take part"
    hostfile.write_text("pi1\npi2")
    assert place_ranks(2, hostfile, None, None, otherwise=4).ranks == 8
    for nodes, ranks in ((0, 1), (1, 0)):
        with pytest.raises(SuiteError, match="must be at least 1"):
            place_ranks(nodes, hostfile, ranks, None)
    with pytest.raises(SuiteError, match="needs 1 more"):
        place_ranks(3, hostfile, 1, None)
    with pytest.raises(SuiteError, match="--hostfile"):
        place_ranks(2, None, 1, None)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "localhost.localdomain"])
def test_a_name_that_every_machine_has_for_itself_is_no_host_among_several(
    hostfile: Path, name: str
) -> None:
    hostfile.write_text(f"{name}\npi2\n")
    with pytest.raises(
        SuiteError, match=f"names {name}, which is a different machine for each host"
    ):
        place_ranks(None, hostfile, 1, None)


def test_this_machines_addresses_are_recognised() -> None:
    assert is_this_machine("127.0.0.1")
    assert not is_this_machine("192.0.2.1")  # set aside for documents, RFC 5737


def test_mpich_gets_the_hosts_the_agent_and_the_forwarded_variables(tmp_path: Path) -> None:
    words = mpirun_command(MPICH, PI, ["python", "-m", "x"], VARIABLES, tmp_path)
    assert words[:3] == ["/env/bin/mpirun", "-n", "4"]
    assert words[-3:] == ["python", "-m", "x"]
    assert words[words.index("-launcher-exec") + 1] == "/usr/bin/agent"
    assert (tmp_path / HOSTS_NAME).read_text() == "pi1:2\npi2:2\n"
    assert {words[place + 1] for place, word in enumerate(words) if word == "-genv"} == set(
        VARIABLES
    ) - {"HOME"}


def test_ranks_that_do_not_use_mpi_meet_where_every_rank_reaches_the_harness(
    tmp_path: Path,
) -> None:
    found = with_meeting_point(VARIABLES)
    assert found["MASTER_ADDR"] == "10.0.0.1" and 0 < int(found["MASTER_PORT"]) < 2**16
    assert with_meeting_point({})["MASTER_ADDR"] == "127.0.0.1", "on one machine"
    words = mpirun_command(MPICH, PI, ["program"], found, tmp_path)
    assert {"MASTER_ADDR", "MASTER_PORT"} <= set(words), "ranks on other hosts get them"


@pytest.mark.parametrize("launcher", [MPICH, OPEN_MPI])
def test_paths_typed_in_one_folder_hold_in_every_folder(
    launcher: Mpirun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LINPACK runs in its record's folder, a training in the suite's."""
    monkeypatch.chdir(tmp_path)
    Path("hosts").write_text("pi1\npi2\n")
    Path("record").mkdir()
    placement = place_ranks(None, Path("hosts"), 1, "./agent")
    words = mpirun_command(launcher, placement, ["python"], {}, Path("record"))
    assert {str(tmp_path / "record" / HOSTS_NAME), str(tmp_path / "agent")} <= set(words)
    assert place_ranks(None, Path("hosts"), 1, "srun").agent == "srun"


def test_open_mpi_gets_the_same_by_its_options(tmp_path: Path) -> None:
    words = mpirun_command(OPEN_MPI, PI, ["python"], VARIABLES, tmp_path)
    assert words[words.index("plm_rsh_agent") + 1] == "/usr/bin/agent"
    assert (tmp_path / HOSTS_NAME).read_text() == "pi1 slots=2\npi2 slots=2\n"
    assert {"UCX_TLS=tcp,self", "OMP_NUM_THREADS=1"} <= set(words)
    assert not [word for word in words if word.startswith("HOME=")]


def test_this_machine_alone_needs_no_hosts(tmp_path: Path) -> None:
    for mpirun in (MPICH, OPEN_MPI):
        words = mpirun_command(mpirun, Placement((), 2), ["python"], {}, tmp_path)
        assert words[1:3] == ["-n", "2"]
    assert not (tmp_path / HOSTS_NAME).exists()


RULE = "-" * 74
MPICH_SAYS = """\
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 7 RUNNING AT pi2
=   EXIT CODE: 9
===================================================================================
[proxy:1@pi2] main (proxy/pmip.c:123): demux engine error waiting for event
[mpiexec@pi1] main (mpiexec.c:270): process manager error waiting for completion
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
OPEN_MPI_SAYS = f"""\
{RULE}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{RULE}
{RULE}
mpirun noticed that process rank 1 with PID 7 on node pi2 exited on signal 9 (Killed).
{RULE}
[pi1:22548] 1 more process has sent help message help-mpi-btl-tcp.txt / server accept cannot find guid
[pi1:22548] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages
"""  # noqa: E501


@pytest.mark.parametrize("launcher", [MPICH_SAYS, OPEN_MPI_SAYS])
def test_a_ranks_output_precedes_its_launchers(launcher: str) -> None:
    assert last_output_line(f"loading\nBus error\n{launcher}".splitlines()) == "Bus error"


@pytest.mark.parametrize("launcher", [MPICH_SAYS, OPEN_MPI_SAYS])
def test_the_first_error_reported_by_a_rank_is_the_cause(launcher: str) -> None:
    said = (
        "error: rank 1 on pi2: the data set is not there\nerror: rank 0 on pi1: MPI_ERR_OTHER\nBus"
        f" error\n{launcher}"
    )
    assert last_output_line(said.splitlines()) == "error: rank 1 on pi2: the data set is not there"


def test_the_stack_that_open_mpi_prints_of_a_rank_is_not_its_output() -> None:
    """As it stood in the output of a rank that was ended by SIGABRT."""
    stack = [
        "[node2:14527] *** Process received signal ***",
        "[node2:14527] Signal: Aborted (6)",
        "[node2:14527] Signal code: User function (kill, sigsend, abort, etc.) (0)",
        "[node2:14527] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f19d105a050]",
        "[node2:14527] [29] /usr/lib/libpython3.11.so.1.0(PyEval_EvalCode+0x224)[0x7f19d14508e4]",
        "[node2:14527] *** End of error message ***",
    ]
    assert rank_output(["  what():  std::bad_alloc", *stack]) == ["  what():  std::bad_alloc"]


def test_launchers_report_the_process_that_failed_first() -> None:
    assert failed_process(MPICH_SAYS.splitlines(), 2) == FailedProcess(
        None, "pi2", signal.SIGKILL, 7
    )
    assert failed_process(OPEN_MPI_SAYS.splitlines(), 2) == FailedProcess(1, "pi2", signal.SIGKILL)
    assert failed_process(["Bus error"], 2) is None
    by_itself = MPICH_SAYS.replace("CODE: 9", "CODE: 3").splitlines()
    assert failed_process(by_itself, 2) == FailedProcess(None, "pi2", None, 7)


@pytest.mark.parametrize(
    ("statuses", "ranks", "expected"),
    [
        ("[pi1] 9,9,7,9", 4, FailedProcess(2, None, signal.SIGBUS)),  # MPICH killed the others
        ("[pi1] 9,9\n[pi2] 9,11", 4, FailedProcess(3, None, signal.SIGSEGV)),
        ("[pi1] 0,256", 2, FailedProcess(1, None, None)),
        ("[pi1] 256,9\n[pi2] 9,7", 4, FailedProcess(3, None, signal.SIGBUS)),
        ("[pi1] 9,9\n[pi2] 9,512", 4, FailedProcess(3, None, None)),
        ("[pi1] 9,9", 2, FailedProcess(None, "pi2", signal.SIGKILL, 7)),
        # the proxy of pi1 failed, too, so that its statuses are missing
        ("[pi2] 7", 2, FailedProcess(None, "pi2", signal.SIGKILL, 7)),
        ("[pi1] 99999999999,x", 2, FailedProcess(None, "pi2", signal.SIGKILL, 7)),
    ],
)
def test_mpichs_exit_statuses_name_the_rank_and_its_signal(
    statuses: str, ranks: int, expected: FailedProcess
) -> None:
    assert (
        failed_process(
            [*MPICH_SAYS.splitlines(), *f"[mpiexec@pi1] Exit codes: {statuses}".splitlines()], ranks
        )
        == expected
    )


@pytest.mark.parametrize("wrapped", [" on\nsignal 7 (Bus error).", " on signal 7 (Bus error)."])
def test_open_mpis_sentence_may_be_broken_into_two_lines(wrapped: str) -> None:
    said = f"prterun noticed that process rank 1 with PID 9 on node pi2 exited{wrapped}"
    assert failed_process(said.splitlines(), 2) == FailedProcess(1, "pi2", signal.SIGBUS)


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("ssh: Could not resolve hostname pi9: Name or service not known", "pi9"),
        ("ssh: connect to host pi9 port 22: No route to host", "pi9"),
        ("user@pi9: Permission denied (publickey).", "pi9"),
        ("error: rank 0 on pi1: the file is not there", None),
    ],
)
def test_a_host_that_ssh_cannot_connect_to_is_named(line: str, host: str | None) -> None:
    found = refused_host(["loading", line])
    assert (found and found.host) == host


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("Connection to pi2 closed by remote host.", "pi2"),
        ("Read from remote host pi3: Connection reset by peer", "pi3"),
        ("rank 1: Connection to pi2 closed by remote host.", None),
    ],
)
def test_a_host_that_closed_its_connection_is_named(line: str, host: str | None) -> None:
    assert closed_host(["loading", line]) == host


def test_without_output_of_ranks_the_launchers_last_line_is_the_cause() -> None:
    assert (
        last_output_line(
            ["", "  ", RULE, "ORTE was unable to reliably start one or more daemons.", RULE]
        )
        == "ORTE was unable to reliably start one or more daemons."
    )
    assert last_output_line(["", RULE]) is None


def test_the_hostfile_has_the_name_that_a_bundle_may_hold() -> None:
    assert HOSTS_NAME == HOSTS


@pytest.mark.parametrize(
    ("nodes", "ranks_per_node", "gradient_bytes", "is_ring"),
    [
        (2, 1, 2**30, False),
        (3, 1, 2**22, True),
        (3, 1, 2**22 - 1, False),
        (3, 2, 2**22, False),
    ],
)
def test_large_gradients_of_several_nodes_go_along_a_ring(
    nodes: int, ranks_per_node: int, gradient_bytes: int, is_ring: bool
) -> None:
    assert (
        all_reduce_variables(nodes, ranks_per_node, gradient_bytes)
        == {"MPICH_IALLREDUCE_INTRA_ALGORITHM": "tsp_ring"}
    ) is is_ring


def test_the_choice_of_the_ring_is_sent_to_every_rank(tmp_path: Path) -> None:
    words = mpirun_command(MPICH, PI, ["train"], all_reduce_variables(4, 1, 2**25), tmp_path)
    assert " ".join(words).count("-genv MPICH_IALLREDUCE_INTRA_ALGORITHM tsp_ring") == 1
