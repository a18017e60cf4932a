"""What the harness makes of what it hears of its ranks, and does not hear."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from reference_impls.rank import SILENCE_S, TOKEN, WATCH, name_of, state_of
from suite.execution.heartbeat import START_S, Heartbeat, HeartbeatMonitor
from suite.files.paths import repository_root
from suite.launch.mpirun import FailedProcess


class Clock:
    """Time that passes when told to."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Iterator[HeartbeatMonitor]:
    """A watch over two ranks of this machine, which both have just been heard of."""
    watch = HeartbeatMonitor(2, (), clock)
    for rank in range(2):
        assert watch.hear(line(watch, rank)) is not None
    yield watch
    watch.close()


def line(watch: HeartbeatMonitor, rank: object, state: str = "R", token: str | None = None, pid: int | None = None) -> bytes:
    node, number = (f"node{rank + 1}", 1000 + rank) if isinstance(rank, int) else ("", 0)
    said = {"token": token or watch.variables[TOKEN], "rank": rank, "node": node, "pid": pid or number, "state": state}
    return json.dumps(said).encode()


def test_ranks_that_are_heard_of_are_well(watch: HeartbeatMonitor, clock: Clock) -> None:
    assert watch.pids() == {0: 1000, 1: 1001}
    clock.now_s += SILENCE_S - 1
    assert watch.problem() is None
    for rank in range(2):
        watch.hear(line(watch, rank))
    clock.now_s += SILENCE_S - 1
    assert watch.problem() is None


def test_a_silent_rank_is_named_with_its_node(watch: HeartbeatMonitor, clock: Clock) -> None:
    clock.now_s += SILENCE_S + 1
    watch.hear(line(watch, 0))
    assert str(watch.problem()).startswith("rank 1 on node node2 has not been heard of")


def test_a_stopped_rank_is_a_problem_when_it_stays_stopped(watch: HeartbeatMonitor, clock: Clock) -> None:
    for second in range(int(SILENCE_S) + 1):
        assert watch.problem() is None, second
        clock.now_s += 1
        watch.hear(line(watch, 0))
        watch.hear(line(watch, 1, state="T"))
    clock.now_s += 1
    assert "rank 1 on node node2 was stopped" in str(watch.problem())
    watch.hear(line(watch, 1))
    assert watch.problem() is None


def test_a_rank_that_others_outlive_is_a_problem(watch: HeartbeatMonitor, clock: Clock) -> None:
    watch.leave(Heartbeat(1, "node2", 1001, clock.now_s, None))
    assert watch.problem() is None
    assert watch.first_gone() == Heartbeat(1, "node2", 1001, clock.now_s, None)
    for _ in range(3):
        clock.now_s += SILENCE_S / 2
        watch.hear(line(watch, 0))
    assert "rank 1 on node node2 ended and others have not" in str(watch.problem())
    watch.leave(Heartbeat(0, "node1", 1000, clock.now_s, None))
    assert watch.problem() is None


@pytest.mark.parametrize("hosts", [(), ("127.0.0.1", "127.0.0.2")])
def test_the_rank_that_mpirun_blames_was_the_first_to_go(clock: Clock, hosts: tuple[str, ...]) -> None:
    """The others are killed so soon after it that their ends may be heard before its own. Equal machines give equal numbers to processes."""
    watch = HeartbeatMonitor(2, hosts, clock)
    for rank in range(2):
        watch.hear(line(watch, rank, pid=7 if hosts else 7 + rank))
    watch.leave(Heartbeat(1, "node2", 8, clock.now_s, None))
    blame = FailedProcess(None, 7, "127.0.0.1") if hosts else FailedProcess(None, 7, "pi")
    for each, rank in ((None, 1), (blame, 0), (FailedProcess(0, None, None), 0), (FailedProcess(None, 99, "127.0.0.1"), 1)):
        gone = watch.first_gone(each)
        assert gone is not None and gone.rank == rank
    watch.close()


def test_a_rank_that_never_comes_is_a_problem_after_a_minute(clock: Clock) -> None:
    watch = HeartbeatMonitor(2, (), clock)
    watch.hear(line(watch, 0))
    clock.now_s += START_S + 1
    watch.hear(line(watch, 0))
    assert "rank 1 has not been heard of in the first 60 s" in str(watch.problem())
    watch.close()


def test_a_rank_that_never_came_is_told_by_its_host(clock: Clock) -> None:
    """Ranks are dealt to the hosts in blocks."""
    watch = HeartbeatMonitor(4, ("127.0.0.1", "127.0.0.2"), clock)
    for rank in (0, 1):
        watch.hear(line(watch, rank))
    assert watch.never_heard() == "rank 2 on 127.0.0.2"
    for rank in (2, 3):
        watch.hear(line(watch, rank))
    assert watch.never_heard() is None
    watch.close()


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n", b"{}", b"[]", b"\xff\xfe"])
def test_what_no_rank_says_is_not_believed(watch: HeartbeatMonitor, said: bytes) -> None:
    assert watch.hear(said) is None


def test_another_runs_rank_is_not_believed(watch: HeartbeatMonitor) -> None:
    assert watch.hear(line(watch, 0, token="guess")) is None


@pytest.mark.parametrize("rank", [2, -1, "x", None])
def test_a_rank_that_there_is_not_is_not_believed(watch: HeartbeatMonitor, rank: object) -> None:
    assert watch.hear(line(watch, rank)) is None


def test_a_watch_over_ranks_that_could_not_be_started_is_closed_at_once() -> None:
    HeartbeatMonitor(2, ()).close()


@pytest.mark.slow
def test_a_rank_ends_when_the_harness_hangs_up() -> None:
    watch = HeartbeatMonitor(1, ())
    watch.start()
    rank = start_rank(watch)
    assert rank.stdout is not None
    rank.stdout.readline()  # the program runs
    watch.close()
    assert rank.wait(SILENCE_S * 2) == -signal.SIGKILL


def test_a_process_is_described_by_the_kernel() -> None:
    assert state_of(os.getpid()) == "R"
    assert name_of(os.getppid()) is not None
    assert state_of(2**30) is None
    assert name_of(2**30) is None


def start_rank(watch: HeartbeatMonitor) -> "subprocess.Popen[bytes]":
    """A rank's program that would go on for long."""
    program = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    child_environment = {**os.environ, "PMI_RANK": "0", WATCH: watch.variables[WATCH], TOKEN: watch.variables[TOKEN]}
    command = [sys.executable, "-m", "reference_impls.rank", *program]
    return subprocess.Popen(command, cwd=repository_root(), env=child_environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
