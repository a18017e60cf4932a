"""Ranks reflect only significant differences between runs."""

import random

import numpy as np
import pytest
from scipy import stats

from reporter.board.ranking import holm, rank_entries


def test_significantly_different_entries_have_different_ranks() -> None:
    ranks = rank_entries({"slow": [100, 101, 102], "fast": [10, 10.1, 10.2], "middle": [30, 31, 30.5]})
    assert {name: rank.rank for name, rank in ranks.items()} == {"fast": 1, "middle": 2, "slow": 3}


def test_entries_without_a_significant_difference_share_a_rank() -> None:
    ranks = rank_entries({"one": [10, 14, 12], "other": [11, 15, 12.5]})
    assert {rank.rank for rank in ranks.values()} == {1} and ranks["one"].not_different == 1


def test_too_few_runs_have_no_rank_but_a_reason() -> None:
    ranks = rank_entries({"few": [1.0, 1.1], "enough": [5, 5.1, 5.2]})
    assert ranks["few"].rank is None and ranks["few"].reason == "2 of the 3 runs needed"
    assert ranks["enough"].rank == 1


def test_runs_without_any_spread_are_ranked() -> None:
    ranks = rank_entries({"a": [1, 1, 1], "b": [2, 2, 2], "c": [2, 2, 2]})
    assert [ranks[name].rank for name in "abc"] == [1, 2, 2] and ranks["b"].not_different == 1


def test_p_values_equal_those_of_scipy() -> None:
    from reporter.board.ranking import _welch

    one, other = np.log([1.0, 1.2, 1.1, 1.4]), np.log([1.3, 1.5, 1.45])
    expected = stats.ttest_ind(one, other, equal_var=False).pvalue
    assert _welch([one, other], np.array([one.mean(), other.mean()]), np.array([0]), np.array([1]))[0] == pytest.approx(expected)


def test_holms_method_on_a_worked_example() -> None:
    """p = 0.005, 0.011, 0.02, 0.04, 0.13 at 5 %: thresholds 0.01, 0.0125, 0.0167: the third stops it."""
    assert list(holm(np.array([0.13, 0.011, 0.04, 0.005, 0.02]), 0.05)) == [False, True, False, True, False]


def test_the_family_wise_error_rate_is_at_most_the_level() -> None:
    """Six entries of one distribution, 300 times: a significant difference in at most 5 % of them, with a margin for chance."""
    draw = random.Random(1)
    wrong = 0
    for _ in range(300):
        ranks = rank_entries({str(entry): [draw.lognormvariate(0, 0.1) for _ in range(5)] for entry in range(6)})
        wrong += any(rank.rank != 1 for rank in ranks.values())
    assert wrong / 300 < 0.08
