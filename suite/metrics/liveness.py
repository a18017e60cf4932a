"""Readings of a meter that no longer measures: a counter that stands still, a gauge that repeats
itself, a level in another unit, single absurd values."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from suite.bundle.arrays import Integers, Mask, Times, Values, median

USUAL = 0.9
"""Quantile of how often a value repeats: a value that stands to the end is one among many."""
MIN_STRETCHES, MIN_REPEATS = 10, 5
MIN_FROZEN, FINE = 100, 0.02
"""A gauge that has hardly ever changed is frozen after this many readings, if its resolution is
finer than this share of its value: training and evaluation draw different power."""
UNRESOLVED, MIN_LARGER = 4, 0.1
"""Where the step hides the scatter, a level between two codes repeats rarely and one within a code
very often: that many times as long is allowed, unless this share of the changes are of two steps or
more."""
SPIKE, SUSTAINED = 10.0, 3
"""A spike is as many times the power that as many readings in a row reach."""
OTHER_UNIT = 300.0
"""No load falls to such a fraction of itself and stays there: W that became mW."""
RAIL_DECADES = 3
"""One of several rails is judged from a factor of 1,000 on (W that became mW): smaller changes may
be honest, between idle and load."""
RAIL_NEAR_TEN = 0.09
"""Decades by which such a rail's level may miss the power of ten: no load changes level and scatter
alike."""
JUMP, LEVEL_OF, SCATTER_OF, NEAR_TEN, ALIKE = 5.0, 10, 40, 0.03, 0.3
"""Readings on both sides of a jump of this size are compared: a change of the unit multiplies their
level by a power of ten (to within NEAR_TEN decades) and their scatter alike. A load changes both
differently."""
MOST_LOAD = 16.0
"""No board, module or machine draws over sixteen times as much under load: a larger jump is the
sensor's, if the scatter jumps alike. Processors do: 15 W idle and 450 W under load."""


def plausible_readings(
    values: Values,
    still_factor: float,
    *,
    is_counter: bool,
    is_whole: bool = True,
    is_board: bool = False,
    step: float | None = None,
) -> Mask:
    """Mask of the readings that a working meter may have made.

    A value may repeat ``still_factor`` times as often as is to be expected of the longest repeat
    among N readings, by how often values usually repeat (lengths of a geometric distribution); the
    first reading of a longer stretch counts. 0 judges nothing. ``is_whole``: the gauge's power
    is that of all it supplies, which never falls to nothing as that of one rail does; of rails,
    :func:`plausible_together` judges the sum. ``is_board``:
    with the board or module around the processor. ``step``: the gauge's resolution; None where it
    is not stated.
    """
    kept = np.ones(len(values), bool)
    if not still_factor or len(values) < MIN_STRETCHES:
        return kept
    known = np.isfinite(values)
    if not known.all():  # left out for another reason
        kept[known] = plausible_readings(
            values[known],
            still_factor,
            is_counter=is_counter,
            is_whole=is_whole,
            is_board=is_board,
            step=step,
        )
        return kept
    kept = ~_stuck(values, still_factor, is_counter, step)
    if is_counter:
        return kept
    if not is_whole:
        return kept & ~_jumped(values, is_board=False, is_rail=True)
    return kept & ~_is_wrong(values, is_board)


def plausible_together(rails: Sequence[tuple[Times, Values]], is_board: bool) -> list[Mask]:
    """Of each rail, by times and power, the mask of the readings whose sum with the other rails'
    readings is one that a working meter may have made."""
    finite = [np.isfinite(power) for _, power in rails]
    known = [(t_ns[kept], power[kept]) for (t_ns, power), kept in zip(rails, finite, strict=True)]
    (first_ns, first), *others = known
    if len(first) < MIN_STRETCHES or not all(len(t_ns) for t_ns, _ in others):
        return [np.ones(len(power), bool) for _, power in rails]
    is_wrong = _is_wrong(first + sum(np.interp(first_ns, *other) for other in others), is_board)
    middle_ns = first_ns[:-1] + np.diff(first_ns) // 2
    return [~is_wrong[middle_ns.searchsorted(t_ns)] for t_ns, _ in rails]


