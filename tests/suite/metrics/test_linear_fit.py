"""Least squares of relative errors without negative coefficients, worked out by hand."""

import numpy as np
import pytest

from suite.metrics.linear_fit import FittedValue, LinearFit, fit_nonnegative


def test_each_value_counts_relative_to_its_group() -> None:
    """r = sum(row value / mean^2) / sum(row^2 / mean^2), the means of the groups 1.1 and 2.1."""
    rows, values = [(2.0,), (4.0,), (2.0,), (4.0,)], [1.0, 2.2, 1.2, 2.0]
    found = fit_nonnegative(rows, values, [2, 4, 2, 4], "x")
    right = (2 * 2.2 / 1.21 + 4 * 4.2 / 4.41) / (8 / 1.21 + 32 / 4.41)
    assert found.coefficients == pytest.approx([right])
    away = [
        (v - row * right) / m for (row,), v, m in zip(rows, values, (1.1, 2.1) * 2, strict=True)
    ]
    assert found.relative_error == pytest.approx(np.sqrt(np.sum(np.square(away)) / 3))
    assert found.degrees_of_freedom == 3


def test_a_coefficient_is_never_negative_and_its_interval_holds_the_value() -> None:
    """Student's t of 4 degrees of freedom at 95 % is 2.776445."""

    def interval(value: float, unconstrained: float) -> FittedValue:
        covariance = np.array([[0.01]])
        fit = LinearFit(np.array([value]), np.array([unconstrained]), covariance, 4, 0.0)
        return fit.interval([2.0], 0.95)

    half = 2 * 0.1 * 2.776445
    assert vars(interval(2.0, 2.0)) == pytest.approx(
        {"value": 4, "low": 4 - half, "high": 4 + half}
    )
    assert vars(interval(0.5, 2.0)) == pytest.approx({"value": 1, "low": 1, "high": 4 + half})
    assert vars(interval(3.0, 2.0)) == pytest.approx({"value": 6, "low": 4 - half, "high": 6})
    assert interval(0.0, -1.0) == FittedValue(0.0, 0.0, 0.0)
    falling = fit_nonnegative([(1.0, n) for n in (1.0, 2.0, 3.0)], [3.0, 2.0, 1.0], [1, 2, 3], "x")
    assert falling.coefficients[1] == 0 and falling.unconstrained[1] == pytest.approx(-1)
