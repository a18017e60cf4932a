"""How far two implementations are apart, and what is no comparison at all."""

import re

import numpy as np
import pytest

from suite.verify.array_differences import Arrays, QuantityDifference, compare_arrays

REFERENCE = {
    "logits": np.array([1.0, -4.0]),
    "gradient/a.weight": np.array([2.0, 1.0]),
    "gradient/b.bias": np.array([1e-17]),
}


def only(found: Arrays, quantity: str, tolerance: float = 1e-9) -> QuantityDifference:
    (difference,) = compare_arrays(REFERENCE, found, {quantity: tolerance})
    return difference


def test_the_error_is_relative_to_the_largest_value() -> None:
    difference = only({"logits": np.array([1.0, -3.0])}, "logits", 0.25)
    assert difference.error == 0.25
    assert difference.passed


def test_the_worst_array_is_named() -> None:
    difference = only({**REFERENCE, "gradient/a.weight": np.array([2.0, 1.1])}, "gradient")
    assert not difference.passed
    assert difference.worst == "gradient/a.weight"
    assert difference.error == pytest.approx(0.05)


def test_a_gradient_that_is_zero_up_to_rounding_has_a_floor() -> None:
    assert only({**REFERENCE, "gradient/b.bias": np.array([-3e-17])}, "gradient").passed


def test_a_gradient_that_should_be_zero_and_is_not_shows() -> None:
    assert not only({**REFERENCE, "gradient/b.bias": np.array([1e-6])}, "gradient").passed


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"gradient/a.weight": np.array([2.0, 1.0])}, "1 missing"),
        ({**REFERENCE, "gradient/c.weight": np.array([2.0])}, "1 unknown"),
        (
            {**REFERENCE, "gradient/a.weight": np.array([[2.0, 1.0]])},
            r"shape \(1, 2\) where the reference has \(2,\)",
        ),
    ],
)
def test_different_names_and_shapes_are_a_problem(found: Arrays, words: str) -> None:
    difference = only(found, "gradient")
    assert difference.error is None
    assert not difference.passed
    assert difference.problem is not None
    assert re.search(words, difference.problem)


@pytest.mark.parametrize("name", ["gradient/a.weight", "gradient/b.bias"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_never_passes_in_whichever_array(bad: float, name: str) -> None:
    found = {**REFERENCE, name: np.full_like(REFERENCE[name], bad)}
    difference = only(found, "gradient", 1e9)
    assert not difference.passed
    assert difference.error is None  # JSON has no infinity
    assert difference.problem == "a value that is not a finite number"
