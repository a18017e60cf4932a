"""Fits a model by its name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.errors import SuiteError
from suite.extensions.prediction.record import linear, neural, posterior
from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.samples import Predictor, Samples
from suite.extensions.prediction.record.table import UNMEASURED, Profile
from suite.files.counted import counted

MODELS = ("physical", "linear", "neural")
MIN_MODES = 3
UNKNOWN_ERROR = 1e3
"""Relative standard error of a power that was not measured: it says nothing."""


@dataclass(frozen=True)
class TimesAlone:
    """A predictor that was fitted to times without powers."""

    predictor: Predictor

    def predict(self, rows: Any) -> Samples:
        """Times of modes; powers are NaN."""
        log_time = self.predictor.predict(rows).log_time
        return Samples(log_time, np.full_like(log_time, UNMEASURED))


def fit(
    model: str, modes: Modes, profile: Profile, others: Sequence[Profile] = (), seed: int = 0
) -> Predictor:
    """Fit one of :data:`MODELS` to profiled modes; ``others`` are tables of other workloads, which
    the baselines learn from."""
    if len(profile) < MIN_MODES:
        problem = (
            f"{counted(len(profile), 'mode')} profiled; a prediction needs at least {MIN_MODES}"
        )
        raise SuiteError(problem, "profile the modes that `suite predict --design` names")
    for other in others:
        if other.names != profile.names:
            problem = (
                f"The tables have different resources: {', '.join(profile.names)} and"
                f" {', '.join(other.names)}"
            )
            raise SuiteError(problem, "give tables of one board")
        if profile.has_power and not other.has_power:
            raise SuiteError(
                "The table to predict from has power, but a table of another workload has none",
                "give tables with power_w or energy_j",
            )
    if not profile.has_power:
        times = _without_power(profile), [_without_power(other) for other in others]
        return TimesAlone(_fitted(model, modes, *times, seed))
    return _fitted(model, modes, profile, others, seed)


def _without_power(profile: Profile) -> Profile:
    """The times, with powers that say nothing."""
    count = len(profile)
    return replace(profile, power_w=np.ones(count), power_error=np.full(count, UNKNOWN_ERROR))


def _fitted(
    model: str, modes: Modes, profile: Profile, others: Sequence[Profile], seed: int
) -> Predictor:
    if model == "physical":
        return posterior.fit(modes, profile, seed)
    if model == "linear":
        return linear.fit(profile, others)
    if model == "neural":
        return neural.fit(profile, others, seed)
    raise SuiteError(f"There is no model {model!r}", f"choose one of {', '.join(MODELS)}")
