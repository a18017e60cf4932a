"""Intervals of models that have none of their own: jackknife+ over the profiled modes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.extensions.prediction.record.samples import Samples
from suite.extensions.prediction.record.table import Profile

Array = Any  # of floats

Point = Callable[[Array], tuple[Array, Array]]
"""A fitted model: logarithms of time and of power in modes (rows of resources)."""


@dataclass(frozen=True)
class JackknifePlus:
    """Models fitted without one profiled mode each, and how far each was off there (logarithms); a
    :class:`suite.extensions.prediction.record.samples.Predictor`.

    The samples are each model's value plus and minus its error, so that their quantiles are the
    limits of jackknife+ (Barber, Candès, Ramdas and Tibshirani, Annals of Statistics 2021), which
    cover in at least 1 - 2 alpha of the cases whatever the model, if the modes are exchangeable.
    """

    models: tuple[Point, ...]
    time_errors: Array
    power_errors: Array

    def predict(self, rows: Array) -> Samples:
        """Time and power in each mode; samples pair the signs of both errors in all four ways."""
        values = [model(rows) for model in self.models]
        time, power = (np.stack(column) for column in zip(*values, strict=True))
        time_error, power_error = self.time_errors[:, None], self.power_errors[:, None]
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        return Samples(
            np.concatenate([time + sign * time_error for sign, _ in signs]),
            np.concatenate([power + sign * power_error for _, sign in signs]),
        )


def jackknife_plus(fit: Callable[[Profile], Point], profile: Profile) -> JackknifePlus:
    """Fit ``fit`` once without each profiled mode."""
    count = len(profile)
    models = tuple(fit(profile.take(np.arange(count) != left_out)) for left_out in range(count))
    values = [model(profile.rows[place : place + 1]) for place, model in enumerate(models)]
    errors = (
        np.abs(np.concatenate(found) - np.log(measured))
        for found, measured in zip(
            zip(*values, strict=True), (profile.time_s, profile.power_w), strict=True
        )
    )
    return JackknifePlus(models, *errors)
