"""A simulated server: the suite's own queue and batches on a clock of its own. It shows what a
queue does, and tests the queueing model."""

from collections.abc import Callable

from suite.extensions.concurrent.record.arrivals import Times
from suite.extensions.concurrent.record.batching import BatchRule, Queue
from suite.extensions.concurrent.record.records import BatchRow

Service = Callable[[int], int]


def simulate(
    intended_ns: Times, rule: BatchRule, service_ns: Service, late_ns: int = 0
) -> tuple[tuple[BatchRow, ...], tuple[int, ...]]:
    """The batches of one server that takes ``service_ns(count)`` for each, and when each image was
    noticed.

    ``late_ns`` is how late the generator notices an arrival. Every image is served, however long
    that takes.
    """
    queue, rows, now_ns = Queue(intended_ns, rule), list[BatchRow](), 0
    while not queue.is_exhausted:
        count = queue.ready(now_ns)
        if count:
            first = queue.take(count)
            end_ns = now_ns + service_ns(count)
            rows.append(BatchRow(len(rows), first, count, now_ns, now_ns, now_ns, end_ns))
            _notice_until(queue, end_ns, late_ns)
            now_ns = end_ns
        else:
            wake_ns = queue.wake_ns()
            assert wake_ns is not None
            now_ns = max(now_ns, wake_ns + late_ns)
            queue.notice(now_ns)
    return tuple(rows), tuple(queue.noticed_ns)


def _notice_until(queue: Queue, end_ns: int, late_ns: int) -> None:
    """Arrivals while the server is busy, each at its own time."""
    arrival_ns = queue.next_arrival_ns()
    while arrival_ns is not None and arrival_ns + late_ns <= end_ns:
        queue.notice(arrival_ns + late_ns)
        arrival_ns = queue.next_arrival_ns()
