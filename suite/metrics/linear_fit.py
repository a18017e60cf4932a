"""A sum of known columns with unknown, never negative factors, fitted to noisy values, with intervals that hold for normal noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.errors import SuiteError

Array = Any  # of float64


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its interval of confidence, none below 0."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LinearFit:
    """What :func:`fit` found. ``estimate`` are the factors, not negative; intervals come from ``free``, the unbounded least squares."""

    estimate: Array
    free: Array
    covariance: Array
    freedom: int
    relative_error: float

    def interval(self, row: Sequence[float], confidence: float) -> Interval:
        """The sum at another row of columns: the expected value there, not that of one more measurement."""
        from scipy.special import stdtrit  # type: ignore[import-untyped]

        columns = np.asarray(row, dtype=float)
        value, free = float(columns @ self.estimate), float(columns @ self.free)
        half = float(stdtrit(self.freedom, 0.5 + confidence / 2)) * float(np.sqrt(max(0.0, columns @ self.covariance @ columns)))
        return Interval(value, max(0.0, min(free - half, value)), max(free + half, value))


def fit(rows: Sequence[Sequence[float]], values: Sequence[float], groups: Sequence[int], what: str) -> LinearFit:
    """Least squares of relative errors: each value counts by the mean of its group (the repetitions of one setting).

    The factors are those of non-negative least squares (Lawson and Hanson, 1974). Raises SuiteError where the values cannot tell the factors
    apart, or leave none to judge the fit by; ``what`` names in the sentence what is fitted.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    matrix, measured = np.asarray(rows, dtype=float), np.asarray(values, dtype=float)
    factors = matrix.shape[1] if matrix.ndim == 2 else 0
    if len(measured) <= factors:
        raise SuiteError(
            f"Too few points to fit {what}: {len(measured)} measured, {factors + 1} needed for {factors} parameters; "
            f"add repetitions or numbers of ranks."
        )
    weights = _weights(measured, np.asarray(groups))
    scaled, target = matrix * weights[:, None], measured * weights
    norms = np.linalg.norm(scaled, axis=0)
    if not norms.all() or np.linalg.matrix_rank(scaled / norms) < factors:
        raise SuiteError(f"Too few different settings to fit {what}: {factors} parameters cannot be told apart; add numbers of ranks.")
    unit = scaled / norms  # columns differ by many powers of ten
    inverse = np.linalg.inv(unit.T @ unit)
    free = inverse @ unit.T @ target
    bounded = nnls(unit, target)[0]
    freedom = len(measured) - factors
    variance = float(np.sum((target - unit @ free) ** 2)) / freedom
    error = float(np.sqrt(np.sum((target - unit @ bounded) ** 2) / freedom))
    return LinearFit(bounded / norms, free / norms, variance * inverse / np.outer(norms, norms), freedom, error)


def _weights(measured: Array, groups: Array) -> Array:
    means = {group: float(np.mean(measured[groups == group])) for group in set(groups.tolist())}
    floor = max(1e-6 * max(means.values()), 1e-12)  # a group of nothing but zeros
    return np.array([1 / max(means[group], floor) for group in groups.tolist()])
