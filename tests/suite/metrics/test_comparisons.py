"""A pair's verdict depends on its two entries alone, not on the unit, and follows their runs."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suite.metrics.comparisons import (
    RunStatistics,
    indistinguishable_counts,
    run_statistics,
    score_interval,
    score_ratio,
)

LEVEL, EPOCHS_LEVEL = 0.05, 0.025
runs = st.lists(st.floats(0.1, 1000.0), min_size=3, max_size=6)


def ratio_of(one: list[float], other: list[float]) -> tuple[float, float, float]:
    found = score_ratio(run_statistics(one), run_statistics(other), LEVEL, EPOCHS_LEVEL)
    return found.ratio, found.low, found.high


@settings(deadline=None)
@given(one=runs, other=runs)
def test_entries_with_equally_many_runs_are_compared_by_students_test(
    one: list[float], other: list[float]
) -> None:
    count = min(len(one), len(other))
    logs = [[math.log(value) for value in each[:count]] for each in (one, other)]
    expected = stats.ttest_ind(*logs).confidence_interval(1 - LEVEL)
    found = ratio_of(one[:count], other[:count])
    assert found[1:] == pytest.approx((math.exp(expected.low), math.exp(expected.high)), rel=1e-6)


@settings(deadline=None)
@given(one=runs, other=runs, unit=st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(one: list[float], other: list[float], unit: float) -> None:
    scaled = ratio_of([value * unit for value in one], [value * unit for value in other])
    assert scaled == pytest.approx(ratio_of(one, other), rel=1e-6)


@settings(deadline=None)
@given(one=runs, other=runs, factor=st.floats(1.01, 100.0))
def test_a_slower_entry_has_a_larger_ratio_with_larger_ends(
    one: list[float], other: list[float], factor: float
) -> None:
    before, after = ratio_of(one, other), ratio_of([value * factor for value in one], other)
    assert all(late > early for early, late in zip(before, after, strict=True))


@settings(deadline=None)
@given(one=runs, other=runs)
def test_exchanged_entries_have_the_inverse_ratio(one: list[float], other: list[float]) -> None:
    value, low, high = ratio_of(one, other)
    assert ratio_of(other, one) == pytest.approx((1 / value, 1 / high, 1 / low), rel=1e-6)


def test_more_runs_of_the_other_entry_do_not_hide_a_scatter() -> None:
    """Ten quiet runs against three noisy ones: a pooled variance would be the quiet one's."""
    noisy, quiet = [10.0, 13.0, 16.0], [9.0 + 0.01 * number for number in range(10)]
    assert not score_ratio(
        run_statistics(noisy), run_statistics(quiet), LEVEL, EPOCHS_LEVEL
    ).is_different


def test_runs_without_scatter_are_told_apart_only_beyond_the_noise_floor() -> None:
    same, near, far = (run_statistics([value] * 3, 0.0025**2) for value in (100.0, 100.5, 103.0))
    assert not score_ratio(same, near, LEVEL, EPOCHS_LEVEL).is_different
    assert score_ratio(same, far, LEVEL, EPOCHS_LEVEL).is_different


def test_own_epochs_widen_the_interval_towards_the_slower_side_only() -> None:
    excess = math.log(1.5)
    own = RunStatistics(math.log(15.0), 1e-4, 3, 0.0, 0.04, 12, excess)
    at_reference, other = (
        RunStatistics(math.log(10.0), 1e-4, 3),
        RunStatistics(math.log(8.0), 1e-4, 3),
    )
    plain, found = (
        score_ratio(at_reference, other, LEVEL, EPOCHS_LEVEL),
        score_ratio(own, other, LEVEL, EPOCHS_LEVEL),
    )
    assert (
        found.ratio == pytest.approx(15 / 8)
        and found.low == pytest.approx(plain.low)
        and found.high > 2 * found.ratio
    )
    assert found.is_different, "it is slower even at the reference's epochs"
    assert not score_ratio(
        own, RunStatistics(math.log(11.0), 1e-4, 3), LEVEL, EPOCHS_LEVEL
    ).is_different
    alone = score_interval(own, LEVEL)
    assert alone.low == pytest.approx(score_interval(at_reference, LEVEL).low)


