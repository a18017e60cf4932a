"""Readings of a meter that no longer measures: a counter that stands still, a gauge that repeats
itself, a level in another unit, single absurd values."""

import numpy as np

from suite.bundle.arrays import Mask, Values

USUAL = 0.9
"""Quantile of how often a value repeats: a value that stands to the end is one among many."""
MIN_STRETCHES, MIN_REPEATS = 10, 5
SPIKE, MAX_SPIKE = 10.0, 2
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
    starts = np.flatnonzero(np.append(True, np.diff(values) != 0))
    lengths = np.diff(np.append(starts, len(values)))
    if len(lengths) >= MIN_STRETCHES:
        usual = np.quantile(lengths, USUAL, method="higher")
        longest = max(MIN_REPEATS, still_factor * usual * np.log10(len(values)))
        kept = ~np.repeat(lengths > longest, lengths)
        kept[starts] = True
    if is_counter or not is_whole:
        return kept
    return kept & ~_in_another_unit(values) & ~spikes(values)


def spikes(values: Values) -> Mask:
    """Mask of one or two readings in a row that are ten times all but the highest tenth: no load is
    so short and so high."""
    if not len(values):
        return np.zeros(0, bool)
    is_high = np.abs(values) > SPIKE * np.quantile(np.abs(values), USUAL)
    starts = np.flatnonzero(np.append(True, np.diff(is_high)))
    lengths = np.diff(np.append(starts, len(values)))
    stand_alone: Mask = is_high & np.repeat(lengths <= MAX_SPIKE, lengths)
    return stand_alone


def _in_another_unit(values: Values) -> Mask:
    """Mask of readings that stay far below the usual level, for more than a few."""
    is_low = np.abs(values) < np.quantile(np.abs(values), USUAL) / OTHER_UNIT
    starts = np.flatnonzero(np.append(True, np.diff(is_low)))
    lengths = np.diff(np.append(starts, len(values)))
    stays_low: Mask = is_low & np.repeat(lengths > MIN_REPEATS, lengths)
    return stays_low
