"""What every predictor returns: equally likely values of time and power in each mode, and the
intervals that follow from them."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = Any  # of floats

CONFIDENCE = 0.90


@dataclass(frozen=True)
class Intervals:
    """Median and interval of a quantity in each mode."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Samples:
    """Logarithms of time (s) and average power (W): arrays of shape (samples, modes). Powers are
    NaN where none was measured."""

    log_time: Array
    log_power: Array

    @property
    def has_power(self) -> bool:
        """Whether power is predicted, too."""
        return not np.isnan(self.log_power[:1, :1]).any()

    def time_s(self, confidence: float = CONFIDENCE) -> Intervals:
        """Time of an epoch."""
        return intervals(self.log_time, confidence)

    def power_w(self, confidence: float = CONFIDENCE) -> Intervals:
        """Average power."""
        return intervals(self.log_power, confidence)

    def energy_j(self, confidence: float = CONFIDENCE) -> Intervals:
        """Energy of an epoch."""
        return intervals(self.log_time + self.log_power, confidence)


class Predictor(Protocol):
    """A model fitted to profiled modes."""

    def predict(self, rows: Array) -> Samples:
        """Time and power in modes: rows of resources in the order of the profile."""


def intervals(logarithms: Array, confidence: float = CONFIDENCE) -> Intervals:
    """Median and central interval of each column, as values."""
    ordered = np.sort(logarithms, axis=0)
    low, middle, high = (
        np.exp(_quantile(ordered, share))
        for share in ((1 - confidence) / 2, 0.5, (1 + confidence) / 2)
    )
    return Intervals(middle, low, high)


def _quantile(ordered: Array, share: float) -> Array:
    """Quantile of sorted columns for a sample: that of rank share (n + 1), so that few samples give
    wide intervals, not narrow ones."""
    count = len(ordered)
    place = min(max(share * (count + 1) - 1, 0.0), count - 1.0)
    below = int(place)
    above = min(below + 1, count - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
