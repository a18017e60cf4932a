"""Ranks say only what the runs can show; the front is what no other beats in both."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reporter.board.ranking import holm, pareto_front, rank_entries


def test_clearly_different_entries_are_ranked() -> None:
    ranks = rank_entries({"slow": [100, 101, 102], "fast": [10, 10.1, 10.2], "middle": [30, 31, 30.5]})
    assert {name: rank.rank for name, rank in ranks.items()} == {"fast": 1, "middle": 2, "slow": 3}


def test_entries_that_noise_could_separate_share_a_rank() -> None:
    ranks = rank_entries({"one": [10, 14, 12], "other": [11, 15, 12.5]})
    assert {rank.rank for rank in ranks.values()} == {1} and ranks["one"].ties == 1


def test_too_few_runs_are_said_to_be_too_few() -> None:
    ranks = rank_entries({"few": [1.0, 1.1], "enough": [5, 5.1, 5.2]})
    assert ranks["few"].rank is None and ranks["few"].reason == "2 of the 3 runs needed"
    assert ranks["enough"].rank == 1


def test_no_scatter_at_all_is_no_error() -> None:
    ranks = rank_entries({"a": [1, 1, 1], "b": [2, 2, 2], "c": [2, 2, 2]})
    assert [ranks[name].rank for name in "abc"] == [1, 2, 2] and ranks["b"].ties == 1


def test_p_values_are_those_of_a_second_implementation() -> None:
    from reporter.board.ranking import _welch

    one, other = np.log([1.0, 1.2, 1.1, 1.4]), np.log([1.3, 1.5, 1.45])
    expected = stats.ttest_ind(one, other, equal_var=False).pvalue
    assert _welch([one, other], np.array([one.mean(), other.mean()]), np.array([0]), np.array([1]))[0] == pytest.approx(expected)


def test_holms_method_on_a_worked_example() -> None:
    """p = 0.005, 0.011, 0.02, 0.04, 0.13 at 5 %: thresholds 0.01, 0.0125, 0.0167: the third stops it."""
    assert list(holm(np.array([0.13, 0.011, 0.04, 0.005, 0.02]), 0.05)) == [False, True, False, True, False]


def test_false_differences_are_as_rare_as_promised() -> None:
    """Six entries that are the same, 300 times: at most 5 % of the times any two are told apart (Holm's promise), with some room for chance."""
    draw = random.Random(1)
    wrong = 0
    for _ in range(300):
        ranks = rank_entries({str(entry): [draw.lognormvariate(0, 0.1) for _ in range(5)] for entry in range(6)})
        wrong += any(rank.rank != 1 for rank in ranks.values())
    assert wrong / 300 < 0.08


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=12))
@pytest.mark.slow
def test_the_front_is_what_no_other_beats(points: dict[str, tuple[float, float]]) -> None:
    front = pareto_front(points)
    for name, (x, y) in points.items():
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
        assert not (beaten and name in front)
        assert beaten or any(points[kept] == (x, y) for kept in front)