def test_own_epochs_count_where_all_runs_of_the_reference_need_as_many() -> None:
    """Ten epochs instead of seven, without scatter: the epochs are shorter than the other entry's,
    and the whole training is longer."""
    own = RunStatistics(math.log(11.4), 1e-4, 3, 4e-4, 0.0, 5, math.log(10 / 7))
    other = RunStatistics(math.log(10.0), 1e-4, 3, 4e-4)
    found, alone = score_ratio(own, other, LEVEL, EPOCHS_LEVEL), score_interval(own, LEVEL)
    assert found.low < found.ratio < found.high and not found.is_different
    inverse = score_ratio(other, own, LEVEL, EPOCHS_LEVEL)
    assert (inverse.low, inverse.high) == pytest.approx((1 / found.high, 1 / found.low))
    assert alone.low is not None and alone.high is not None
    assert alone.low * alone.high == pytest.approx(alone.value**2), "nothing of the reference's"
    same = RunStatistics(math.log(11.4), 0.0, 3, 4e-4, 0.0, 5, math.log(10 / 7))
    assert score_interval(same, LEVEL).low is not None


def test_both_of_two_entries_at_their_own_epochs_have_wide_intervals() -> None:
    excess = math.log(1.5)
    own = RunStatistics(math.log(15.0), 1e-4, 3, 0.0, 0.04, 12, excess)
    plain = RunStatistics(math.log(8.0), 1e-4, 3)
    found = score_ratio(plain, own, LEVEL, EPOCHS_LEVEL)
    assert found.high == pytest.approx(
        score_ratio(plain, RunStatistics(math.log(10.0), 1e-4, 3), LEVEL, EPOCHS_LEVEL).high
    )
    assert found.low < found.ratio / 2
    both = score_ratio(own, own, LEVEL, EPOCHS_LEVEL)
    assert both.low == pytest.approx(1 / both.high) and both.high > found.ratio / found.low


def test_a_known_error_adds_degrees_of_freedom_up_to_60() -> None:
    """By hand: s^2 / n of 1e-4 with 2 degrees of freedom and 2e-4 that is known: (3e-4)^2 / (1e-8 /
    2) = 18; with 1e-2 that is known there are more than 60."""
    for fixed, freedom in ((2e-4, 18), (1e-2, 60)):
        found = score_interval(RunStatistics(0.0, 3e-4, 3, fixed), LEVEL)
        margin = stats.t.ppf(1 - LEVEL / 2, freedom) * math.sqrt(1e-4 + fixed)
        assert (found.low, found.high) == pytest.approx((math.exp(-margin), math.exp(margin)))


def test_runs_of_one_session_count_as_their_mean() -> None:
    found = run_statistics([1.0, 4.0, 8.0, 32.0], 0.0, ["a", "a", "b", "c"])
    logs = [math.log(value) for value in (2.0, 8.0, 32.0)]
    assert (found.runs, found.value) == (3, pytest.approx(8.0))
    assert found.log_variance == pytest.approx(math.log(4) ** 2)
    assert found.log_mean == pytest.approx(sum(logs) / 3)


def test_one_run_and_an_unknown_instrument_have_no_interval() -> None:
    assert score_interval(run_statistics([3.0]), LEVEL).low is None
    assert score_interval(run_statistics([3.0, 3.1, 3.2], math.inf), LEVEL).high is None


def test_a_further_entry_changes_no_verdict() -> None:
    """Of four entries each is one step of 4 % from the next; a fifth one is far away. Not to be
    distinguishable is not transitive: the first and the last differ."""
    near = [
        run_statistics([value * step for value in (99.0, 100.0, 101.0)]) for step in (1, 1.04, 1.08)
    ]
    found = indistinguishable_counts(near, LEVEL, EPOCHS_LEVEL)
    assert indistinguishable_counts(
        [*near, run_statistics([500.0, 505.0, 510.0])], LEVEL, EPOCHS_LEVEL
    ) == (*found, 0)
    assert indistinguishable_counts(near, 0.001, EPOCHS_LEVEL) == (1, 2, 1)
    assert indistinguishable_counts([], LEVEL, EPOCHS_LEVEL) == ()