def _is_wrong(values: Values, is_board: bool) -> Mask:
    """Mask of the readings in another unit, of another factor, and of those that stand alone."""
    return _in_another_unit(values) | _jumped(values, is_board) | spikes(values)


def _stuck(values: Values, still_factor: float, is_counter: bool, step: float | None) -> Mask:
    """Mask of the readings that repeat a value for too long, without the first."""
    starts, lengths = _stretches(values)
    usual = 0.0
    if len(lengths) >= MIN_STRETCHES:
        usual = float(np.quantile(lengths, USUAL, method="higher"))
    elif not is_counter and len(values) >= MIN_FROZEN and _is_fine(values, step):
        usual = float(np.sort(lengths)[-2]) if len(lengths) > 1 else 1.0
    if not usual:
        return np.zeros(len(values), bool)
    slack = 1 if is_counter or _scatters(values) else UNRESOLVED
    longest = max(MIN_REPEATS, slack * still_factor * usual * np.log10(len(values)))
    stuck = np.repeat(lengths > longest, lengths)
    stuck[starts] = False
    return stuck


def _scatters(values: Values) -> bool:
    """Whether changes are often of two steps or more: the step does not hide the scatter."""
    changes = np.abs(np.diff(values))
    changes = changes[changes > 0]
    return not len(changes) or bool(np.mean(changes > 1.5 * changes.min()) >= MIN_LARGER)


def _is_fine(values: Values, step: float | None) -> bool:
    """Whether the gauge would show a small change of the power; without a stated step its values'
    decimals tell."""
    usual = float(np.quantile(np.abs(values), USUAL))
    if step is None:
        step = next((10.0**-n for n in range(6) if np.allclose(values, np.round(values, n))), 0.0)
    return step < FINE * usual


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


def _jumped(values: Values, is_board: bool, is_rail: bool = False) -> Mask:
    """Mask of readings whose level is that of the others times a factor that no load has; of two
    levels the one with more readings is right. ``is_rail``: the gauge is one of several."""
    power = np.maximum(np.abs(values), np.finfo(float).tiny)
    places = np.flatnonzero(np.abs(np.diff(np.log10(power))) > np.log10(JUMP)) + 1
    parts = np.split(power, places)
    decades = np.zeros(len(parts))
    last = 0
    for place in range(1, len(parts)):
        decades[place] = decades[last]
        if len(parts[place]) > MIN_REPEATS and len(parts[last]) > MIN_REPEATS:
            decades[place] += _decades(parts[last][::-1], parts[place], is_board, is_rail)
        if len(parts[place]) > MIN_REPEATS:
            last = place
    of_each = np.repeat(np.rint(decades), [len(part) for part in parts])
    found, counts = np.unique(of_each, return_counts=True)
    has_jumped: Mask = of_each != found[counts.argmax()]
    return has_jumped


def _decades(before: Values, after: Values, is_board: bool, is_rail: bool) -> float:
    """Decades by which a sensor's factor changes, from the readings on both sides, the nearest
    first; 0 for a load's change."""
    jump = math.log10(median(after[:LEVEL_OF])) - math.log10(median(before[:LEVEL_OF]))
    scatters = np.std(before[:SCATTER_OF]), np.std(after[:SCATTER_OF])
    is_beyond_load = is_board and abs(jump) > math.log10(MOST_LOAD)
    if is_rail and abs(round(jump)) < RAIL_DECADES:
        return 0
    near = RAIL_NEAR_TEN if is_rail else NEAR_TEN
    if min(scatters) == 0 or not (is_beyond_load or abs(jump - round(jump)) <= near):
        return 0
    return jump if abs(np.log10(scatters[1] / scatters[0]) - jump) < ALIKE else 0


def _stretches(values: Values | Mask) -> tuple[Integers, Integers]:
    """Where stretches of one value start, and their lengths."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return starts, np.diff(np.append(starts, len(values)))
