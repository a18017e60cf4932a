"""Fits a model by its name."""

from collections.abc import Sequence

from suite.errors import SuiteError
from suite.prediction import linear, neural, posterior
from suite.prediction.modes import Modes
from suite.prediction.samples import Predictor
from suite.prediction.table import Profile

MODELS = ("physical", "linear", "neural")
MIN_MODES = 3


def fit(model: str, modes: Modes, profile: Profile, others: Sequence[Profile] = (), seed: int = 0) -> Predictor:
    """Fit one of :data:`MODELS` to profiled modes; ``others`` are tables of other workloads, which the baselines learn from."""
    if len(profile) < MIN_MODES:
        problem = f"{len(profile)} modes were profiled, and a prediction needs {MIN_MODES} or more"
        raise SuiteError(problem, "profile those that `suite predict --design` names")
    for other in others:
        if other.names != profile.names:
            problem = f"The tables have different resources: {', '.join(profile.names)} and {', '.join(other.names)}"
            raise SuiteError(problem, "give tables of one board")
    if model == "physical":
        return posterior.fit(modes, profile, seed)
    if model == "linear":
        return linear.fit(profile, others)
    if model == "neural":
        return neural.fit(profile, others, seed)
    raise SuiteError(f"There is no model {model!r}", f"known are {', '.join(MODELS)}")
