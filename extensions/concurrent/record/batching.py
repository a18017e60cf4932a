"""Which images make up the next batch: a full one, or what has arrived when the oldest image has
waited for the deadline."""

from collections.abc import Sequence
from dataclasses import dataclass

from suite.errors import SuiteError


@dataclass(frozen=True)
class BatchRule:
    """A batch is complete with ``size`` images, or ``deadline_ns`` after its first image's intended
    arrival; None: it waits until it is full."""

    size: int
    deadline_ns: int | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SuiteError(
                f"An inference batch of {self.size} has no image; the smallest --infer-batch is 1."
            )
        if self.deadline_ns is not None and self.deadline_ns < 0:
            raise SuiteError("--deadline cannot be before an image's arrival; use 0ms or more.")


class Queue:
    """The images that have arrived and are in no batch yet. Times are ns from the start of the
    measurement.

    It is driven by a clock from outside, the real one or that of a simulation. After the last
    arrival the rest makes up a smaller batch.
    """

    def __init__(self, intended_ns: Sequence[int], rule: BatchRule) -> None:
        self._intended_ns, self._rule = [int(time) for time in intended_ns], rule
        self._taken = 0
        self.noticed_ns: list[int] = []
        """When each image was really there: the generator's time, never before the intended one."""

    def notice(self, now_ns: int) -> None:
        """Let every image arrive whose time has come."""
        intended, noticed = self._intended_ns, self.noticed_ns
        while len(noticed) < len(intended) and intended[len(noticed)] <= now_ns:
            noticed.append(now_ns)

    @property
    def waiting(self) -> int:
        """Images that have arrived and are in no batch."""
        return len(self.noticed_ns) - self._taken

    @property
    def is_exhausted(self) -> bool:
        """Every image has arrived and is in a batch."""
        return self._taken == len(self._intended_ns)

    def ready(self, now_ns: int) -> int:
        """Number of images of the batch that is complete now; 0: none is."""
        if self.waiting >= self._rule.size:
            return self._rule.size
        if not self.waiting:
            return 0
        is_last, due_ns = len(self.noticed_ns) == len(self._intended_ns), self._due_ns()
        return self.waiting if is_last or (due_ns is not None and due_ns <= now_ns) else 0

    def take(self, count: int) -> int:
        """Remove a batch; returns the number of its first image."""
        self._taken += count
        return self._taken - count

    def wake_ns(self) -> int | None:
        """When an image arrives or a deadline passes next; None: never again."""
        times = (self.next_arrival_ns(), self._due_ns() if self.waiting else None)
        return min((time for time in times if time is not None), default=None)

    def next_arrival_ns(self) -> int | None:
        """When the next image is to arrive; None: all have."""
        arrived = len(self.noticed_ns)
        return self._intended_ns[arrived] if arrived < len(self._intended_ns) else None

    def _due_ns(self) -> int | None:
        return (
            None
            if self._rule.deadline_ns is None
            else self._intended_ns[self._taken] + self._rule.deadline_ns
        )
