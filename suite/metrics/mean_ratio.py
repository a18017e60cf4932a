"""The ratio of two groups of repeated measurements, with its confidence interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class MeanRatio:
    """A ratio of geometric means, its 95 % interval, and the p-value of the hypothesis that it is 1."""

    ratio: float
    low: float
    high: float
    p_value: float


def mean_ratio(values: Sequence[float], base: Sequence[float]) -> MeanRatio:
    """Geometric mean of ``values`` over that of ``base``, by Welch's t-test on the logarithms (times and energies scatter by a factor).

    Both need two positive values or more. Without any scatter the interval is the ratio itself.
    """
    from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]  # start-up: scipy

    logs = [np.log(np.asarray(group, dtype=float)) for group in (values, base)]
    difference = float(logs[0].mean() - logs[1].mean())
    squared = [float(log.var(ddof=1)) / len(log) for log in logs]
    error = math.sqrt(sum(squared))
    if error == 0.0:
        ratio = math.exp(difference)
        return MeanRatio(ratio, ratio, ratio, 1.0 if difference == 0.0 else 0.0)
    freedom = sum(squared) ** 2 / sum(one**2 / (len(log) - 1) for one, log in zip(squared, logs, strict=True))
    margin = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p_value = 2 * float(stdtr(freedom, -abs(difference) / error))
    return MeanRatio(math.exp(difference), math.exp(difference - margin), math.exp(difference + margin), p_value)
