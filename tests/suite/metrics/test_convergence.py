"""The convergence test: p values, level, power, and the smallest detectable speed-up."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from suite.metrics.convergence import (
    INTERVAL_LEVEL,
    LEVEL,
    WANTED_POWER,
    EpochsComparison,
    compare_epochs,
    detectable_speedup,
    expected_interval,
    power_of_comparison,
)

epochs = st.lists(st.integers(1, 20), min_size=3, max_size=8)
REFERENCE = [4, 4, 5, 5, 6, 6, 6, 7, 7]


def test_equal_epochs_do_not_differ() -> None:
    found = compare_epochs([5] * 9, [5] * 3)
    assert found.p_faster == found.p_different == 1.0


def test_without_spread_p_is_one_over_the_number_of_partitions() -> None:
    assert compare_epochs([5] * 9, [4] * 3).p_faster == pytest.approx(1 / math.comb(12, 3))
    assert compare_epochs([5] * 9, [6] * 3).p_faster == 1.0
    assert compare_epochs([5] * 9, [6] * 3).p_different == pytest.approx(2 / math.comb(12, 3))


def test_p_counts_fishers_partitions() -> None:
    """By hand: {1, 2} against {3, 4}: one of six partitions has a sum this small."""
    assert compare_epochs([3, 4], [1, 2]).p_faster == pytest.approx(1 / 6)
    assert compare_epochs([3, 4], [1, 2]).p_different == pytest.approx(2 / 6)


@settings(max_examples=25, deadline=None)
@given(epochs, epochs)
def test_p_is_at_most_one_and_at_least_the_smallest_possible(
    reference: list[int], runs: list[int]
) -> None:
    found = compare_epochs(reference, runs)
    assert found.smallest_p <= found.p_faster + 1e-12
    assert 0 < found.p_faster <= 1
    assert 0 < found.p_different <= 1
    assert compare_epochs(
        [value + 3 for value in reference], [value + 3 for value in runs]
    ).p_faster == pytest.approx(found.p_faster)


def test_the_false_positive_rate_is_at_most_the_level() -> None:
    """400 entries of three runs drawn from the reference: at most 1 %, plus sampling error."""
    stream = np.random.default_rng(7)
    refused = sum(
        compare_epochs(stream.choice(REFERENCE, 9), list(stream.choice(REFERENCE, 3))).p_faster
        <= LEVEL
        for _ in range(400)
    )
    assert refused <= 400 * LEVEL + 3 * math.sqrt(400 * LEVEL)


def test_power_grows_with_the_effect_and_with_the_runs() -> None:
    mild, strong = (power_of_comparison(REFERENCE, 3, factor) for factor in (0.8, 0.4))
    assert mild < strong
    assert power_of_comparison(REFERENCE, 6, 0.7) > power_of_comparison(REFERENCE, 3, 0.7)
    assert power_of_comparison(REFERENCE, 3, 1.0) <= 0.05


def test_too_few_runs_detect_nothing() -> None:
    assert detectable_speedup([5, 6], 1) is None
    assert compare_epochs([5, 6], [1]).smallest_p > LEVEL
    found = detectable_speedup(REFERENCE, 3)
    assert found is not None, "the mildest factor in steps of 0.05 is found"
    assert power_of_comparison(REFERENCE, 3, found) >= WANTED_POWER
    assert power_of_comparison(REFERENCE, 3, found + 0.05) < WANTED_POWER


def test_coarse_evaluations_lose_power() -> None:
    assert power_of_comparison(
        [10, 11, 12, 13, 14, 15, 16, 17, 20], 3, 0.6, interval=10
    ) < power_of_comparison([10, 11, 12, 13, 14, 15, 16, 17, 20], 3, 0.6, interval=1)


def test_missed_targets_are_later_than_all_others() -> None:
    """Of the 70 partitions of eight runs only the observed one has the rank sum 1 + 2 + 3 + 4."""
    assert compare_epochs((5, 6, 7, math.inf), (1, 2, 3, 4)).p_faster == pytest.approx(1 / 70)
    assert compare_epochs((1, 2, 3, 4), (5, 6, 7, math.inf)).p_faster == 1.0


def test_equal_epochs_share_their_ranks_beside_a_missed_target() -> None:
    """By hand: the ranks are 1, 3, 3, 3 and 5; of the ten pairs four have the runs' sum of 6, and
    three less."""
    assert compare_epochs((5, 5, 5), (1, math.inf)) == EpochsComparison(0.7, 0.7, 1.0, 0.1)
    assert compare_epochs((5, 5, math.inf), (5, math.inf)).p_slower == pytest.approx(7 / 10)


def test_of_more_partitions_than_20000_the_observed_one_and_9999_drawn_ones_count() -> None:
    found = compare_epochs(range(11, 21), range(1, 9))
    assert found.smallest_p == 1 / 10_000
    assert found.smallest_p <= found.p_faster <= 4 / 10_000 and found.p_slower == 1.0


def test_a_missed_target_makes_no_entry_faster() -> None:
    assert compare_epochs((4, 4, 5, 8, 8, 4, 6, 7, 4), (1, 1, math.inf)).p_faster > LEVEL
    assert compare_epochs((4, 4, 5, 8, 8, 4, 6, 7, 4), (1, 1, 1)).p_faster <= LEVEL


def test_entries_that_all_missed_are_alike() -> None:
    assert compare_epochs((math.inf, math.inf), (math.inf, math.inf)) == EpochsComparison(
        1.0, 1.0, 1.0, pytest.approx(1 / 6)
    )


def test_where_all_reached_the_target_the_interval_is_the_bootstrap_of_the_mean() -> None:
    """SciPy's, with other random numbers."""
    theirs = bootstrap(
        (REFERENCE,),
        np.mean,
        confidence_level=1 - INTERVAL_LEVEL,
        method="percentile",
        random_state=2,
    ).confidence_interval
    assert expected_interval(REFERENCE, [True] * len(REFERENCE)) == pytest.approx(
        (theirs.low, theirs.high), abs=0.06
    )


def test_runs_that_missed_the_target_widen_the_interval_upwards() -> None:
    low, high = expected_interval(REFERENCE, [True] * 6 + [False] * 3)
    assert low > expected_interval(REFERENCE, [True] * 9)[0]
    assert 54 / 6 < high < math.inf


def test_the_upper_end_is_infinite_where_few_runs_reached_the_target() -> None:
    assert expected_interval([10] * 4, [True, False, False, False]) == (10 * 4 / 3, math.inf)
