"""Intervals of scores, and of the ratio of two: what a pair's verdict is made from. It depends on
the two entries alone.

Model of variance: the logarithm of a run's score is normal around the entry's, with a scatter of
the entry's own. The variance of the difference of two means is the sum of the entries' own
variances, each over its number of runs; the t distribution has 2 (n - 1) degrees of freedom, n
being the smaller number of runs. For entries with the same number of runs that is Student's test,
exact where both scatter alike (Student, Biometrika 6, 1908). With other numbers of runs it does not
trust the larger entry's scatter for the smaller one, as a pooled variance would.

To it are added what further runs do not average out (``fixed_variance``: the noise floor, an
instrument's gain), which is known and so adds degrees of freedom (Satterthwaite, Biometrics 2,
1946; MAX_FREEDOM at most), and the variance of own epochs.

Runs of one session (between two starts of a machine) share what that start did to all of them: with
enough sessions the unit is a session's mean, and ``runs`` counts sessions.

An entry's true epochs are at least the reference's: an entry at its own epochs is not faster than
it would be at the reference's. So the bound that holds at the reference's epochs holds at its own,
too, and bad luck with the seeds does not hide what the times show.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from suite.bundle.arrays import Values

NEEDS_POSITIVE = "a run has the value 0, and ratios need positive values"
OTHER_ACCELERATORS = "frameworks are compared only on the same accelerator"
OTHER_INSTRUMENTS = "energies are compared only if meter and coverage are the same"
ERROR_UNKNOWN = "the instrument's error is not known"
MAX_FREEDOM = 60
"""Of Student's t: what programs that compare entries have a table for."""


@dataclass(frozen=True)
class RunStatistics:
    """An entry's score in logarithms: the mean of its runs, their sample variance, and how many
    they are.

    ``epochs_variance`` is that of own epochs, with ``epochs_freedom``, and ``epochs_excess`` how
    much longer they make the score, in logarithms; 0 at the reference's epochs.
    """

    log_mean: float
    log_variance: float
    runs: int
    fixed_variance: float = 0.0
    epochs_variance: float = 0.0
    epochs_freedom: int = 0
    epochs_excess: float = 0.0

    @property
    def value(self) -> float:
        """The score: the geometric mean of the runs'."""
        return math.exp(self.log_mean)


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval; without ends, None, where there are too few
    runs."""

    value: float
    low: float | None
    high: float | None


def interval_around(value: float, margin: float) -> Interval:
    """The value, give or take a margin of its logarithm."""
    return Interval(value, value * math.exp(-margin), value * math.exp(margin))


@dataclass(frozen=True)
class Ratio:
    """The ratio of two scores with its interval; ``is_different`` where the interval does not hold
    1."""

    ratio: float
    low: float
    high: float

    @property
    def is_different(self) -> bool:
        """Whether the entries differ significantly."""
        return not self.low <= 1 <= self.high


def run_statistics(
    values: Sequence[float], fixed_variance: float = 0.0, sessions: Sequence[str] | None = None
) -> RunStatistics:
    """The statistics of the runs' positive values; with the ``sessions`` of the runs, those of the
    sessions' means."""
    logs = [math.log(value) for value in values]
    if sessions is not None:
        of_session: dict[str, list[float]] = {}
        for session, log in zip(sessions, logs, strict=True):
            of_session.setdefault(session, []).append(log)
        logs = [math.fsum(each) / len(each) for each in of_session.values()]
    mean = math.fsum(logs) / len(logs)
    variance = (
        math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1) if len(logs) > 1 else 0.0
    )
    return RunStatistics(mean, variance, len(logs), fixed_variance)


def score_interval(one: RunStatistics, level: float) -> Interval:
    """The score's interval by Student's t; without ends for a single run, and where the
    instrument's error is not known (infinite variance)."""
    if one.runs < 2 or math.isinf(one.fixed_variance):
        return Interval(one.value, None, None)
    variance, freedom = one.log_variance / one.runs, one.runs - 1
    whole = int(_freedom(np.array(variance), np.array(freedom), np.array(one.fixed_variance)))
    margin = student_t_quantile(whole, 1 - level) * math.sqrt(variance + one.fixed_variance)
    low, high = one.log_mean - one.epochs_excess - margin, one.log_mean + margin
    if one.epochs_excess:
        total = variance + one.epochs_variance
        scatter = variance**2 / freedom + one.epochs_variance**2 / max(1, one.epochs_freedom)
        freedom = math.floor(total**2 / scatter + 1e-9) if scatter > 0 else MAX_FREEDOM
        margin = student_t_quantile(freedom, 1 - level) * math.sqrt(total + one.fixed_variance)
        low, high = max(low, one.log_mean - margin), one.log_mean + margin
    return Interval(one.value, math.exp(low), math.exp(high))


