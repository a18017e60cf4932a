"""Questions: which mode is best within limits of power, time and energy, by a prediction."""

import enum
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from suite.errors import SuiteError
from suite.extensions.prediction.record.samples import Samples

Array = Any  # of floats

CERTAINTY = 0.97
"""Probability with which a recommended mode stays within each limit."""


class Quantity(str, enum.Enum):
    """What is predicted of a mode, per epoch: time, average power, energy."""

    TIME = "time"
    POWER = "power"
    ENERGY = "energy"


@dataclass(frozen=True)
class Question:
    """Limits (None: unlimited) and the quantity to minimise."""

    max_watts: float | None = None
    max_s: float | None = None
    max_joules: float | None = None
    minimise: Quantity = Quantity.TIME

    def __post_init__(self) -> None:
        for quantity, limit in self.limits().items():
            if not 0 < limit < float("inf"):
                raise SuiteError(
                    f"The limit of {quantity.value} is {limit:g}; it must be a finite number above"
                    " 0"
                )

    def limits(self) -> dict[Quantity, float]:
        """The limits that are set."""
        every = {
            Quantity.POWER: self.max_watts,
            Quantity.TIME: self.max_s,
            Quantity.ENERGY: self.max_joules,
        }
        return {quantity: limit for quantity, limit in every.items() if limit is not None}


def question(
    max_watts: float | None,
    max_s: float | None,
    max_joules: float | None,
    minimise: Quantity | None = None,
) -> Question:
    """A question; without ``minimise`` the fastest mode within the limits, or the one of least
    energy if only the time is limited."""
    only_time = max_s is not None and max_watts is None and max_joules is None
    return Question(
        max_watts, max_s, max_joules, minimise or (Quantity.ENERGY if only_time else Quantity.TIME)
    )


def logarithms(samples: Samples, quantity: Quantity) -> Array:
    """Logarithms of a quantity, of shape (samples, modes)."""
    if quantity is Quantity.TIME:
        return samples.log_time
    return samples.log_power if quantity is Quantity.POWER else samples.log_time + samples.log_power


def best(samples: Samples, asked: Question, certainty: float = CERTAINTY) -> int | None:
    """Index of the mode of the smallest mean of the minimised quantity among those within every
    limit with ``certainty``; None if there is none.

    Raises SuiteError for a question about power or energy where none was measured.
    """
    if not samples.has_power and {*asked.limits(), asked.minimise} - {Quantity.TIME}:
        problem = (
            "The question is about power or energy, but the table has neither power_w nor energy_j"
        )
        raise SuiteError(problem, "measure one of them, or limit and minimise only the time")
    within = np.ones(samples.log_time.shape[1], dtype=bool)
    for quantity, limit in asked.limits().items():
        within &= upper(logarithms(samples, quantity), certainty) <= np.log(limit)
    if not within.any():
        return None
    objective = np.where(within, np.mean(logarithms(samples, asked.minimise), axis=0), np.inf)
    return int(np.argmin(objective))


def upper(values: Array, certainty: float) -> Array:
    """Upper bound of each column: its mean plus the normal quantile times its standard deviation (a
    few samples have no far quantile)."""
    bound: Array = np.mean(values, axis=0) + NormalDist().inv_cdf(certainty) * np.std(
        values, axis=0
    )
    return bound


def probability_within(samples: Samples, asked: Question, index: int) -> float:
    """Share of the samples in which a mode is within all limits."""
    held = np.ones(len(samples.log_time), dtype=bool)
    for quantity, limit in asked.limits().items():
        held &= logarithms(samples, quantity)[:, index] <= np.log(limit)
    return float(np.mean(held))
