"""The fastest schedule for a chain of unequal blocks within a budget.

Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, Optimal checkpointing for heterogeneous chains:
how to train deep neural networks with limited memory (2019): a dynamic programme over pairs of
blocks and discrete memory sizes. Added here: the gradients of the weights, which grow while the
backward pass proceeds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from suite.memory import schedulers
from suite.memory.chain import Block, Chain, LeftOut, gradients_after
from suite.memory.schedule import Action, Cost, Schedule, ScheduleStep, simulate_schedule

SLOTS = 500
"""Discrete sizes of memory; a size is rounded up to a slot, so that a schedule never needs more
than was planned."""

Vector = NDArray[np.float64]
KEPT = -1
"""Choice of a pair of blocks: keep everything of its first block; one less, and so on: its options.
Another value is the next checkpoint."""


@dataclass(frozen=True)
class PlannedSchedule:
    """A schedule with its cost."""

    schedule: Schedule
    cost: Cost


def fastest_schedule(
    blocks: Chain, budget_bytes: int, slots: int = SLOTS
) -> PlannedSchedule | None:
    """The fastest schedule whose activations and gradients fit the budget; None if none fits.

    It is never slower than ordinary training, equal segments or Revolve, where those fit: they are
    among the candidates.
    """
    candidates = [_planned(schedule, blocks) for schedule in schedules_without_sizes(len(blocks))]
    solved = dynamic_programme(blocks, budget_bytes, slots)
    if solved is not None:
        candidates.append(_planned(solved, blocks))
    fitting = [each for each in candidates if each.cost.peak_bytes <= budget_bytes]
    return min(fitting, key=lambda each: (each.cost.time, each.cost.peak_bytes), default=None)


Solver = Callable[[Chain, int], PlannedSchedule | None]
"""Finds a schedule for a chain in a budget; None if none fits."""


def least_bytes(blocks: Chain, solve: Solver | None = None) -> int:
    """The least memory of activations and gradients with which some schedule runs, found to 1 MB;
    some schedule of ``solve``, if that is given."""
    solve = solve or partial(fastest_schedule, slots=SLOTS // 2)
    low, high = 0, simulate_schedule(schedulers.keep_all(len(blocks)), blocks).peak_bytes
    while high - low > 1_000_000:
        middle = (low + high) // 2
        low, high = (low, middle) if solve(blocks, middle) else (middle, high)
    return high


def schedules_without_sizes(count: int) -> list[Schedule]:
    """Every schedule that needs no sizes: none, equal segments, Revolve."""
    return [
        schedulers.keep_all(count),
        *(schedulers.segments(count, parts) for parts in range(2, count + 1)),
        *(schedulers.revolve(count, slots) for slots in range(1, count)),
    ]


def _planned(schedule: Schedule, blocks: Chain) -> PlannedSchedule:
    return PlannedSchedule(schedule, simulate_schedule(schedule, blocks))


def dynamic_programme(blocks: Chain, budget_bytes: int, slots: int = SLOTS) -> Schedule | None:
    """The programme's schedule for this budget; None if none fits."""
    table = _Table(blocks, budget_bytes, slots)
    held = table.rounded(blocks[0].input_bytes)
    left = slots - held
    if left < 0 or not np.isfinite(table.time[0, len(blocks) - 1][left]):
        return None
    return Schedule("optimal for unequal blocks", tuple(table.steps(0, len(blocks) - 1, left)))


class _Table:
    """``time[s, t][m]``: least time from block s's input to its input's gradient through block t,
    with ``m`` slots of memory beside that input."""

    def __init__(self, blocks: Chain, budget_bytes: int, slots: int) -> None:
        self.blocks, self.slots, self.size = blocks, slots, max(1.0, budget_bytes / slots)
        self.weights = [*gradients_after(blocks), 0]
        self.time: dict[tuple[int, int], Vector] = {}
        self.choice: dict[tuple[int, int], NDArray[np.int16]] = {}
        for length in range(len(blocks)):
            for first in range(len(blocks) - length):
                self._fill(first, first + length)

    def rounded(self, size_bytes: float) -> int:
        """Slots that hold these bytes."""
        return int(np.ceil(size_bytes / self.size - 1e-9))

    def _fill(self, first: int, last: int) -> None:
        best = self._keep(first, last, self.blocks[first])
        choice = np.full(self.slots + 1, KEPT, dtype=np.int16)
        for number, option in enumerate(self.blocks[first].options):
            found = self._keep(first, last, option)
            better = found < best
            best = np.where(better, found, best)
            choice[better] = KEPT - 1 - number
        transient, forward = 0, 0.0
        for far in range(first + 1, last + 1):
            transient = max(transient, self._alone(first, far - 1, last))
            forward += self.blocks[far - 1].forward_time
            later = self._with_less(
                self.time[far, last], self.rounded(self.blocks[far].input_bytes)
            )
            found = forward + later + self.time[first, far - 1]
            found[: min(self.rounded(transient), self.slots + 1)] = np.inf
            better = found < best
            best = np.where(better, found, best)
            choice[better] = far
        self.time[first, last], self.choice[first, last] = best, choice

    def _keep(self, first: int, last: int, way: Block | LeftOut) -> Vector:
        """Least times when the first block is kept in this way."""
        block = self.blocks[first]
        after = self._gradient(last) + self.weights[last + 1]
        needed = max(
            after + way.kept_bytes + way.forward_bytes, way.backward_bytes + self.weights[first]
        )
        own = (
            block.forward_time + block.backward_time + (way.time if isinstance(way, LeftOut) else 0)
        )
        rest = (
            np.zeros(self.slots + 1)
            if first == last
            else self._with_less(self.time[first + 1, last], self.rounded(way.kept_bytes))
        )
        times: Vector = own + rest
        times[: min(self.rounded(needed), self.slots + 1)] = np.inf
        return times

    def _alone(self, first: int, number: int, last: int) -> int:
        block = self.blocks[number]
        held = block.input_bytes if number > first else 0
        return held + block.forward_alone_bytes + self._gradient(last) + self.weights[last + 1]

    def _gradient(self, last: int) -> int:
        """Bytes of the gradient that waits at the end of block ``last``; the loss has none."""
        return self.blocks[last].output_bytes if last < len(self.blocks) - 1 else 0

    def _with_less(self, times: Vector, used: int) -> Vector:
        shifted = np.full(self.slots + 1, np.inf)
        if used <= self.slots:
            shifted[used:] = times[: self.slots + 1 - used]
        return shifted

    def steps(self, first: int, last: int, left: int) -> list[ScheduleStep]:
        """The steps of the least time."""
        far = int(self.choice[first, last][left])
        if far <= KEPT:
            way = self.blocks[first] if far == KEPT else self.blocks[first].options[KEPT - 1 - far]
            inner = (
                []
                if first == last
                else self.steps(first + 1, last, left - self.rounded(way.kept_bytes))
            )
            return [
                ScheduleStep(Action.KEEP, first, way.positions if isinstance(way, LeftOut) else ()),
                *inner,
                ScheduleStep(Action.BACKWARD, first),
            ]
        run = [
            ScheduleStep(Action.CHECKPOINT, first),
            *(ScheduleStep(Action.SKIP, number) for number in range(first + 1, far)),
        ]
        later = self.steps(far, last, left - self.rounded(self.blocks[far].input_bytes))
        return [
            *run,
            *later,
            ScheduleStep(Action.RESTORE, first),
            *self.steps(first, far - 1, left),
        ]
