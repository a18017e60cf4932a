"""The heartbeat monitor: which ranks it reports as failed, and which lines it accepts."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from reference_impls.rank import (
    HEARTBEAT_PERIOD_S,
    HEARTBEAT_TIMEOUT_S,
    SILENCE_VARIABLE,
    TOKEN_VARIABLE,
    name_of,
    parent_of,
    state_of,
)
from suite.execution import heartbeat
from suite.execution.heartbeat import (
    RELEASE_TIMEOUT_S,
    START_TIMEOUT_S,
    Heartbeat,
    HeartbeatMonitor,
)
from suite.execution.recorder import ATTACH_TIMEOUT_S
from suite.files.paths import repository_root
from suite.launch.mpirun import FailedProcess

HOSTS = ("127.0.0.1", "127.0.0.2")


class Clock:
    """A clock that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(clock: Clock) -> Iterator[HeartbeatMonitor]:
    """A monitor of two ranks, each on a name of this machine; both have just sent a heartbeat."""
    monitor = HeartbeatMonitor(2, HOSTS, clock)
    for rank in range(2):
        assert monitor.receive(line(monitor, rank)) is not None
    yield monitor
    monitor.close()


def line(
    monitor: HeartbeatMonitor,
    rank: object,
    state: str = "R",
    token: str | None = None,
    pid: int | None = None,
) -> bytes:
    number = 1000 + rank if isinstance(rank, int) else 0
    said = {
        "token": token or monitor.variables[TOKEN_VARIABLE],
        "rank": rank,
        "machine": "same",
        "pid": pid or number,
        "state": state,
    }
    return json.dumps(said).encode()


def test_ranks_with_heartbeats_have_not_failed(monitor: HeartbeatMonitor, clock: Clock) -> None:
    assert monitor.pids() == {0: 1000, 1: 1001}
    for _ in range(2):
        clock.now_s += HEARTBEAT_TIMEOUT_S
        assert monitor.failure() is None
        for rank in range(2):
            monitor.receive(line(monitor, rank))


