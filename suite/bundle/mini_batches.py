"""The step records as one array a column: made once of a table of steps, used by every figure and rule."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas

from reference_impls.contract import SECONDS_PER_NS

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MiniBatches:
    """Mini-batches in their table's order, columns as reference_impls.contract.STEP_COLUMNS says. Nobody may change the arrays."""

    epoch: Integers
    step: Integers
    rank: Integers
    samples: Integers
    start_ns: Integers
    fetch_stall_s: Numbers
    copy_s: Numbers
    compute_s: Numbers
    communication_s: Numbers
    loss: Numbers

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that there are, in order."""
        return _distinct(self.rank)

    @cached_property
    def epochs(self) -> tuple[int, ...]:
        """The epochs that there are, in order."""
        return _distinct(self.epoch)

    @cached_property
    def first_rank(self) -> "MiniBatches":
        """Those of rank 0."""
        chosen = self.rank == 0
        return self if chosen.all() else self._chosen(chosen)

    @cached_property
    def parts_s(self) -> Numbers:
        """Fetching, copying, computing and communicating, a row each."""
        return np.stack([self.fetch_stall_s, self.copy_s, self.compute_s, self.communication_s])

    @cached_property
    def busy_s(self) -> Numbers:
        """Fetching, copying and computing of each mini-batch; a part that is no number counts for nothing."""
        busy_s: Numbers = np.nansum(self.parts_s[:3], axis=0)
        return busy_s

    @cached_property
    def ends_s(self) -> Numbers:
        """When each mini-batch was done, in seconds on the clock of its rank; a part that is no number counts for nothing."""
        ends_s: Numbers = self.start_ns * SECONDS_PER_NS + np.nansum(self.parts_s, axis=0)
        return ends_s

    def sum_s(self, part: str) -> float:
        """The time that a part of them took, over all; what is no number counts for nothing."""
        return float(np.nansum(getattr(self, part)))

    def by_rank(self) -> Iterator[tuple[int, "MiniBatches"]]:
        """Each rank's, the ranks in order."""
        return self._split(self.rank)

    def by_epoch(self) -> Iterator[tuple[int, "MiniBatches"]]:
        """Each epoch's, the epochs in order."""
        return self._split(self.epoch)

    def shared(self, of_each: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sum of something over the ranks, step by step in the steps' order."""
        order = np.argsort(self.step, kind="stable")
        return np.add.reduceat(of_each[order], _starts(self.step[order])) if len(self) else of_each

    def _split(self, keys: Integers) -> Iterator[tuple[int, "MiniBatches"]]:
        ordered = self
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            ordered, keys = self._chosen(order), keys[order]
        starts = _starts(keys)
        for first, last in zip(starts, np.append(starts, len(keys))[1:], strict=True):
            yield int(keys[first]), ordered._chosen(slice(first, last))

    def _chosen(self, chosen: Any) -> "MiniBatches":
        return MiniBatches(*(getattr(self, field.name)[chosen] for field in fields(self)))


def _distinct(values: Integers) -> tuple[int, ...]:
    ordered = np.sort(values)
    return tuple(ordered[_starts(ordered)].tolist())


def _starts(ordered: Integers) -> Integers:
    """Where each value of some that are in order begins."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(ordered) else [])


def of_frame(frame: "pandas.DataFrame") -> MiniBatches:
    """The mini-batches of a frame with the columns of steps.parquet."""
    return MiniBatches(*(frame[field.name].to_numpy() for field in fields(MiniBatches)))
