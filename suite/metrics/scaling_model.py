"""Model of the step time of synchronous data-parallel training: compute plus all-reduce, fitted to
measured runs and extrapolated.

The compute time is ``fixed + per_sample * samples of a rank``. With latency a and time per byte b,
an all-reduce of G bytes over n ranks takes

- on a ring ``2 (n - 1) a + 2 (n - 1) / n G b`` (Patarasuk and Yuan, J. Parallel Distrib. Comput.
  2009),
- on a binomial tree (reduce and broadcast) ``2 ceil(log2 n) (a + G b)`` (Thakur, Rabenseifner and
  Gropp, Int. J. High Perform. Comput. Appl. 2005).

The exposed communication is fitted. ``a`` is the latency of all messages of a step together.
"""

import enum
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from suite.errors import SuiteError
from suite.metrics.linear_fit import FittedValue, LinearFit, fit_nonnegative

CONFIDENCE = 0.95
MAX_RANKS = 512
MAX_RELATIVE_WIDTH = 0.2
"""A projection is precise if its confidence interval extends at most this fraction of the value to
either side."""


class Scaling(str, enum.Enum):
    """Strong: constant global mini-batch. Weak: constant mini-batch per rank."""

    STRONG = "strong"
    WEAK = "weak"


class Algorithm(str, enum.Enum):
    """All-reduce algorithm."""

    RING = "ring"
    TREE = "tree"


@dataclass(frozen=True)
class Observation:
    """One run: its mean step, split into exposed communication and the rest; ``samples_per_rank``
    in a mini-batch."""

    ranks: int
    samples_per_rank: float
    gradient_bytes: int
    busy_s: float
    exchange_s: float


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter, its unit at the end of its name, with its 95 % confidence interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScalingProjection:
    """The model at a number of ranks, with intervals of at least 95 % confidence. ``is_measured``:
    within the measured numbers of ranks."""

    ranks: int
    is_measured: bool
    step_s: FittedValue
    efficiency: FittedValue
    exchange_share: float


@dataclass(frozen=True)
class AllreduceModel:
    """Compute plus one algorithm's all-reduce. ``relative_error`` is the relative residual standard
    deviation of the communication.

    ``close_to`` is the largest number of ranks up to which every projected interval is within a
    fifth of the step time; None if there is none.
    """

    algorithm: Algorithm
    parameters: tuple[Parameter, ...]
    relative_error: float
    close_to: int | None
    projections: tuple[ScalingProjection, ...]


@dataclass(frozen=True)
class ScalingModel:
    """Both algorithms fitted to the same points; ``better`` fits significantly better (None:
    neither); ``notes`` are sentences about the fit."""

    scaling: Scaling
    points: int
    most_measured: int
    fits: tuple[AllreduceModel, ...]
    better: Algorithm | None
    notes: tuple[str, ...]


def fit_scaling(observations: Sequence[Observation], scaling: Scaling) -> ScalingModel:
    """Fit both models; raises SuiteError if there are too few points or too few different
    settings."""
    several = [one for one in observations if one.ranks > 1]
    if len({one.ranks for one in several}) < 2:
        raise SuiteError(
            "The scaling model needs at least two different numbers of ranks above 1; add values"
            " to --nodes."
        )
    sizes_bytes = {one.gradient_bytes for one in several}  # one rank sends nothing
    if len(sizes_bytes) > 1:
        raise SuiteError(
            "The points have gradients of different sizes, so they train different networks; fit"
            " a scaling model to each network separately."
        )
    compute = _fit_compute(observations)
    exchanges = {algorithm: _fit_exchange(several, algorithm) for algorithm in Algorithm}
    better = _better(exchanges)
    one, measured = observations[0], [observation.ranks for observation in observations]
    samples = one.samples_per_rank * (one.ranks if scaling is Scaling.STRONG else 1)
    fitted = (
        _Fitted(algorithm, scaling, compute, exchanges[algorithm], samples, *sizes_bytes)
        for algorithm in Algorithm
    )
    fits, largest = tuple(each.model(measured) for each in fitted), max(measured)
    return ScalingModel(
        scaling,
        len(observations),
        largest,
        fits,
        better,
        tuple(_notes(fits, better, largest, len(observations))),
    )