def score_ratio(
    one: RunStatistics, other: RunStatistics, level: float, epochs_level: float
) -> Ratio:
    """The ratio of two scores; each entry has two runs or more.

    Where an entry is at its own epochs, these are known to look large by a test at
    ``epochs_level``. A false verdict by both, the test and the interval, shall be no more frequent
    than by the interval alone: the interval is at the product of the levels, one-sided.
    """
    low, high = pair_bounds(
        statistics_arrays([one]), statistics_arrays([other]), level, epochs_level
    )
    return Ratio(
        math.exp(one.log_mean - other.log_mean), math.exp(float(low[0])), math.exp(float(high[0]))
    )


@dataclass(frozen=True)
class Columns:
    """The statistics of several entries, an array for each field of Measured; arrays broadcast."""

    log_mean: Values
    log_variance: Values
    runs: Values
    fixed_variance: Values
    epochs_variance: Values
    epochs_freedom: Values
    epochs_excess: Values

    def row(self, index: int) -> "Columns":
        """The statistics of one entry, to compare it with all."""
        return Columns(**{name: values[index : index + 1] for name, values in vars(self).items()})


def statistics_arrays(entries: Sequence[RunStatistics]) -> Columns:
    """The entries' statistics as arrays."""
    return Columns(
        **{
            field.name: np.array([getattr(one, field.name) for one in entries], dtype=float)
            for field in fields(Columns)
        }
    )


def indistinguishable_counts(
    entries: Sequence[RunStatistics], level: float, epochs_level: float
) -> tuple[int, ...]:
    """Of each entry, the number of others that it does not differ from significantly. No third
    entry changes a pair; the relation is not transitive."""
    if not entries:
        return ()
    each, found = statistics_arrays(entries), []
    # a row at a time: a thousand entries have half a million pairs
    for index in range(len(entries)):
        lows, highs = pair_bounds(each.row(index), each, level, epochs_level)
        found.append(int(np.count_nonzero((lows <= 0) & (highs >= 0))) - 1)
    return tuple(found)


def pair_bounds(
    ones: Columns, others: Columns, level: float, epochs_level: float
) -> tuple[Values, Values]:
    """The ends of the interval of each pair's ratio, in logarithms: see :func:`score_ratio`."""
    of_runs = ones.log_variance / ones.runs + others.log_variance / others.runs
    freedom = 2 * (np.minimum(ones.runs, others.runs) - 1)
    fixed = ones.fixed_variance + others.fixed_variance
    at_reference = ones.log_mean - ones.epochs_excess - others.log_mean + others.epochs_excess
    whole = _freedom(of_runs, freedom, fixed)
    margins = _quantiles(whole, 1 - level) * np.sqrt(of_runs + fixed)
    lows: Values = at_reference - margins
    highs: Values = at_reference + margins
    one_own, other_own = ones.epochs_excess > 0, others.epochs_excess > 0
    if one_own.any() or other_own.any():
        total = of_runs + ones.epochs_variance + others.epochs_variance
        scatter = of_runs**2 / freedom
        for each in (ones, others):
            scatter = scatter + each.epochs_variance**2 / np.maximum(1, each.epochs_freedom)
        freedom = np.maximum(
            1, np.floor(total**2 / np.maximum(scatter, np.finfo(float).tiny) + 1e-9)
        )
        own_margins = _quantiles(freedom, 1 - 2 * level * epochs_level) * np.sqrt(total + fixed)
        difference = ones.log_mean - others.log_mean
        own_lows, own_highs = difference - own_margins, difference + own_margins
        lows = np.where(other_own, own_lows, np.where(one_own, np.maximum(lows, own_lows), lows))
        highs = np.where(
            one_own, own_highs, np.where(other_own, np.minimum(highs, own_highs), highs)
        )
    return lows, highs


def _freedom(random: Values, freedom: Values, fixed: Values) -> Values:
    """The degrees of freedom of a variance of which the ``fixed`` part is known."""
    known = np.isfinite(fixed) & (random > 0)
    total = np.where(known, random + fixed, 0.0)
    scatter = np.where(known, random**2 / freedom, 1.0)
    found: Values = np.where(known, np.floor(total**2 / scatter + 1e-9), MAX_FREEDOM)
    return np.minimum(found, MAX_FREEDOM)


def _quantiles(freedom: Values, confidence: float) -> Values:
    distinct, inverse = np.unique(freedom, return_inverse=True)
    quantiles = np.array([student_t_quantile(int(one), confidence) for one in distinct])
    return quantiles[inverse].reshape(freedom.shape)


@functools.cache
def student_t_quantile(freedom: int, confidence: float) -> float:
    """Student's t: the number of standard errors on each side of a two-sided interval."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # start-up: scipy

    return float(stdtrit(freedom, (1 + confidence) / 2))
