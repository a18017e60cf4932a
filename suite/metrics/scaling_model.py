"""How a synchronous data-parallel step grows with the ranks: computing plus an allreduce, fitted to measured points and drawn beyond them.

A step computes for ``fixed + per_sample * samples of a rank``. With latency a and time per byte b, summing G bytes over n ranks costs

- around a ring ``2 (n - 1) a + 2 (n - 1) / n G b`` (Patarasuk and Yuan, J. Parallel Distrib. Comput. 2009),
- on a binomial tree, there and back, ``2 ceil(log2 n) (a + G b)`` (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 2005).

What is fitted is the exchange that no computing hides. Latency holds all messages of a step.
"""

import enum
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from suite.errors import SuiteError
from suite.metrics.linear_fit import Interval, LinearFit, fit

CONFIDENCE = 0.95
MOST_RANKS = 512
CLOSE = 0.2
"""A projection is close where its interval reaches no further than this share of it."""


class Scaling(str, enum.Enum):
    """Strong: the global mini-batch stays. Weak: each rank's mini-batch stays."""

    STRONG = "strong"
    WEAK = "weak"


class Algorithm(str, enum.Enum):
    """How an allreduce goes about it."""

    RING = "ring"
    TREE = "tree"


@dataclass(frozen=True)
class Observation:
    """One run: a mean step, split into the exchange that nothing hid and the rest; ``samples_per_rank`` of a mini-batch."""

    ranks: int
    samples_per_rank: float
    gradient_bytes: int
    busy_s: float
    communication_s: float


@dataclass(frozen=True)
class Parameter:
    """A fitted number; its unit ends its name. ``low`` and ``high`` bound it with 95 % confidence."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Projection:
    """The model at a number of ranks, its ends with 95 % confidence at least. ``is_measured``: within the numbers that were measured."""

    ranks: int
    is_measured: bool
    step_s: Interval
    efficiency: Interval
    communication_share: float


@dataclass(frozen=True)
class AllreduceModel:
    """Computing plus one algorithm's allreduce. ``relative_error`` is the communication's residual standard deviation, relative.

    ``close_to`` is the largest projected number of ranks up to which every interval of the step's time stays within a fifth of it, None for none.
    """

    algorithm: Algorithm
    parameters: tuple[Parameter, ...]
    relative_error: float
    close_to: int | None
    projections: tuple[Projection, ...]


@dataclass(frozen=True)
class ScalingModel:
    """Both algorithms fitted to the same points, which of them fits better (None: it cannot be told), and what that means, in sentences."""

    scaling: Scaling
    points: int
    most_measured: int
    fits: tuple[AllreduceModel, ...]
    better: Algorithm | None
    notes: tuple[str, ...]


def fit_scaling(observations: Sequence[Observation], scaling: Scaling, most_ranks: int = MOST_RANKS) -> ScalingModel:
    """Fit both models; raises SuiteError, in a sentence, where the points are too few or too much alike."""
    several = [one for one in observations if one.ranks > 1]
    if len({one.ranks for one in several}) < 2:
        raise SuiteError("The scaling model needs points at two numbers of ranks above 1 at least, and has fewer; add some to --nodes.")
    if len({one.gradient_bytes for one in observations}) > 1:
        raise SuiteError("The points differ in the bytes of their gradients: they are of different models; fit each model by itself.")
    computing = _fit_computing(observations)
    exchanges = {algorithm: _fit_exchange(several, algorithm) for algorithm in Algorithm}
    better = _better(exchanges)
    one, measured = observations[0], [observation.ranks for observation in observations]
    alone = one.samples_per_rank * (one.ranks if scaling is Scaling.STRONG else 1)
    fitted = (_Fitted(algorithm, scaling, computing, exchanges[algorithm], alone, one.gradient_bytes) for algorithm in Algorithm)
    fits, most = tuple(each.model(measured, most_ranks) for each in fitted), max(measured)
    return ScalingModel(scaling, len(observations), most, fits, better, tuple(_notes(fits, better, most, len(observations))))


def exchange_row(algorithm: Algorithm, ranks: int, gradient_bytes: int) -> tuple[float, ...]:
    """What an allreduce's parameters count: a ring's latency and bytes; a tree's rounds, since at one size latency and bytes grow alike."""
    if algorithm is Algorithm.TREE:
        return (2.0 * math.ceil(math.log2(ranks)),)
    return 2.0 * (ranks - 1), 2.0 * (ranks - 1) / ranks * gradient_bytes


def _computing_row(samples_per_rank: float, is_one_size: bool) -> tuple[float, ...]:
    return (1.0,) if is_one_size else (1.0, samples_per_rank)


@dataclass(frozen=True)
class _Computing:
    fitted: LinearFit
    is_one_size: bool

    def at(self, samples_per_rank: float, confidence: float) -> Interval:
        return self.fitted.interval(_computing_row(samples_per_rank, self.is_one_size), confidence)


def _fit_computing(observations: Sequence[Observation]) -> _Computing:
    is_one_size = len({one.samples_per_rank for one in observations}) == 1
    rows = [_computing_row(one.samples_per_rank, is_one_size) for one in observations]
    fitted = fit(rows, [one.busy_s for one in observations], [one.ranks for one in observations], "computing")
    return _Computing(fitted, is_one_size)


