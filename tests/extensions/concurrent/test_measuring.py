"""The loop of a measurement, on a clock that is set: what it records is what the simulated server
says, and a late loop is reported."""

from collections.abc import Sequence

import numpy as np
import pytest

from suite.extensions.concurrent.measuring.schedules import Managed, Schedule, Sliced
from suite.extensions.concurrent.measuring.simulation import simulate
from suite.extensions.concurrent.measuring.window import Timing, Worker, infer
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals, intended_ns
from suite.extensions.concurrent.record.batching import BatchRule
from tests.every_case import some

SECOND = 1_000_000_000


class Clock:
    """Time passes when the loop waits; ``delay_ns`` later than it asked for, where the machine is
    busy."""

    def __init__(self, delay_ns: int = 0) -> None:
        self.now_ns, self.delay_ns = 7 * SECOND, delay_ns
        self.timing = Timing(lambda: self.now_ns, self.wait)

    def wait(self, workers: Sequence[Worker], timeout_ns: int) -> list[Worker]:
        due = [
            (worker.due_ns, index)
            for index, worker in enumerate(workers)
            if isinstance(worker, Scripted) and worker.due_ns is not None
        ]
        first = min(due, default=(None, None))[0]
        if first is not None and first <= self.now_ns + timeout_ns:
            self.now_ns = max(self.now_ns, first)
        else:
            self.now_ns += timeout_ns + (self.delay_ns if timeout_ns else 0)
        return [
            worker
            for worker in workers
            if isinstance(worker, Scripted)
            and worker.due_ns is not None
            and worker.due_ns <= self.now_ns
        ]


class Scripted:
    """A worker without a process: answers every command after ``service_ns`` of the clock."""

    def __init__(self, clock: Clock, service_ns: int) -> None:
        self.clock, self.service_ns, self.due_ns, self.heard = clock, service_ns, None, list[str]()

    due_ns: int | None

    def fileno(self) -> int:
        return -1

    def command(self, text: str) -> None:
        self.heard.append(text)
        self.due_ns = self.clock.now_ns + self.service_ns

    def answers(self) -> list[str]:
        due_ns, self.due_ns = self.due_ns, None
        return [] if due_ns is None else [f"{due_ns - self.service_ns} {due_ns}"]


class Trainer(Scripted):
    """A training that pauses when its mini-batch has ended, ``service_ns`` after it was asked."""

    def command(self, text: str) -> None:
        self.heard.append(text)
        self.due_ns = self.clock.now_ns + self.service_ns if text == "pause" else None

    def answers(self) -> list[str]:
        is_due = self.due_ns is not None and self.due_ns <= self.clock.now_ns
        self.due_ns = None if is_due else self.due_ns
        return ["paused"] if is_due else []


@pytest.mark.parametrize("kind", some([ArrivalKind.POISSON, ArrivalKind.UNIFORM]))
@pytest.mark.parametrize("rule", [BatchRule(1), BatchRule(16), BatchRule(8, 30_000_000)])
@pytest.mark.parametrize("service_ns", some([40_000_000, 3_000_000]))
def test_it_records_what_a_simulated_server_does(
    kind: ArrivalKind, rule: BatchRule, service_ns: int
) -> None:
    times, clock = intended_ns(Arrivals(kind, 20, 10)), Clock()
    found = infer(
        times, rule, 10 * SECOND, Scripted(clock, service_ns), None, Schedule(), clock.timing
    )
    rows, noticed = simulate(times, rule, lambda count: service_ns)
    assert found.start_ns == 7 * SECOND
    assert found.rows == rows
    assert found.noticed_ns == noticed


def test_a_loop_that_wakes_late_records_by_how_much() -> None:
    times, clock = intended_ns(Arrivals(ArrivalKind.UNIFORM, 20, 10)), Clock(delay_ns=5_000_000)
    found = infer(
        times, BatchRule(1), 10 * SECOND, Scripted(clock, 1_000_000), None, Schedule(), clock.timing
    )
    late_ns = np.array(found.noticed_ns) - times
    assert set(late_ns[1:].tolist()) == {5_000_000}, "the intended arrivals stay where they were"
    latencies_ns = np.array([row.end_ns for row in found.rows]) - times
    assert set(latencies_ns[1:].tolist()) == {6_000_000}, "an image that was sent late has waited"


def test_an_unstable_queue_is_left_after_a_quarter_of_the_duration() -> None:
    times, clock = intended_ns(Arrivals(ArrivalKind.UNIFORM, 20, 40)), Clock()
    found = infer(
        times, BatchRule(1), 40 * SECOND, Scripted(clock, SECOND), None, Schedule(), clock.timing
    )
    assert len(found.noticed_ns) == 800, "every image arrived"
    assert len(found.rows) == 50
    assert found.end_ns == 50 * SECOND


def test_managed_interleaving_waits_for_the_mini_batch_and_lets_the_training_continue() -> None:
    clock = Clock()
    trainer, worker = Trainer(clock, 20_000_000), Scripted(clock, 10_000_000)
    schedule = Managed()
    schedule.begin(trainer, worker)  # type: ignore[arg-type]
    found = infer(
        np.array([0, 500_000_000]), BatchRule(1), SECOND, worker, trainer, schedule, clock.timing
    )
    assert trainer.heard == ["pause", "continue", "pause", "continue"]
    assert [row.sent_ns - row.asked_ns for row in found.rows] == [20_000_000, 20_000_000]


def test_managed_interleaving_keeps_the_training_paused_while_batches_wait() -> None:
    clock = Clock()
    trainer, worker = Trainer(clock, 20_000_000), Scripted(clock, 10_000_000)
    schedule = Managed()
    schedule.begin(trainer, worker)  # type: ignore[arg-type]
    infer(
        np.array([0, 1_000_000, 2_000_000]),
        BatchRule(1),
        SECOND,
        worker,
        trainer,
        schedule,
        clock.timing,
    )
    assert trainer.heard == ["pause", "continue"]


class Signalled(Scripted):
    """Notes the signals that it gets, with their time since the start."""

    def send_signal(self, number: int) -> None:
        self.heard.append(f"{(self.clock.now_ns - 7 * SECOND) // 1_000_000} {number.name}")  # type: ignore[attr-defined]


def test_time_slices_stop_one_side_while_the_other_runs() -> None:
    clock = Clock()
    trainer, worker = Signalled(clock, 0), Signalled(clock, 0)
    schedule = Sliced(100_000_000, 0.3)
    schedule.begin(trainer, worker)  # type: ignore[arg-type]
    infer(
        np.array([], np.int64), BatchRule(1), 230_000_000, worker, trainer, schedule, clock.timing
    )
    assert trainer.heard == ["0 SIGCONT", "30 SIGSTOP", "100 SIGCONT", "130 SIGSTOP", "200 SIGCONT"]
    assert worker.heard == ["0 SIGSTOP", "30 SIGCONT", "100 SIGSTOP", "130 SIGCONT", "200 SIGSTOP"]
