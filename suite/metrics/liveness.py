"""Readings of a meter that no longer measures: a counter that stands still, a gauge that repeats
itself, a level in another unit, single absurd values."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from suite.bundle.arrays import Integers, Mask, Values

USUAL = 0.9
"""Quantile of how often a value repeats: a value that stands to the end is one among many."""
MIN_STRETCHES, MIN_REPEATS = 10, 5
SPIKE, SUSTAINED = 10.0, 3
"""A spike is as many times the power that as many readings in a row reach."""
OTHER_UNIT = 300.0
"""No load falls to such a fraction of itself and stays there: W that became mW."""


def alive(values: Values, still_factor: float, *, is_counter: bool, is_whole: bool = True) -> Mask:
    """Mask of the readings that a working meter may have made.

    A value may repeat ``still_factor`` times as often as is to be expected of the longest repeat
    among N readings, by how often values usually repeat (lengths of a geometric distribution); the
    first reading of a longer stretch counts. 0 judges nothing. ``is_whole``: the gauge's power
    is that of all it supplies, which never falls to nothing as that of one rail does.
    """
    kept = np.ones(len(values), bool)
    if not still_factor or len(values) < MIN_STRETCHES:
        return kept
    starts, lengths = _stretches(values)
    if len(lengths) >= MIN_STRETCHES:
        usual = np.quantile(lengths, USUAL, method="higher")
        longest = max(MIN_REPEATS, still_factor * usual * np.log10(len(values)))
        kept = ~np.repeat(lengths > longest, lengths)
        kept[starts] = True
    if is_counter or not is_whole:
        return kept
    return kept & ~_in_another_unit(values) & ~spikes(values)


def spikes(values: Values) -> Mask:
    """Mask of single absurd readings: ten times both what three readings in a row reach and all but
    the highest tenth. A load of that height lasts longer, or comes again and again."""
    if not len(values):
        return np.zeros(0, bool)
    power = np.abs(values)
    usual = np.quantile(power, USUAL)
    sustained = sliding_window_view(power, min(SUSTAINED, len(power))).min(axis=1).max()
    stand_alone: Mask = power > SPIKE * max(usual, sustained)
    return stand_alone


def _in_another_unit(values: Values) -> Mask:
    """Mask of readings that stay far below the usual level, for more than a few."""
    is_low = np.abs(values) < np.quantile(np.abs(values), USUAL) / OTHER_UNIT
    _, lengths = _stretches(is_low)
    stays_low: Mask = is_low & np.repeat(lengths > MIN_REPEATS, lengths)
    return stays_low


def _stretches(values: Values | Mask) -> tuple[Integers, Integers]:
    """Where stretches of one value start, and their lengths."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return starts, np.diff(np.append(starts, len(values)))
