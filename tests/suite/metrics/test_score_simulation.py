"""Simulated pairs differ significantly as often as promised. The whole campaign is `make prove
simulate-pairs`."""

import numpy as np
import pytest

from proofs.simulate_pairs.__main__ import compare_pairs

DRAWS = 1500


@pytest.mark.proof
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15])
def test_equal_entries_are_told_apart_in_at_most_one_of_a_hundred_cases(noise: float) -> None:
    """Three standard errors of the simulation are allowed above 1 %."""
    found = compare_pairs(np.random.default_rng(1), 0.0, (noise, noise), (3, 3), DRAWS)
    assert found.told_apart <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / DRAWS)
    assert found.own_epochs < 0.03, "luck with the seeds rarely passes for sloppy numerics"


def test_entries_a_half_apart_are_told_apart_in_nine_of_ten_cases() -> None:
    found = compare_pairs(np.random.default_rng(2), 0.5, (0.05, 0.05), (3, 3), DRAWS)
    assert found.told_apart >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / DRAWS)
    assert found.held >= 0.99 - 3 * np.sqrt(0.99 * 0.01 / DRAWS)
