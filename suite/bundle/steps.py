"""Step records as one array per column, built once from the step table and used by every figure and
rule."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Integers, Values
from suite.bundle.layout import PARTS


@dataclass(frozen=True, eq=False)
class StepRecords:
    """Mini-batches in table order; columns as reference_impls.contract.STEP_COLUMNS. Treat the
    arrays as immutable."""

    epoch: Integers
    step: Integers
    rank: Integers
    samples: Integers
    start_ns: Integers
    fetch_stall_s: Values
    copy_s: Values
    compute_s: Values
    communication_s: Values
    loss: Values

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The distinct ranks, sorted."""
        return _distinct(self.rank)

    @cached_property
    def epochs(self) -> tuple[int, ...]:
        """The distinct epochs, sorted."""
        return _distinct(self.epoch)

    @cached_property
    def first_rank(self) -> "StepRecords":
        """The records of rank 0."""
        chosen = self.rank == 0
        return self if chosen.all() else self._select(chosen)

    @cached_property
    def parts_s(self) -> Values:
        """Fetch stall, copy, compute and communication, shape (4, steps), s."""
        return np.stack([getattr(self, name) for name in PARTS])

    @property
    def is_split(self) -> bool:
        """Whether copy, compute and communication were timed: in asynchronous timing no step has
        them."""
        return not len(self) or not bool(np.isnan(self.parts_s[1:]).all())

    @cached_property
    def busy_s(self) -> Values:
        """Fetch stall, copy and compute of each mini-batch, s; NaN counts as 0."""
        busy_s: Values = np.nansum(self.parts_s[:3], axis=0)
        return busy_s

    @cached_property
    def ends_s(self) -> Values:
        """End of each mini-batch on its rank's monotonic clock, s; NaN parts count as 0."""
        ends_s: Values = self.start_ns * SECONDS_PER_NS + np.nansum(self.parts_s, axis=0)
        return ends_s

    def sum_s(self, part: str) -> float:
        """Sum of one part over all records, s; NaN counts as 0."""
        return float(np.nansum(getattr(self, part)))

    def by_rank(self) -> Iterator[tuple[int, "StepRecords"]]:
        """Each rank's records, ranks in order."""
        return self._split(self.rank)

    def by_epoch(self) -> Iterator[tuple[int, "StepRecords"]]:
        """Each epoch's records, epochs in order."""
        return self._split(self.epoch)

    def sum_over_ranks(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Per-record ``values`` summed over the ranks of each step, steps in order."""
        order = np.argsort(self.step, kind="stable")
        return np.add.reduceat(values[order], _starts(self.step[order])) if len(self) else values

    def _split(self, keys: Integers) -> Iterator[tuple[int, "StepRecords"]]:
        ordered = self
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            ordered, keys = self._select(order), keys[order]
        starts = _starts(keys)
        if len(starts) == 1:  # of one rank, say: with what was computed of it before
            yield int(keys[0]), ordered
            return
        for first, last in zip(starts, np.append(starts, len(keys))[1:], strict=True):
            yield int(keys[first]), ordered._select(slice(first, last))

    def _select(self, chosen: Any) -> "StepRecords":
        return StepRecords(*(column[chosen] for column in _COLUMNS(self)))


_COLUMNS = attrgetter(*(field.name for field in fields(StepRecords)))


def _distinct(values: Integers) -> tuple[int, ...]:
    ordered = np.sort(values)
    return tuple(ordered[_starts(ordered)].tolist())


def _starts(ordered: Integers) -> Integers:
    """Index at which each distinct value of a sorted array begins."""
    return np.flatnonzero(
        np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(ordered) else []
    )