def _fit_exchange(several: Sequence[Observation], algorithm: Algorithm) -> LinearFit:
    rows = [exchange_row(algorithm, one.ranks, one.gradient_bytes) for one in several]
    what = f"communication ({algorithm.value})"
    return fit(rows, [one.communication_s for one in several], [one.ranks for one in several], what)


def _better(exchanges: dict[Algorithm, LinearFit]) -> Algorithm | None:
    """The one of smaller residual variance, where their ratio is beyond what chance makes (F distribution, 95 %)."""
    from scipy.special import fdtri  # type: ignore[import-untyped]

    best, other = sorted(exchanges, key=lambda name: exchanges[name].relative_error)
    low, high = exchanges[best], exchanges[other]
    limit = float(fdtri(high.freedom, low.freedom, CONFIDENCE))
    return best if high.relative_error**2 > limit * low.relative_error**2 else None


@dataclass(frozen=True)
class _Fitted:
    """One algorithm's model: everything that a projection needs. ``alone_samples`` is the mini-batch of one rank alone."""

    algorithm: Algorithm
    scaling: Scaling
    computing: _Computing
    exchange: LinearFit
    alone_samples: float
    gradient_bytes: int

    def step_s(self, ranks: int, confidence: float) -> Interval:
        """A sum of two intervals; it holds with the confidence where each holds with half the doubt."""
        samples = self.alone_samples / ranks if self.scaling is Scaling.STRONG else self.alone_samples
        own, said = self.computing.at(samples, confidence), self.exchange_s(ranks, confidence)
        return Interval(own.value + said.value, own.low + said.low, own.high + said.high)

    def exchange_s(self, ranks: int, confidence: float) -> Interval:
        return self.exchange.interval(exchange_row(self.algorithm, ranks, self.gradient_bytes), confidence)

    def project(self, ranks: int, is_measured: bool) -> Projection:
        """Of two and three intervals, each is taken so wide that together they hold with 95 % (Bonferroni)."""
        whole, third = self.step_s(ranks, 1 - (1 - CONFIDENCE) / 2), 1 - (1 - CONFIDENCE) / 3
        alone, here = self.computing.at(self.alone_samples, third), self.step_s(ranks, third)
        shares = ranks if self.scaling is Scaling.STRONG else 1
        low, high = _quotient(alone.low, shares * here.high), _quotient(alone.high, shares * here.low)
        efficiency = Interval(1.0, 1.0, 1.0) if ranks == 1 else Interval(_quotient(alone.value, shares * here.value), low, high)
        return Projection(ranks, is_measured, whole, efficiency, _quotient(self.exchange_s(ranks, CONFIDENCE).value, whole.value))

    def model(self, measured: Sequence[int], most_ranks: int) -> AllreduceModel:
        """Projected at the numbers that were measured and at every power of two."""
        most, largest = max(measured), most_ranks if self.scaling is Scaling.WEAK else min(most_ranks, int(self.alone_samples))
        doubled = [2**power for power in range(largest.bit_length()) if 2**power <= largest]
        projections = tuple(self.project(ranks, ranks <= most) for ranks in sorted({*doubled, *measured}))
        close = itertools.takewhile(_is_close, (one for one in projections if not one.is_measured))
        close_to = max((one.ranks for one in close), default=None)
        computing_names = ("busy_s",) if self.computing.is_one_size else ("fixed_s", "per_sample_s")
        exchange_names = ("round_s",) if self.algorithm is Algorithm.TREE else ("latency_s", "per_byte_s")
        parameters = (*_parameters(computing_names, self.computing.fitted), *_parameters(exchange_names, self.exchange))
        return AllreduceModel(self.algorithm, parameters, self.exchange.relative_error, close_to, projections)


def _is_close(projection: Projection) -> bool:
    step = projection.step_s
    return max(step.high - step.value, step.value - step.low) <= CLOSE * step.value


def _parameters(names: Sequence[str], fitted: LinearFit) -> list[Parameter]:
    found = []
    for index, name in enumerate(names):
        interval = fitted.interval([float(index == place) for place in range(len(names))], CONFIDENCE)
        found.append(Parameter(name, interval.value, interval.low, interval.high))
    return found


def _quotient(above: float, below: float) -> float:
    """A quotient of times that are not negative; nothing by nothing is 0, and no bound is a very large one (JSON has no infinity)."""
    if below > 0:
        return min(above / below, 1e9)
    return 0.0 if above == 0 else 1e9


def _notes(fits: Sequence[AllreduceModel], better: Algorithm | None, most: int, points: int) -> list[str]:
    errors = " and ".join(f"{one.algorithm.value} {100 * one.relative_error:.2g} %" for one in fits)
    if better is None:
        chosen = f"Ring and tree fit the communication about equally (residuals: {errors}): {points} points cannot tell them apart."
    else:
        chosen = f"The {better.value} fits the communication better (residuals: {errors})."
    notes = [chosen]
    for one in fits:
        last = one.projections[-1].ranks
        close = (
            f"up to {one.close_to} ranks ({one.close_to / most:g} times the largest measured) its interval stays within a fifth of the step's time"
            if one.close_to
            else "already the first step beyond the measured points is known to no better than a fifth"
        )
        if last > most:
            notes.append(f"{one.algorithm.value.capitalize()}: projected to {last} ranks, {last / most:g} times the largest measured; {close}.")
    return notes
