"""Ranks are intervals that hold together; tiers begin with entries that differ significantly."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from suite.metrics.comparisons import Measured, measured, ratio
from suite.metrics.rank_intervals import RankInterval, rank_intervals, tiers

LEVEL, EPOCHS_LEVEL = 0.05, 0.025
entries = st.lists(st.lists(st.floats(1.0, 100.0), min_size=3, max_size=5), min_size=1, max_size=8)


def ranks(*scores: list[float]) -> list[tuple[int, int]]:
    return [
        (each.best, each.worst)
        for each in rank_intervals([measured(runs) for runs in scores], LEVEL, EPOCHS_LEVEL)
    ]


def test_entries_far_apart_have_one_rank_each() -> None:
    assert ranks([100, 101, 102], [10, 10.1, 10.2], [30, 31, 30.5]) == [(3, 3), (1, 1), (2, 2)]


def test_entries_that_cannot_be_told_apart_share_their_ranks() -> None:
    assert ranks([10, 14, 12], [11, 15, 12.5], [1000, 1001, 1002]) == [(1, 2), (1, 2), (3, 3)]


def test_a_single_entry_is_first() -> None:
    assert ranks([3.0, 3.1, 3.2]) == [(1, 1)] and rank_intervals([], LEVEL, EPOCHS_LEVEL) == ()


@settings(deadline=None)
@given(scores=entries)
def test_the_place_by_value_lies_in_the_interval(scores: list[list[float]]) -> None:
    drawn = [measured(runs) for runs in scores]
    for one, found in zip(drawn, rank_intervals(drawn, LEVEL, EPOCHS_LEVEL), strict=True):
        below = sum(other.log_mean < one.log_mean for other in drawn)
        alike = sum(other.log_mean <= one.log_mean for other in drawn)
        assert found.best <= 1 + below <= alike <= found.worst


@settings(deadline=None)
@given(scores=entries)
def test_nobody_is_surely_slower_than_an_entry_that_it_is_not_told_apart_from(
    scores: list[list[float]],
) -> None:
    drawn = [measured(runs) for runs in scores]
    found = rank_intervals(drawn, LEVEL, EPOCHS_LEVEL)
    for one, its in zip(drawn, found, strict=True):
        slower = sum(
            other.log_mean < one.log_mean and ratio(one, other, LEVEL, EPOCHS_LEVEL).is_different
            for other in drawn
        )
        assert its.best <= 1 + slower


@settings(deadline=None)
@given(scores=entries, unit=st.floats(0.01, 100.0))
def test_the_unit_changes_neither_ranks_nor_tiers(scores: list[list[float]], unit: float) -> None:
    drawn, scaled = (
        [measured([value * factor for value in runs]) for runs in scores] for factor in (1.0, unit)
    )
    assert [one.best for one in rank_intervals(drawn, LEVEL, EPOCHS_LEVEL)] == [
        one.best for one in rank_intervals(scaled, LEVEL, EPOCHS_LEVEL)
    ]
    assert len(set(tiers(drawn, LEVEL, EPOCHS_LEVEL))) == len(
        set(tiers(scaled, LEVEL, EPOCHS_LEVEL))
    )


@settings(deadline=None)
@given(scores=entries)
def test_a_further_entry_changes_no_pair_but_may_widen_ranks(scores: list[list[float]]) -> None:
    drawn = [measured(runs) for runs in scores]
    slow = measured([1e6, 1.1e6, 1.2e6])
    assert tiers([*drawn, slow], LEVEL, EPOCHS_LEVEL)[: len(drawn)] == tiers(
        drawn, LEVEL, EPOCHS_LEVEL
    )


def test_a_tier_begins_with_an_entry_that_is_told_apart_from_the_first_of_the_tier_before() -> None:
    """The second does not differ significantly from the first, nor the third from the second; but
    the third is from the first."""
    scores = [measured([value * 0.95, value, value * 1.05]) for value in (10.0, 11.0, 12.2)]
    assert tiers(scores, LEVEL, EPOCHS_LEVEL) == (1, 1, 2)


def test_equal_runs_of_all_entries_are_ranked() -> None:
    same = [Measured(math.log(value), 0.0, 3, 0.0025**2) for value in (1.0, 2.0, 2.0)]
    assert rank_intervals(same, LEVEL, EPOCHS_LEVEL) == (
        RankInterval(1, 1),
        RankInterval(2, 3),
        RankInterval(2, 3),
    )