def exchange_row(algorithm: Algorithm, ranks: int, gradient_bytes: int) -> tuple[float, ...]:
    """Row of the regression: ring (latency, bytes); tree (rounds: with one gradient size, latency
    and bytes are collinear)."""
    if algorithm is Algorithm.TREE:
        return (2.0 * math.ceil(math.log2(ranks)),)
    return 2.0 * (ranks - 1), 2.0 * (ranks - 1) / ranks * gradient_bytes


def _compute_row(samples_per_rank: float, is_one_size: bool) -> tuple[float, ...]:
    return (1.0,) if is_one_size else (1.0, samples_per_rank)


@dataclass(frozen=True)
class _Compute:
    fitted: LinearFit
    is_one_size: bool

    def time_s(self, samples_per_rank: float, confidence: float) -> FittedValue:
        return self.fitted.interval(_compute_row(samples_per_rank, self.is_one_size), confidence)


def _fit_compute(observations: Sequence[Observation]) -> _Compute:
    is_one_size = len({one.samples_per_rank for one in observations}) == 1
    rows = [_compute_row(one.samples_per_rank, is_one_size) for one in observations]
    fitted = fit_nonnegative(
        rows, [one.busy_s for one in observations], [one.ranks for one in observations], "compute"
    )
    return _Compute(fitted, is_one_size)


def _fit_exchange(several: Sequence[Observation], algorithm: Algorithm) -> LinearFit:
    rows = [exchange_row(algorithm, one.ranks, one.gradient_bytes) for one in several]
    what = f"communication ({algorithm.value})"
    return fit_nonnegative(
        rows, [one.exchange_s for one in several], [one.ranks for one in several], what
    )


def _better(exchanges: dict[Algorithm, LinearFit]) -> Algorithm | None:
    """The algorithm with the smaller residual variance if the ratio of the variances is significant
    (F test, 95 %), else None."""
    from scipy.special import fdtri  # type: ignore[import-untyped]  # start-up: loads SciPy

    best, other = sorted(exchanges, key=lambda name: exchanges[name].relative_error)
    low, high = exchanges[best], exchanges[other]
    limit = float(fdtri(high.degrees_of_freedom, low.degrees_of_freedom, CONFIDENCE))
    return best if high.relative_error**2 > limit * low.relative_error**2 else None


