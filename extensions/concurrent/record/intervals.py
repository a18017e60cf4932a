"""Confidence intervals of figures from one measurement, whose values depend on their neighbours: by
blocks of consecutive values.

Latencies of one batch, and of batches that wait for each other, are not independent. Means of long
blocks nearly are. What differs from one measurement to the next (the machine's temperature, other
programs) is in no such interval.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from suite.metrics.comparisons import student_t_quantile
from suite.metrics.linear_fit import FittedValue

CONFIDENCE = 0.95
BLOCKS, MIN_BLOCKS = 20, 5
RESAMPLES = 399
ROUNDING = 1e-12
Values = Any  # array of float64


def blocks(count: int, unit: int = 1) -> list[tuple[int, int]]:
    """BLOCKS ranges of ``count`` values, each of whole units; fewer ranges where there are fewer
    units. The last unit may be smaller."""
    units = -(-count // unit)
    edges = np.linspace(0, units, min(BLOCKS, units) + 1).round().astype(int) * unit
    return [(int(begin), int(min(end, count))) for begin, end in itertools.pairwise(edges)]


def mean(values: Values, unit: int = 1) -> FittedValue | None:
    """The mean, with Student's interval of the blocks' means; None for fewer than MIN_BLOCKS
    blocks. ``unit``: values that belong together."""
    ranges = blocks(len(values), unit)
    if len(ranges) < MIN_BLOCKS:
        return None
    return _of_blocks(
        float(np.mean(values)), [float(np.mean(values[begin:end])) for begin, end in ranges]
    )


def rate(amounts: Values, times: Values) -> FittedValue | None:
    """The amounts per time from the first of ``times`` to the last one: amount i was done at
    times[i]. None for too few values."""
    ranges = blocks(len(times) - 1)
    if len(ranges) < MIN_BLOCKS:
        return None
    of_blocks = [
        float(amounts[begin + 1 : end + 1].sum() / (times[end] - times[begin]))
        for begin, end in ranges
    ]
    return _of_blocks(float(amounts[1:].sum() / (times[-1] - times[0])), of_blocks)


def quantiles(values: Values, levels: Sequence[float], unit: int = 1) -> list[FittedValue] | None:
    """Quantiles with percentile intervals of a bootstrap over blocks (Künsch, 1989), from a fixed
    seed; None for too few blocks.

    A quantile is the smallest value that at least that share of the values does not exceed. The
    values are sorted once: a resample is a number of times that each block counts.
    """
    ranges = blocks(len(values), unit)
    if len(ranges) < MIN_BLOCKS:
        return None
    order = np.argsort(values, kind="stable")
    ordered, block_of = (
        values[order],
        np.repeat(np.arange(len(ranges)), [end - begin for begin, end in ranges])[order],
    )
    stream = np.random.RandomState(1)
    times = [
        np.bincount(stream.randint(0, len(ranges), len(ranges)), minlength=len(ranges))
        for _ in range(RESAMPLES)
    ]
    drawn = [_weighted_quantiles(ordered, of_blocks[block_of], levels) for of_blocks in times]
    found = _weighted_quantiles(ordered, np.ones(len(ordered), np.int64), levels)
    low, high = (np.sort(drawn, axis=0)[place] for place in _ends(RESAMPLES))
    return [
        FittedValue(float(value), float(min(value, below)), float(max(value, above)))
        for value, below, above in zip(found, low, high, strict=True)
    ]


def _weighted_quantiles(ordered: Values, counts: Values, levels: Sequence[float]) -> Values:
    """Quantiles of values, sorted, each of which counts ``counts`` times."""
    passed = np.cumsum(counts)
    wanted = np.asarray(levels) * passed[-1]
    return ordered[np.searchsorted(passed, wanted - ROUNDING * passed[-1])]


def _ends(count: int) -> tuple[int, int]:
    """Places of the ends of the interval among ``count`` sorted values."""
    outside = round((count + 1) * (1 - CONFIDENCE) / 2)
    return outside - 1, count - outside


def ratio(of: FittedValue, to: FittedValue) -> FittedValue | None:
    """The ratio of two figures that were measured apart; None where the second one is 0. Errors are
    combined to first order."""
    if to.value <= 0 or of.value <= 0:
        return None
    value = of.value / to.value
    relative = math.hypot((of.high - of.low) / (2 * of.value), (to.high - to.low) / (2 * to.value))
    return FittedValue(value, value * max(0.0, 1 - relative), value * (1 + relative))


def _of_blocks(value: float, of_blocks: Sequence[float]) -> FittedValue:
    half = (
        student_t_quantile(len(of_blocks) - 1, CONFIDENCE)
        * float(np.std(of_blocks, ddof=1))
        / math.sqrt(len(of_blocks))
    )
    return FittedValue(value, value - half, value + half)
