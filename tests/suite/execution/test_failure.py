"""The sentence about the end of a run of several ranks: who ended first, by what, and no word that
has nothing to do with it."""

import signal
from collections.abc import Iterator
from typing import cast

import pytest

from suite.execution.ending import describe_failure
from suite.execution.heartbeat import Heartbeat, HeartbeatMonitor
from suite.execution.remote_recorders import RemoteRecorders
from suite.experiments import board_talk
from suite.launch import process
from suite.launch.process import exit_report
from tests.suite.execution.test_heartbeat import line

WARNS = [
    (
        "/suite/reference_impls/pytorch/implementation.py:169: UserWarning: Converting a tensor"
        " with requires_grad=True to a scalar may lead to unexpected behavior."
    ),
    (
        "Consider using tensor.detach() first. (Triggered internally at"
        " /__w/pytorch/pytorch/torch/csrc/autograd/generated/python_variable_methods.cpp:822.)"
    ),
    "  return value.detach() if self._is_deferred else float(value)",
]
"""What PyTorch 2.13 wrote in the first step of a run."""
CLOSED = [
    "Connection to 127.0.0.2 closed by remote host.",
    (
        "[mpiexec@node1] control_cb (/mpich-5.0.2/src/pm/hydra/mpiexec/pmiserv_cb.c:280): assert"
        " (!closed) failed"
    ),
    (
        "[mpiexec@node1] HYDT_dmxu_poll_wait_for_event"
        " (/mpich-5.0.2/src/pm/hydra/lib/tools/demux/demux_poll.c:76): callback returned error"
        " status"
    ),
    (
        "[mpiexec@node1] HYD_pmci_wait_for_completion"
        " (/mpich-5.0.2/src/pm/hydra/mpiexec/pmiserv_pmci.c:180): error waiting for event"
    ),
    (
        "[mpiexec@node1] main (/mpich-5.0.2/src/pm/hydra/mpiexec/mpiexec.c:270): process manager"
        " error waiting for completion"
    ),
]
"""What OpenSSH and MPICH wrote when everything on the second host was killed."""


class NoRecorders:
    """No node has a recorder that answers."""

    launcher = "mpirun"

    def memory_kills(self, _: int, local_kills: int | None) -> int | None:
        return local_kills

    def first_unreached(self) -> None:
        return None


@pytest.fixture
def monitor() -> Iterator[HeartbeatMonitor]:
    """Two ranks, one on each host; the second has just ended."""
    monitor = HeartbeatMonitor(2, ("127.0.0.1", "127.0.0.2"))
    for rank in range(2):
        monitor.receive(line(monitor, rank))
    monitor.disconnected(Heartbeat(1, "127.0.0.2", 1001, 0.0, None))
    yield monitor
    monitor.close()


def cause(
    monitor: HeartbeatMonitor, *output: str, status: int | None, kills: int | None = None
) -> str:
    """The sentence, after the ranks wrote this and MPICH reported this exit status of the second,
    as wait(2) returns it; None: no status."""
    statuses = [
        "[mpiexec@node1] Exit codes: [127.0.0.1] 9",
        *([] if status is None else [f"[127.0.0.2] {status}"]),
    ]
    banner = (
        [] if status is None else ["=   PID 1001 RUNNING AT 127.0.0.2", f"=   EXIT CODE: {status}"]
    )
    return describe_failure(
        exit_report(1, [*output, *banner, *statuses], 2),
        monitor,
        cast(RemoteRecorders, NoRecorders()),
        kills,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGBUS, signal.SIGSEGV])
def test_what_a_rank_wrote_before_it_was_ended_by_a_signal_is_not_its_cause(
    monitor: HeartbeatMonitor, number: signal.Signals
) -> None:
    said = cause(monitor, *WARNS, status=number.value)
    assert said.startswith(
        f"rank 1 on node 127.0.0.2 was ended by signal {number.value} ({number.name}), "
    )
    assert "float(value)" not in said and "output" not in said


def test_before_it_aborts_a_library_writes_why(monitor: HeartbeatMonitor) -> None:
    why = [
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "  what():  std::bad_alloc",
    ]
    said = cause(monitor, *WARNS, *why, status=6)
    assert (
        "was ended by signal 6 (SIGABRT), with which a library ended the program; its last output: "
        "what():  std::bad_alloc" in said
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (6, "a library ended the program"),
        (256, "exited before the others: no rank printed a reason"),
    ],
)
def test_a_warning_is_not_a_cause(monitor: HeartbeatMonitor, status: int, expected: str) -> None:
    assert cause(monitor, *WARNS, *WARNS, status=status).endswith(expected)


def test_a_rank_that_the_kernel_killed_for_memory_is_that_alone(monitor: HeartbeatMonitor) -> None:
    said = cause(monitor, *WARNS, status=9, kills=1)
    assert said.endswith(
        "for lack of memory (processes that the node's kernel killed for this reason: 1)"
    )


def test_a_rank_that_exits_by_itself_is_reported_with_its_last_words(
    monitor: HeartbeatMonitor,
) -> None:
    assert "rank 1 on node 127.0.0.2 exited before the others: KeyError: 7" in cause(
        monitor, "KeyError: 7", status=256
    )


@pytest.mark.parametrize(
    "said", [CLOSED, ["Read from remote host 127.0.0.2: Connection reset by peer", *CLOSED[1:]]]
)
def test_a_host_that_closes_its_connection_was_switched_off_or_emptied(
    monitor: HeartbeatMonitor, said: list[str]
) -> None:
    sentence = cause(monitor, *WARNS, *said, status=None)
    assert (
        "rank 1 on node 127.0.0.2 ended when 127.0.0.2 closed its SSH connection: 127.0.0.2 was"
        " switched off or restarted, or its processes" in sentence
    )
    assert "`uptime` on 127.0.0.2" in sentence


def test_a_connection_that_was_closed_is_not_the_cause_of_a_crash(
    monitor: HeartbeatMonitor,
) -> None:
    said = cause(monitor, *CLOSED, status=11)
    assert "was ended by signal 11 (SIGSEGV)" in said and "Connection" not in said


def test_another_hosts_connection_is_not_the_cause(monitor: HeartbeatMonitor) -> None:
    assert "exited before the others" in cause(
        monitor, "Connection to 127.0.0.1 closed by remote host.", status=None
    )


def test_one_process_that_a_signal_ended_is_reported_without_its_last_output() -> None:
    assert exit_report(-signal.SIGKILL, WARNS, 1).reason.startswith(
        "was ended by signal 9 (SIGKILL), which the kernel sends when memory is short"
    )
    assert exit_report(-signal.SIGABRT, ["free(): invalid pointer"], 1).reason.endswith(
        "its last output: free(): invalid pointer"
    )
    assert exit_report(1, ["KeyError: 7"], 1).reason == "ended with exit code 1: KeyError: 7"


def test_a_board_is_given_longer_to_end_than_it_gives_its_own_processes() -> None:
    assert 2 * process.GRACE_S <= board_talk.GRACE_S, "after SIGTERM and after SIGKILL"