@dataclass(frozen=True)
class _Fitted:
    """One fitted algorithm. ``single_rank_samples`` is the mini-batch of a run on one rank."""

    algorithm: Algorithm
    scaling: Scaling
    compute: _Compute
    exchange: LinearFit
    single_rank_samples: float
    gradient_bytes: int

    def step_s(self, ranks: int, confidence: float) -> FittedValue:
        """Sum of the compute and the exchange interval; its error probability is at most twice that
        of each (Bonferroni)."""
        samples = self.single_rank_samples / (ranks if self.scaling is Scaling.STRONG else 1)
        compute, exchange = (
            self.compute.time_s(samples, confidence),
            self.exchange_s(ranks, confidence),
        )
        return FittedValue(
            compute.value + exchange.value, compute.low + exchange.low, compute.high + exchange.high
        )

    def exchange_s(self, ranks: int, confidence: float) -> FittedValue:
        return self.exchange.interval(
            exchange_row(self.algorithm, ranks, self.gradient_bytes), confidence
        )

    def project(self, ranks: int, is_measured: bool) -> ScalingProjection:
        """The step time combines two intervals, the efficiency three; each is widened so that
        together they reach 95 % (Bonferroni)."""
        step, third = self.step_s(ranks, 1 - (1 - CONFIDENCE) / 2), 1 - (1 - CONFIDENCE) / 3
        single = self.compute.time_s(self.single_rank_samples, third)
        several = self.step_s(ranks, third)
        shares = ranks if self.scaling is Scaling.STRONG else 1
        efficiency = FittedValue(
            _quotient(single.value, shares * several.value),
            _quotient(single.low, shares * several.high),
            _quotient(single.high, shares * several.low),
        )
        if ranks == 1:
            efficiency = FittedValue(1.0, 1.0, 1.0)
        exchange_share = _quotient(self.exchange_s(ranks, CONFIDENCE).value, step.value)
        return ScalingProjection(ranks, is_measured, step, efficiency, exchange_share)

    def model(self, measured: Sequence[int]) -> AllreduceModel:
        """The fit with projections at the measured numbers of ranks and at every power of two up to
        MAX_RANKS."""
        most_measured, largest = max(measured), MAX_RANKS
        if self.scaling is Scaling.STRONG:
            largest = min(MAX_RANKS, int(self.single_rank_samples))
        powers = [2**power for power in range(largest.bit_length()) if 2**power <= largest]
        projections = tuple(
            self.project(ranks, ranks <= most_measured) for ranks in sorted({*powers, *measured})
        )
        precise = itertools.takewhile(
            _is_precise, (one for one in projections if not one.is_measured)
        )
        close_to = max((one.ranks for one in precise), default=None)
        compute_names = ("busy_s",) if self.compute.is_one_size else ("fixed_s", "per_sample_s")
        exchange_names = (
            ("round_s",) if self.algorithm is Algorithm.TREE else ("latency_s", "per_byte_s")
        )
        parameters = (
            *_parameters(compute_names, self.compute.fitted),
            *_parameters(exchange_names, self.exchange),
        )
        return AllreduceModel(
            self.algorithm, parameters, self.exchange.relative_error, close_to, projections
        )


def _is_precise(projection: ScalingProjection) -> bool:
    step = projection.step_s
    return max(step.high - step.value, step.value - step.low) <= MAX_RELATIVE_WIDTH * step.value


def _parameters(names: Sequence[str], fitted: LinearFit) -> list[Parameter]:
    parameters = []
    for index, name in enumerate(names):
        row = [float(index == place) for place in range(len(names))]
        parameters.append(Parameter(name, **vars(fitted.interval(row, CONFIDENCE))))
    return parameters


def _quotient(numerator: float, denominator: float) -> float:
    """Quotient of non-negative times; 0 / 0 is 0, and the maximum is 1e9 (JSON has no infinity)."""
    if denominator > 0:
        return min(numerator / denominator, 1e9)
    return 0.0 if numerator == 0 else 1e9


def _notes(
    fits: Sequence[AllreduceModel], better: Algorithm | None, most_measured: int, points: int
) -> list[str]:
    errors = " and ".join(f"{one.algorithm.value} {100 * one.relative_error:.2g} %" for one in fits)
    if better is None:
        chosen = (
            f"Ring and tree do not differ significantly on these {points} points (residuals of the"
            f" communication: {errors})."
        )
    else:
        chosen = (
            f"The {better.value} fits the communication significantly better (residuals: {errors})."
        )
    notes = [chosen]
    for one in fits:
        last = one.projections[-1].ranks
        precision = (
            f"up to {one.close_to} ranks ({one.close_to / most_measured:g} times the largest"
            " measured number) the confidence interval is at most a fifth of the step time"
            if one.close_to
            else (
                "beyond the measured points the confidence interval exceeds a fifth of the step"
                " time"
            )
        )
        if last > most_measured:
            notes.append(
                f"{one.algorithm.value.capitalize()}: projected to {last} ranks,"
                f" {last / most_measured:g} times the largest measured number; {precision}."
            )
    return notes
