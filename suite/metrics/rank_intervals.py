"""Ranks of entries as intervals that hold all true ranks together, and tiers.

Klein, Wright and Wieczorek, "A joint confidence region for an overall ranking of populations",
Journal of the Royal Statistical Society C 69, 2020: from intervals of all scores that hold
together, an entry's best rank is 1 + the number of entries that are surely faster, its worst rank
the number of entries less those that are surely slower. They widen with more entries, because more
intervals have to hold together.

Three runs do not tell an entry's scatter well enough for that. Each entry's variance is moderated
by those of all entries of the board: a weighted mean of its own and a common one, whose weight
follows from how much the variances differ (Smyth, "Linear models and empirical Bayes methods",
Statistical Applications in Genetics and Molecular Biology 3, 2004). Other entries decide nothing
else, and nothing about pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suite.bundle.arrays import Values
from suite.metrics.comparisons import Columns, Measured, columns, pair_bounds, ratio

MAX_NEWTON_STEPS = 50
MIN_VARIANCE = 1e-12
"""Of the logarithm: equal runs have no logarithm of a variance."""


@dataclass(frozen=True)
class RankInterval:
    """The ranks that an entry can have, from 1, by its interval and those of all others."""

    best: int
    worst: int


def rank_intervals(
    entries: Sequence[Measured], level: float, epochs_level: float
) -> tuple[RankInterval, ...]:
    """The interval of each entry's rank; all of them hold together with a probability of 1 -
    ``level``. Smaller scores are better.

    An entry is surely faster than another if their joint intervals do not overlap and the pair
    itself differs significantly. Each entry has two runs or more.
    """
    if not entries:
        return ()
    each = columns(entries)
    margins = _joint_margins(each, level)
    lows, highs = each.log_mean - margins, each.log_mean + margins
    faster, slower = np.zeros(len(entries), int), np.zeros(len(entries), int)
    # a row at a time: a thousand entries have half a million pairs
    for index in range(len(entries)):
        overtakes = highs[index] < lows
        if overtakes.any():
            overtakes &= pair_bounds(each.row(index), each, level, epochs_level)[1] < 0
            slower[index] = np.count_nonzero(overtakes)
            faster += overtakes
    return tuple(
        RankInterval(1 + int(before), len(entries) - int(after))
        for before, after in zip(faster, slower, strict=True)
    )


def _joint_margins(each: Columns, level: float) -> Values:
    """Half the widths, in logarithms, of intervals that hold together (Sidak's inequality: the
    entries are independent)."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # start-up: scipy

    freedom = each.runs - 1
    variance, prior_freedom = _common_variance(np.maximum(each.log_variance, MIN_VARIANCE), freedom)
    moderated = np.where(np.isinf(prior_freedom), variance, 0.0)
    if math.isfinite(prior_freedom):
        moderated = (prior_freedom * variance + freedom * each.log_variance) / (
            prior_freedom + freedom
        )
    trusted = np.minimum(freedom + prior_freedom, freedom.sum())
    trusted = np.where(
        each.epochs_variance > 0, np.minimum(trusted, np.maximum(1, each.epochs_freedom)), trusted
    )
    of_one = 1 - (1 - level) ** (1 / len(freedom))
    margins: Values = stdtrit(trusted, 1 - of_one / 2) * np.sqrt(
        moderated / each.runs + each.fixed_variance + each.epochs_variance
    )
    return margins


def _common_variance(variances: Values, freedom: Values) -> tuple[float, float]:
    """The variance that entries have in common and its degrees of freedom, by the moments of the
    logarithms; 0 for a single entry."""
    from scipy.special import digamma, polygamma  # start-up: scipy

    if len(variances) < 2:
        return 0.0, 0.0
    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    if excess <= 0:
        return float((freedom * variances).sum() / freedom.sum()), math.inf
    prior_freedom = 2 * _inverse_trigamma(excess)
    return (
        float(np.exp(logs.mean() + digamma(prior_freedom / 2) - np.log(prior_freedom / 2))),
        prior_freedom,
    )


def _inverse_trigamma(value: float) -> float:
    """The argument at which the trigamma function has this value, by Newton's method (Smyth 2004,
    appendix)."""
    from scipy.special import polygamma  # start-up: scipy

    argument = 0.5 + 1 / value
    for _ in range(MAX_NEWTON_STEPS):
        trigamma = float(polygamma(1, argument))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, argument))
        argument += step
        if abs(step) < 1e-10 * argument:
            break
    return argument


def tiers(entries: Sequence[Measured], level: float, epochs_level: float) -> tuple[int, ...]:
    """The tier of each entry, from 1: a tier begins with an entry that differs significantly from
    the first entry of the tier before."""
    numbers, first, number = [0] * len(entries), None, 0
    for index in sorted(range(len(entries)), key=lambda index: entries[index].log_mean):
        if first is None or ratio(entries[index], first, level, epochs_level).is_different:
            first, number = entries[index], number + 1
        numbers[index] = number
    return tuple(numbers)
