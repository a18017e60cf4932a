"""Statistics that the rules about single numbers share: how real losses, times and readings
scatter."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Integers, Mask, Values, Window
from suite.bundle.channels import Channel
from suite.bundle.log import Log, LogEvent
from suite.compliance.values import elapsed_s

STANDARD_DEVIATIONS = 6.0
"""Distance from the expected value at which a statistic is refused: one honest bundle in 10^9, for
a normal statistic."""

MAX_BLOCKS = 100_000
"""Repeated blocks that are compared: a table may be hostile."""


def turning_points(values: Values) -> tuple[int, int]:
    """How many values are larger or smaller than both neighbours, and how many have no neighbour of
    equal value.

    For independent values the share is 2/3 whatever their distribution, with the variance 8/45n
    (Kendall and Stuart, The Advanced Theory of Statistics, vol. 3, section 45.18).
    """
    differences = np.diff(values)
    before, after = differences[:-1], differences[1:]
    return int(np.count_nonzero(before * after < 0)), int(
        np.count_nonzero((before != 0) & (after != 0))
    )


def too_few_turning_points(values: Values, share: float) -> tuple[int, int, int] | None:
    """Turning points, places and the smallest number allowed, if ``values`` turn less often than
    independent ones do; ``share`` is expected."""
    turning, places = turning_points(values)
    smallest = share * places - STANDARD_DEVIATIONS * math.sqrt(8 / 45 * places)
    return (turning, places, math.ceil(smallest)) if turning < smallest else None


def repeated_block(values: Values, length: int, distinct: int) -> tuple[int, int] | None:
    """The first places of two equal blocks of ``length`` values, at least ``distinct`` of them
    different; None if there are none."""
    starts = _runs(_repeated(values), length)[:MAX_BLOCKS]
    if len(starts) < 2:
        return None
    blocks = values[starts[:, np.newaxis] + np.arange(length)]
    order = np.lexsort(blocks.T)
    equal = (blocks[order[1:]] == blocks[order[:-1]]).all(axis=1)
    for place in np.flatnonzero(equal):
        first, second = sorted((int(starts[order[place]]), int(starts[order[place + 1]])))
        if second - first >= length and len(np.unique(values[first : first + length])) >= distinct:
            return first, second
    return None


def _repeated(values: Values) -> Mask:
    """Mask of the values that occur more than once."""
    order = np.argsort(values, kind="stable")
    same = values[order[1:]] == values[order[:-1]]
    found = np.zeros(len(values), np.bool_)
    found[order[1:]] |= same
    found[order[:-1]] |= same
    return found


def _runs(mask: Mask, length: int) -> Integers:
    """Every place at which ``length`` true values in a row begin."""
    if len(mask) < length:
        return np.empty(0, np.int64)
    ends = np.cumsum(np.concatenate(([0], mask.astype(np.int64))))
    starts: Integers = np.flatnonzero(ends[length:] - ends[:-length] == length)
    return starts


def interquartile_range(values: npt.NDArray[np.float64]) -> float:
    """Interquartile range."""
    ordered = np.sort(values)
    return (
        float(ordered[(3 * len(ordered)) // 4] - ordered[len(ordered) // 4])
        if len(ordered)
        else 0.0
    )


def mean_rate(channel: Channel, window: Window) -> float | None:
    """Mean increase per second of a counter between its first and last reading in the window; None
    where they span less than half of it."""
    inside = channel.in_time.without_wraps.during(window)
    if len(inside) < 2:
        return None
    span_ns = float(inside.t_ns[-1] - inside.t_ns[0])
    if not span_ns > 0.5 * (window[1] - window[0]):
        return None
    return inside.increase / (span_ns * SECONDS_PER_NS)


def event_pairs(log: Log, first: str, last: str) -> Iterator[tuple[LogEvent, LogEvent, float]]:
    """Every event ``first`` with the next event ``last`` of the same epoch, and the seconds between
    them."""
    stops = {event.epoch: event for event in log.all(last)}
    for start in log.all(first):
        stop = stops.get(start.epoch)
        if stop is not None and (passed_s := elapsed_s(start, stop)) is not None:
            yield start, stop, passed_s
