"""Non-negative linear least squares with confidence intervals (for normally distributed errors)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.errors import SuiteError
from suite.metrics.comparisons import student_t_quantile

Array = Any  # of float64


@dataclass(frozen=True)
class FittedValue:
    """An estimate and its confidence interval, clipped at 0."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LinearFit:
    """Result of :func:`fit_nonnegative`: non-negative ``coefficients``, and the ``unconstrained``
    ones, on which confidence intervals are based."""

    coefficients: Array
    unconstrained: Array
    covariance: Array
    degrees_of_freedom: int
    relative_error: float

    def interval(self, row: Sequence[float], confidence: float) -> FittedValue:
        """Confidence interval of the expected value at ``row`` (not a prediction interval of one
        more measurement)."""
        columns = np.asarray(row, dtype=float)
        value, centre = float(columns @ self.coefficients), float(columns @ self.unconstrained)
        half = student_t_quantile(self.degrees_of_freedom, confidence) * float(
            np.sqrt(max(0.0, columns @ self.covariance @ columns))
        )
        return FittedValue(value, max(0.0, min(centre - half, value)), max(centre + half, value))


def fit_nonnegative(
    rows: Sequence[Sequence[float]], values: Sequence[float], groups: Sequence[int], what: str
) -> LinearFit:
    """Non-negative least squares (Lawson and Hanson, 1974) of relative errors.

    ``rows`` has shape (values, coefficients). Each value is divided by the mean of its group (the
    repetitions of one setting). Raises SuiteError if the coefficients are not identifiable or no
    degree of freedom is left; ``what`` names the fitted quantity in the error.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # start-up: loads SciPy

    matrix, measured = np.asarray(rows, dtype=float), np.asarray(values, dtype=float)
    columns = matrix.shape[1] if matrix.ndim == 2 else 0
    if len(measured) <= columns:
        raise SuiteError(
            f"Too few points to fit {what}: {len(measured)} measured, {columns + 1} needed for"
            f" {columns} parameters; add repetitions, or measure further numbers of ranks."
        )
    weights = _weights(measured, np.asarray(groups))
    scaled, target = matrix * weights[:, None], measured * weights
    norms = np.linalg.norm(scaled, axis=0)
    if not norms.all() or np.linalg.matrix_rank(scaled / norms) < columns:
        raise SuiteError(
            f"Too few different settings to fit {what}: its {columns} parameters are not"
            " identifiable; measure further numbers of ranks."
        )
    unit = scaled / norms  # columns differ by many orders of magnitude
    inverse = np.linalg.inv(unit.T @ unit)
    unconstrained = inverse @ unit.T @ target
    coefficients = nnls(unit, target)[0]
    degrees_of_freedom = len(measured) - columns
    variance = float(np.sum((target - unit @ unconstrained) ** 2)) / degrees_of_freedom
    error = float(np.sqrt(np.sum((target - unit @ coefficients) ** 2) / degrees_of_freedom))
    covariance = variance * inverse / np.outer(norms, norms)
    return LinearFit(
        coefficients / norms, unconstrained / norms, covariance, degrees_of_freedom, error
    )


def _weights(measured: Array, groups: Array) -> Array:
    means = {group: float(np.mean(measured[groups == group])) for group in set(groups.tolist())}
    floor = max(1e-6 * max(means.values()), 1e-12)  # for a group of zeros
    return np.array([1 / max(means[group], floor) for group in groups.tolist()])
