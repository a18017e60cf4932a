"""Compares the arrays of two probes, quantity by quantity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Mapping[str, "np.ndarray[Any, Any]"]
NEGLIGIBLE = 1e-6
"""Floor of a relative error's denominator, as a share of the largest value in the array's group: a
gradient that is zero but for rounding (of a bias before batch normalisation, for example) has no
meaningful relative error."""


@dataclass(frozen=True)
class QuantityDifference:
    """A quantity's relative error against the reference: largest deviation over largest value, of
    the array ``worst``.

    ``error`` is None where the arrays cannot be compared; ``problem`` then says why.
    """

    quantity: str
    error: float | None
    tolerance: float
    worst: str
    problem: str | None = None

    @property
    def passed(self) -> bool:
        """True when the error is within the tolerance; NaN is not."""
        return self.error is not None and self.error <= self.tolerance


def compare_arrays(
    reference: Arrays, found: Arrays, tolerances: Mapping[str, float]
) -> tuple[QuantityDifference, ...]:
    """One difference per quantity that has a tolerance; arrays are grouped into quantities by what
    precedes the slash of their names."""
    return tuple(
        _compare_group(
            quantity, _group(reference, quantity), _group(found, quantity), tolerances[quantity]
        )
        for quantity in tolerances
    )


def _group(arrays: Arrays, quantity: str) -> dict[str, "np.ndarray[Any, Any]"]:
    return {name: value for name, value in arrays.items() if name.split("/")[0] == quantity}


def _compare_group(
    quantity: str, reference: Arrays, found: Arrays, tolerance: float
) -> QuantityDifference:
    missing, unknown = (
        sorted(reference.keys() - found.keys()),
        sorted(found.keys() - reference.keys()),
    )
    if missing or unknown:
        problem = f"{len(missing)} missing, {len(unknown)} unknown"
        return QuantityDifference(quantity, None, tolerance, (missing or unknown)[0], problem)
    for name, value in reference.items():
        if value.shape != found[name].shape:
            return QuantityDifference(
                quantity,
                None,
                tolerance,
                name,
                f"shape {found[name].shape} where the reference has {value.shape}",
            )
    largest = max((_largest(value) for value in reference.values()), default=0.0)
    errors = {
        name: _error(value, found[name], NEGLIGIBLE * largest) for name, value in reference.items()
    }
    if not errors:
        return QuantityDifference(quantity, 0.0, tolerance, "", None)
    worst = max(errors, key=lambda name: errors[name])
    if not np.isfinite(errors[worst]):
        problem = "a value that is not a finite number"
        return QuantityDifference(quantity, None, tolerance, worst, problem)
    return QuantityDifference(quantity, errors[worst], tolerance, worst)


def _error(reference: "np.ndarray[Any, Any]", found: "np.ndarray[Any, Any]", floor: float) -> float:
    """Relative to the reference's largest value; infinite where either is not a finite number."""
    if not (np.isfinite(reference).all() and np.isfinite(found).all()):
        return float("inf")
    deviation = _largest(reference - found)
    scale = max(_largest(reference), floor)
    return deviation / scale if scale else float(deviation > 0)


def _largest(values: "np.ndarray[Any, Any]") -> float:
    return float(np.abs(values).max(initial=0.0))
