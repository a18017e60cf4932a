"""Compares a bundle's first losses with those of a replay, and decides: agrees, contradicts, or
cannot tell."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from suite.bundle.steps import StepRecords
from suite.errors import SuiteError
from suite.files.schema import AboveZero, Number

DRIFT_FACTOR = 10.0
"""A run may be this many times as far from the float64 replay as the plain replay is: both round,
neither in the same way."""
UNMEASURED = 1e-2
"""Tolerance against a float64 replay where none was measured for the workload."""
DECISIVE = 1e-2
"""A step whose tolerance is larger shows no lie worth telling."""
MIN_DECISIVE_STEPS = 3
MAX_STEPS = 1000
_MISSING = (
    "The step records have no loss for one of the steps to compare; `suite check` says what is"
    " wrong with them."
)


class AuditVerdict(str, enum.Enum):
    """The result of an audit."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class StepDifference:
    """A step's recorded and replayed loss, their difference and its tolerance; ``step`` counts from
    1."""

    step: int
    observed: float
    expected: float
    difference: float
    tolerance: float


@dataclass(frozen=True)
class LossComparison:
    """The verdict and the step that decided it: the first beyond its tolerance, else the one
    nearest to it. ``decisive_steps`` could show a lie."""

    verdict: AuditVerdict
    step: StepDifference | None
    decisive_steps: int


@dataclass(frozen=True)
class ReplayedLosses:
    """What is compared, all of the same length.

    ``plain`` is the replay in the frameworks' own precision, None where one rank cannot repeat the
    run; ``float64`` is the referee, None unless it was asked. ``tolerances`` and
    ``tolerances_float64`` are the rulebook's for each step; None where none was measured.
    """

    recorded: tuple[Number, ...]
    plain: tuple[Number, ...] | None
    float64: tuple[Number, ...] | None
    tolerances: tuple[AboveZero | None, ...]
    tolerances_float64: tuple[AboveZero | None, ...]

    def are_complete(self, steps: int) -> bool:
        """Whether each has a value for every one of ``steps`` steps."""
        return all(row is None or len(row) == steps for row in vars(self).values())


def recorded_losses(steps: StepRecords, count: int, after: int = 0) -> tuple[float, ...]:
    """The losses of the ``count`` steps after step ``after``: of several ranks, the mean over the
    samples of the global mini-batch.

    Raises SuiteError when a step is missing or a loss is not a finite number.
    """
    if count > len(steps):  # of a record that may be hostile
        raise SuiteError(_MISSING)
    chosen = (steps.step > after) & (steps.step <= after + count)
    step = steps.step[chosen] - 1 - after
    samples = steps.samples[chosen].astype(np.float64)
    loss = steps.loss[chosen]
    total = np.bincount(step, samples, minlength=count)
    if (total <= 0).any() or not np.isfinite(loss).all():
        raise SuiteError(_MISSING)
    return tuple((np.bincount(step, samples * loss, minlength=count) / total).tolist())


def loss_difference(observed: float, expected: float) -> float:
    """Relative to the expected loss where that is above 1, else absolute: small losses have no
    meaningful relative difference."""
    return abs(observed - expected) / max(1.0, abs(expected))


def compare_losses(losses: ReplayedLosses) -> LossComparison:
    """Decide.

    Within every tolerance of the plain replay: agrees. Otherwise the float64 replay decides: a step
    contradicts when it is beyond both tolerances, that of the referee being at least DRIFT_FACTOR
    times as far as rounding moved the plain replay up to that step.
    """
    plain = _differences(losses.recorded, losses.plain, losses.tolerances)
    if plain and all(one is not None and one.difference <= one.tolerance for one in plain):
        return _agreed([one for one in plain if one is not None])
    if losses.float64 is None:
        return LossComparison(AuditVerdict.CANNOT_TELL, _first_beyond(plain), 0)
    wide = _differences(losses.recorded, losses.float64, _allowed(losses))
    within = [one is not None and one.difference <= one.tolerance for one in plain] or [
        False
    ] * len(wide)
    for step, is_within in zip(wide, within, strict=True):
        if step is not None and not is_within and not step.difference <= step.tolerance:
            return LossComparison(
                AuditVerdict.CONTRADICTS, step, sum(_is_decisive(one) for one in wide)
            )
    return _agreed([one for one in wide if one is not None])


def _agreed(steps: Sequence[StepDifference]) -> LossComparison:
    """Agrees, if enough of the steps could have shown a lie."""
    nearest = max(steps, key=lambda one: one.difference / one.tolerance, default=None)
    decisive = sum(_is_decisive(one) for one in steps)
    agrees = decisive >= MIN_DECISIVE_STEPS
    verdict = AuditVerdict.AGREES if agrees else AuditVerdict.CANNOT_TELL
    return LossComparison(verdict, nearest, decisive)


def _is_decisive(step: StepDifference | None) -> bool:
    return step is not None and step.tolerance <= DECISIVE


def _first_beyond(steps: Sequence[StepDifference | None]) -> StepDifference | None:
    return next(
        (one for one in steps if one is not None and not one.difference <= one.tolerance), None
    )


def _allowed(losses: ReplayedLosses) -> tuple[float, ...]:
    """Tolerances against the float64 replay: the measured ones, or what rounding explains if that
    is more."""
    assert losses.float64 is not None
    measured = [
        UNMEASURED if tolerance is None else tolerance for tolerance in losses.tolerances_float64
    ]
    if losses.plain is None:
        return tuple(measured)
    drift = accumulate(
        (
            loss_difference(one, other)
            for one, other in zip(losses.plain, losses.float64, strict=True)
        ),
        max,
    )
    return tuple(
        max(tolerance, DRIFT_FACTOR * drifted)
        for tolerance, drifted in zip(measured, drift, strict=True)
    )


def _differences(
    recorded: Sequence[float], replayed: Sequence[float] | None, tolerances: Sequence[float | None]
) -> list[StepDifference | None]:
    """Of each step; None where there is no tolerance, empty without a replay."""
    if replayed is None:
        return []
    return [
        (
            None
            if tolerance is None
            else StepDifference(
                step, observed, expected, loss_difference(observed, expected), tolerance
            )
        )
        for step, (observed, expected, tolerance) in enumerate(
            zip(recorded, replayed, tolerances, strict=True), start=1
        )
    ]


def smallest_rate_error(
    plain: Sequence[float],
    with_other_rate: Sequence[float],
    tolerances: Sequence[float | None],
    rate_error: float,
) -> float | None:
    """The smallest relative error of the learning rate that a comparison with ``plain`` would show,
    from a replay with a rate wrong by ``rate_error``: losses move in proportion. None where no step
    would show it.
    """
    shown = [
        rate_error * tolerance / loss_difference(other, own)
        for own, other, tolerance in zip(plain, with_other_rate, tolerances, strict=True)
        if tolerance is not None and other != own
    ]
    return min(shown, default=None)
