"""Evaluation in each framework computes in float32, too: the timed steps of `suite verify-model`
have too few samples to show 16 bits there."""

import pytest

from tests.conftest import told_by

MOST_BY_ROUNDING = 3
"""Of about 400 samples near borders between classes; none were seen on x86-64. Pictures in float16
change 19 of 404, in bfloat16 108."""


@pytest.mark.proof
def test_an_evaluation_in_float32_counts_what_float64_does(framework: str) -> None:
    said = told_by(framework, "tests.reference_impls.evaluated_samples")
    assert said["samples"] > 300
    assert said["samples"] - said["correct"] <= MOST_BY_ROUNDING
