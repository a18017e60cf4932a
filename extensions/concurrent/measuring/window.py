"""The loop of a measurement: notices arrivals, forms batches, asks the schedule, and sends them to
the inference.

It is open: an image's intended arrival was decided beforehand, and neither a slow inference nor a
late loop shifts it. What the loop notices late is recorded as late, and counts in the image's
latency.
"""

import gc
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from suite.extensions.concurrent.measuring.schedules import Schedule
from suite.extensions.concurrent.record.arrivals import NS_PER_S, Times
from suite.extensions.concurrent.record.batching import BatchRule, Queue
from suite.extensions.concurrent.record.records import BatchRow

LEAVING = 0.25
"""After the last arrival the queue is served for this share of the duration: an unstable queue
would take forever."""

MIN_LEAVING_NS = 2 * NS_PER_S


class Worker(Protocol):
    """What the loop needs of a process (suite.launch.turns.Child)."""

    def fileno(self) -> int:
        """The answers' descriptor."""

    def command(self, text: str) -> None:
        """Send a line."""

    def answers(self) -> list[str]:
        """Lines that have come; raises when the process has ended."""


@dataclass(frozen=True)
class Measured:
    """What a measurement recorded; times are ns from ``start_ns``, the monotonic clock."""

    start_ns: int
    end_ns: int
    rows: tuple[BatchRow, ...]
    noticed_ns: tuple[int, ...]


def _select(watched: Sequence[Worker], timeout_ns: int) -> Sequence[Worker]:
    return select.select(watched, [], [], timeout_ns / NS_PER_S)[0]


@dataclass(frozen=True)
class Timing:
    """The loop's clock, ns, and how it waits for answers: ``wait(workers, timeout_ns)`` returns
    those that have some."""

    clock: Callable[[], int] = time.monotonic_ns
    wait: Callable[[Sequence[Worker], int], Sequence[Worker]] = _select


REAL_TIME = Timing()


def infer(
    intended_ns: Times,
    rule: BatchRule,
    window_ns: int,
    inference: Worker,
    training: Worker | None,
    schedule: Schedule,
    timing: Timing = REAL_TIME,
) -> Measured:
    """Send every image at its time, and return when all are finished, or the queue is left.

    ``training`` is watched: the measurement ends with its error if it ends.
    """
    loop = _Loop(Queue(intended_ns.tolist(), rule), inference, schedule)
    leave_ns = window_ns + max(int(LEAVING * window_ns), MIN_LEAVING_NS)
    with _no_garbage_collection():
        start_ns, now_ns = timing.clock(), 0
        while now_ns < leave_ns and not (now_ns >= window_ns and loop.is_finished):
            wake_ns = min(loop.advance(now_ns), leave_ns if now_ns >= window_ns else window_ns)
            watched = [inference, *([training] if training is not None else [])]
            readable = timing.wait(watched, max(0, wake_ns - (timing.clock() - start_ns)))
            now_ns = timing.clock() - start_ns
            if inference in readable:
                loop.receive(start_ns, now_ns)
            if training is not None and training in readable and not loop.is_asking:
                training.answers()  # raises if it has ended
    return Measured(start_ns, now_ns, tuple(loop.rows), tuple(loop.queue.noticed_ns))


def wait_window(window_ns: int, training: Worker, timing: Timing = REAL_TIME) -> Measured:
    """Let the training run alone for as long as images would arrive."""
    start_ns = timing.clock()
    while (left_ns := window_ns - (timing.clock() - start_ns)) > 0:
        if timing.wait([training], left_ns):
            training.answers()  # raises if it has ended
    return Measured(start_ns, timing.clock() - start_ns, (), ())


class _Loop:
    """The state between two turns of the loop."""

    def __init__(self, queue: Queue, inference: Worker, schedule: Schedule) -> None:
        self.queue, self.rows = queue, list[BatchRow]()
        self._inference, self._schedule = inference, schedule
        self._asked_ns: int | None = None
        self._sent: tuple[int, int, int, int] | None = None

    @property
    def is_finished(self) -> bool:
        """Every image has arrived and is finished."""
        return self.queue.is_exhausted and self._sent is None

    @property
    def is_asking(self) -> bool:
        """The schedule reads the training's answers."""
        return self._asked_ns is not None

    def advance(self, now_ns: int) -> int:
        """Notice arrivals and send a batch where one is complete and allowed; returns when to be
        called again."""
        self.queue.notice(now_ns)
        times = [self._schedule.on_time(now_ns)]
        if self._sent is None:
            self._send_if_allowed(now_ns)
        times.append(
            self.queue.wake_ns()
            if self._sent is None and self._asked_ns is None
            else self.queue.next_arrival_ns()
        )
        return min((time for time in times if time is not None), default=now_ns + NS_PER_S)

    def receive(self, start_ns: int, now_ns: int) -> None:
        """Record the batch that has ended."""
        for line in self._inference.answers():
            assert self._sent is not None, line
            began, ended = (int(word) - start_ns for word in line.split())
            self.rows.append(BatchRow(len(self.rows), *self._sent, began, ended))
            self._sent = None
            self.queue.notice(now_ns)
            self._schedule.batch_ended(bool(self.queue.ready(now_ns)))

    def _send_if_allowed(self, now_ns: int) -> None:
        if not self.queue.ready(now_ns):
            return
        if self._asked_ns is None:
            self._asked_ns = now_ns
        if self._schedule.may_send(now_ns):
            count = self.queue.ready(now_ns)
            first = self.queue.take(count)
            self._sent = (first, count, self._asked_ns, now_ns)
            self._asked_ns = None
            self._inference.command(f"{first} {count}")


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Python's collector would stop the loop now and then for milliseconds."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
