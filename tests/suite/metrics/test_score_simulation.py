"""Simulated boards: pairs differ significantly as often as promised, and rank intervals hold. The
whole campaign is `make simulate-ranks`."""

import numpy as np
import pytest

from proofs.simulate_ranks.__main__ import compare_pairs, draw_boards

DRAWS = 1500


@pytest.mark.proof
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15])
def test_equal_entries_are_told_apart_in_at_most_one_of_twenty_cases(noise: float) -> None:
    """Three standard errors of the simulation are allowed above 5 %."""
    found = compare_pairs(np.random.default_rng(1), 0.0, (noise, noise), (3, 3), DRAWS)
    assert found.told_apart <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert found.own_epochs < 0.03, "luck with the seeds rarely passes for sloppy numerics"


def test_entries_a_fifth_apart_are_told_apart_in_nine_of_ten_cases() -> None:
    found = compare_pairs(np.random.default_rng(2), 0.2, (0.05, 0.05), (3, 3), DRAWS)
    assert found.told_apart >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / DRAWS)
    assert found.held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / DRAWS)


@pytest.mark.parametrize(
    ("entries", "noises", "spread"),
    [(10, (0.05,), 0.0), (10, (0.01, 0.05, 0.15), 0.5), (34, (0.05,), 4.0)],
)
def test_all_rank_intervals_of_a_board_hold_together(
    entries: int, noises: tuple[float, ...], spread: float
) -> None:
    found = draw_boards(np.random.default_rng(3), entries, noises, 3, 40, spread)
    assert found.all_hold >= 0.95


def test_rank_intervals_widen_with_more_entries_and_narrow_with_more_runs() -> None:
    widths = {
        (entries, runs): draw_boards(np.random.default_rng(4), entries, (0.05,), runs, 10).ranks
        for entries, runs in ((10, 3), (60, 3), (60, 10))
    }
    assert widths[10, 3] < widths[60, 3] and widths[60, 10] < widths[60, 3]