def test_a_rank_without_heartbeats_is_named_with_its_node(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    clock.now_s += HEARTBEAT_TIMEOUT_S + 1
    monitor.receive(line(monitor, 0))
    assert str(monitor.failure()).startswith("no heartbeat from rank 1 on node 127.0.0.2 for 10 s")


def test_how_long_a_rank_may_be_silent_is_a_setting(clock: Clock) -> None:
    patient = HeartbeatMonitor(2, HOSTS, clock, silence_s=60)
    assert patient.variables[SILENCE_VARIABLE] == "60"
    patient.receive(line(patient, 0))
    clock.now_s += 59
    patient.receive(line(patient, 1))
    assert patient.failure() is None
    clock.now_s += 2
    assert str(patient.failure()).startswith("no heartbeat from rank 0 on node 127.0.0.1 for 60 s")
    patient.close()


def test_a_rank_whose_launcher_was_ended_is_named(monitor: HeartbeatMonitor) -> None:
    said = json.loads(line(monitor, 1))
    monitor.receive(json.dumps({**said, "orphaned": False}).encode())
    assert monitor.failure() is None
    monitor.receive(json.dumps({**said, "orphaned": True}).encode())
    assert "the launcher of rank 1 on node 127.0.0.2" in str(monitor.failure())


def test_a_process_has_a_parent() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert parent_of(process.pid) == os.getpid()
        process.kill()
    assert parent_of(process.pid) is None


def test_a_rank_that_stays_stopped_has_failed(monitor: HeartbeatMonitor, clock: Clock) -> None:
    for second in range(int(HEARTBEAT_TIMEOUT_S) + 1):
        assert monitor.failure() is None, second
        clock.now_s += 1
        monitor.receive(line(monitor, 0))
        monitor.receive(line(monitor, 1, state="T"))
    clock.now_s += 1
    assert "rank 1 on node 127.0.0.2 was stopped" in str(monitor.failure())
    monitor.receive(line(monitor, 1))
    assert monitor.failure() is None


def test_a_rank_that_a_limiter_stops_and_continues_has_not_failed(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    """Stopped at every heartbeat, it has used CPU time since the last one."""
    for second in range(4 * int(HEARTBEAT_TIMEOUT_S)):
        clock.now_s += 1
        for rank, state in enumerate("RT"):
            said = json.loads(line(monitor, rank, state=state))
            monitor.receive(json.dumps({**said, "cpu_ticks": second}).encode())
        assert monitor.failure() is None, second


def test_a_rank_that_exits_while_others_run_has_failed(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    monitor.disconnected(Heartbeat(1, "127.0.0.2", 1001, clock.now_s, None))
    assert monitor.failure() is None
    assert monitor.first_exited() == Heartbeat(1, "127.0.0.2", 1001, clock.now_s, None)
    for _ in range(2):
        clock.now_s += (HEARTBEAT_TIMEOUT_S + HEARTBEAT_PERIOD_S) / 2
        monitor.receive(line(monitor, 0))
    assert monitor.failure() is None
    clock.now_s += 0.1
    assert "rank 1 on node 127.0.0.2 exited while other ranks kept running" in str(
        monitor.failure()
    )
    assert monitor.has_lone_exit
    monitor.disconnected(Heartbeat(0, "127.0.0.1", 1000, clock.now_s, None))
    assert monitor.failure() is None


@pytest.mark.parametrize("hosts", [(), ("127.0.0.1", "127.0.0.2")])
def test_the_rank_that_mpirun_reports_exited_first(clock: Clock, hosts: tuple[str, ...]) -> None:
    """The others are killed so soon after it that their connections may close first. Processes on
    equal machines may have equal pids."""
    monitor = HeartbeatMonitor(2, hosts, clock)
    for rank in range(2):
        monitor.receive(line(monitor, rank, pid=7 if hosts else 7 + rank))
    monitor.disconnected(Heartbeat(1, "127.0.0.2", 8, clock.now_s, None))
    reported = FailedProcess(None, "127.0.0.1" if hosts else "pi", signal.SIGBUS, 7)
    for each, rank in (
        (None, 1),
        (reported, 0),
        (FailedProcess(0, None, None), 0),
        (FailedProcess(None, "127.0.0.1", None, 99), 1),
    ):
        exited = monitor.first_exited(each)
        assert exited is not None and exited.rank == rank
    monitor.close()


def test_of_ranks_that_mpirun_killed_itself_the_first_closed_connection_failed_first(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    """MPICH names the first rank of the host, whichever failed."""
    monitor.disconnected(Heartbeat(1, "127.0.0.2", 1001, clock.now_s, None))
    monitor.disconnected(Heartbeat(0, "127.0.0.1", 1000, clock.now_s, None))
    reported = FailedProcess(None, "pi", signal.SIGKILL, 1000)
    exited = monitor.first_exited(reported)
    assert exited is not None and exited.rank == 1
    assert monitor.signal_of(exited, reported) is None
    for other in (
        FailedProcess(1, None, signal.SIGBUS),
        FailedProcess(None, "", signal.SIGBUS, 1001),
    ):
        assert monitor.signal_of(exited, other) == signal.SIGBUS


def test_no_rank_is_blamed_for_the_time_in_which_the_harness_was_stopped(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    monitor.polled()
    clock.now_s += HEARTBEAT_TIMEOUT_S + 6
    monitor.polled()
    assert monitor.failure() is None
    assert monitor.longest_pause_s == HEARTBEAT_TIMEOUT_S + 6
    clock.now_s += HEARTBEAT_TIMEOUT_S + 1
    monitor.polled()
    assert (monitor.failure(), monitor.longest_pause_s) == (None, HEARTBEAT_TIMEOUT_S + 6)
    for _ in range(3):
        clock.now_s += HEARTBEAT_TIMEOUT_S / 2 - 1
        monitor.polled()
    assert "no heartbeat from rank 0" in str(monitor.failure())
    for _ in range(5):
        clock.now_s += HEARTBEAT_TIMEOUT_S / 2 - 1
        monitor.polled()
    assert monitor.longest_pause_s == 0.0, "no end from now on is due to it"


def test_what_a_rank_did_while_the_harness_slept_is_held_against_nobody(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    """Five seconds without a poll are a sleep; what is heard as it ends is of that moment."""
    for seconds, longest in ((4.9, 0), (5, 5)):
        clock.now_s += seconds
        monitor.polled()
        assert monitor.longest_pause_s == longest
    monitor.receive(line(monitor, 1, state="T"))
    clock.now_s += 60
    monitor.receive(line(monitor, 0))
    monitor.polled()
    for _ in range(5):
        assert monitor.failure() is None
        clock.now_s += 2
        monitor.polled()
        monitor.receive(line(monitor, 1, state="T"))
    assert monitor.failure() is None
    clock.now_s += 0.1
    assert "no heartbeat from rank 0" in str(monitor.failure())
    monitor.receive(line(monitor, 0))
    assert "rank 1 on node 127.0.0.2 was stopped" in str(monitor.failure())


def test_a_lost_heartbeat_process_is_not_an_ended_rank(
    monitor: HeartbeatMonitor, clock: Clock
) -> None:
    monitor.disconnected(Heartbeat(1, "127.0.0.2", 1001, clock.now_s, None))
    for _ in range(3):
        clock.now_s += HEARTBEAT_TIMEOUT_S / 2
        monitor.receive(line(monitor, 0))
    assert "the heartbeat process of rank 1 on node 127.0.0.2 was ended" in str(
        monitor.failure(lambda rank, pid: pid == 1001)
    )
    assert "rank 1 on node 127.0.0.2 exited" in str(monitor.failure(lambda rank, pid: False))


def test_a_rank_that_never_starts_has_failed_after_a_minute(clock: Clock) -> None:
    monitor = HeartbeatMonitor(2, (), clock)
    monitor.receive(line(monitor, 0))
    clock.now_s += START_TIMEOUT_S  # the harness was stopped meanwhile
    monitor.polled()
    clock.now_s += START_TIMEOUT_S
    monitor.receive(line(monitor, 0))
    assert monitor.failure() is None
    clock.now_s += 1
    assert "no heartbeat from rank 1 in the first 60 s" in str(monitor.failure())
    monitor.close()


def test_a_rank_that_never_started_is_named_with_its_host(clock: Clock) -> None:
    """Ranks are placed on the hosts in blocks."""
    monitor = HeartbeatMonitor(6, (*HOSTS, "127.0.0.3"), clock)
    for rank in (0, 1, 2, 5):
        monitor.receive(line(monitor, rank))
    assert monitor.first_missing_rank() == "rank 3 on 127.0.0.2"
    for rank in (3, 4):
        monitor.receive(line(monitor, rank))
    assert monitor.first_missing_rank() is None
    monitor.close()


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n", b"{}", b"[]", b"\xff\xfe"])
def test_a_line_that_is_no_heartbeat_is_refused(monitor: HeartbeatMonitor, said: bytes) -> None:
    assert monitor.receive(said) is None


def test_another_runs_rank_is_refused(monitor: HeartbeatMonitor) -> None:
    assert monitor.receive(line(monitor, 0, token="guess")) is None


@pytest.mark.parametrize("rank", [2, -1, "x", None])
def test_a_rank_outside_the_run_is_refused(monitor: HeartbeatMonitor, rank: object) -> None:
    assert monitor.receive(line(monitor, rank)) is None


def test_a_monitor_whose_ranks_could_not_be_started_is_closed_at_once() -> None:
    HeartbeatMonitor(2, ()).close()


def test_a_rank_is_killed_when_the_monitor_closes() -> None:
    monitor = HeartbeatMonitor(1, ())
    monitor.start()
    monitor.release([0])
    rank = start_rank(monitor)
    assert rank.stdout is not None
    rank.stdout.readline()  # the program runs
    monitor.close()
    assert rank.wait(HEARTBEAT_TIMEOUT_S * 2) == -signal.SIGKILL


def test_a_rank_starts_its_program_when_its_nodes_meters_are_attached(
    eventually: Callable[[Callable[[], Any]], Any],
) -> None:
    monitor = HeartbeatMonitor(2, ())
    monitor.start()
    rank = start_rank(monitor)
    assert rank.stdout is not None
    eventually(monitor.pids)
    monitor.release([1])
    assert (
        monitor.pids() == {0: rank.pid}
        and "reference_impls.rank" in psutil.Process(rank.pid).cmdline()
    )
    monitor.release([0])
    assert rank.stdout.readline() == b"\n"
    assert "reference_impls.rank" not in psutil.Process(rank.pid).cmdline()
    rank.kill()
    rank.communicate()
    monitor.close()


def test_a_rank_that_nobody_releases_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "RELEASE_TIMEOUT_S", 0.01)
    monitor = HeartbeatMonitor(1, ())
    monitor.start()
    rank = start_rank(monitor)
    assert rank.stdout is not None and rank.stdout.readline() == b"\n"
    rank.kill()
    rank.communicate()
    monitor.close()


def test_a_rank_waits_for_its_release_for_less_than_for_a_reply() -> None:
    assert ATTACH_TIMEOUT_S < RELEASE_TIMEOUT_S < HEARTBEAT_TIMEOUT_S - HEARTBEAT_PERIOD_S


def test_a_process_is_described_by_the_kernel() -> None:
    assert state_of(os.getpid()) == "R"
    assert name_of(os.getppid()) is not None
    assert state_of(2**30) is None
    assert name_of(2**30) is None


def start_rank(monitor: HeartbeatMonitor) -> "subprocess.Popen[bytes]":
    """A rank whose program would run for ten minutes."""
    program = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    child_environment = {**os.environ, "PMI_RANK": "0", **monitor.variables}
    command = [sys.executable, "-m", "reference_impls.rank", *program]
    return subprocess.Popen(
        command,
        cwd=repository_root(),
        env=child_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
