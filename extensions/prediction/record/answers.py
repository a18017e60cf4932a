"""Answers: the recommended mode with its intervals, what binds it, and what to measure to be
surer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.extensions.prediction.record.design import next_mode
from suite.extensions.prediction.record.limits import (
    CERTAINTY,
    Quantity,
    Question,
    best,
    logarithms,
    probability_within,
)
from suite.extensions.prediction.record.modes import COLUMN_ROLES, Modes, Role
from suite.extensions.prediction.record.samples import Predictor, Samples, intervals

Array = Any  # of floats

WORDS: Mapping[Role, str] = {
    Role.CORES: "CPU",
    Role.THREADS: "CPU",
    Role.CPU_QUOTA: "CPU",
    Role.CPU_CLOCK: "CPU",
    Role.GPU_CLOCK: "GPU",
    Role.MEMORY_CLOCK: "memory",
}
OTHER = "storage and other fixed time"
STEP = 0.8
"""A resource is reduced to this share to find how much slower the epoch gets."""


@dataclass(frozen=True)
class Estimate:
    """A predicted value with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """Prediction of one mode; power and energy are None where no power was measured.

    ``within`` is the probability that it is within all limits of the question.
    """

    mode: Mapping[str, float]
    time_s: Estimate
    power_w: Estimate | None
    energy_j: Estimate | None
    is_profiled: bool
    within: float


@dataclass(frozen=True)
class Answer:
    """Answer to a question.

    ``recommended`` is None if no mode is within the limits with the certainty asked for.
    ``time_follows`` is the share of the time that follows each resource (its elasticity in the
    recommended mode); ``binds`` names the largest, or the limit that excludes every better mode.
    ``next`` is the mode to profile next.
    """

    recommended: Forecast | None
    binds: str | None
    time_follows: Mapping[str, float]
    next: Forecast | None


@dataclass(frozen=True)
class Known:
    """What is known of a board: its modes, the indices of the profiled ones, a model fitted to
    them, and its prediction of all modes."""

    modes: Modes
    profiled: Sequence[int]
    predictor: Predictor
    samples: Samples


def know(modes: Modes, profiled: Sequence[int], predictor: Predictor) -> Known:
    """Predict all modes."""
    return Known(modes, profiled, predictor, predictor.predict(modes.rows))


def answer(known: Known, asked: Question, certainty: float = CERTAINTY) -> Answer:
    """The best mode within the limits, by the model."""
    index = best(known.samples, asked, certainty)
    following = next_mode(known.samples, known.profiled, asked)
    upcoming = None if following is None else forecast(known, following, asked)
    if index is None:
        return Answer(None, None, {}, upcoming)
    shares = time_shares(known, index)
    limit = _binding_limit(known.samples, asked, certainty)
    return Answer(
        forecast(known, index, asked),
        limit or max(shares, key=lambda name: shares[name]),
        shares,
        upcoming,
    )


def forecast(known: Known, index: int, asked: Question) -> Forecast:
    """Prediction of one mode."""

    def estimate(quantity: Quantity) -> Estimate:
        one = intervals(logarithms(known.samples, quantity)[:, index : index + 1])
        return Estimate(float(one.value[0]), float(one.low[0]), float(one.high[0]))

    has_power = known.samples.has_power
    return Forecast(
        known.modes.named(index),
        estimate(Quantity.TIME),
        estimate(Quantity.POWER) if has_power else None,
        estimate(Quantity.ENERGY) if has_power else None,
        index in set(known.profiled),
        probability_within(known.samples, asked, index),
    )


def time_shares(known: Known, index: int) -> dict[str, float]:
    """Elasticity of the time in each resource: the relative increase of the time per relative
    decrease of it; what is left follows none."""
    row, names = known.modes.rows[index], known.modes.names
    rows = np.tile(row, (len(names) + 1, 1))
    rows[np.arange(len(names)), np.arange(len(names))] *= STEP
    time = np.mean(known.predictor.predict(rows).log_time, axis=0)
    shares: dict[str, float] = {}
    for place, name in enumerate(names):
        word = WORDS[COLUMN_ROLES[name]]
        share = float(np.clip((time[place] - time[-1]) / -np.log(STEP), 0, 1))
        shares[word] = max(shares.get(word, 0.0), share)
    return {**shares, OTHER: max(0.0, 1 - sum(shares.values()))}


def _binding_limit(samples: Samples, asked: Question, certainty: float) -> str | None:
    """The limit without which the answer would be another mode."""
    without = {
        Quantity.POWER: replace(asked, max_watts=None),
        Quantity.TIME: replace(asked, max_s=None),
        Quantity.ENERGY: replace(asked, max_joules=None),
    }
    limited = best(samples, asked, certainty)
    for quantity in asked.limits():
        if best(samples, without[quantity], certainty) != limited:
            return f"{quantity.value} limit"
    return None
