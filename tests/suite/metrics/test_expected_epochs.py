"""The epochs at which entries are scored: a reference point's, interpolated ones, or the entry's
own."""

import math
import statistics
from dataclasses import replace

import pytest

from suite.catalog.reference_points import ReferencePoint, ReferenceRun
from suite.metrics.costs import TrainingCost, measured_score
from suite.metrics.expected_epochs import (
    ExpectedEpochs,
    RunEpochs,
    ScoredEpochs,
    expected_epochs,
    scored_epochs,
)

LEVEL = 0.025


def point(
    batch_size: int, rate: float, epochs: list[int], missed: int = 0, local: int | None = None
) -> ReferencePoint:
    runs = [
        ReferenceRun(f"{batch_size}-{index}", "pytorch", index, count, True, "0")
        for index, count in enumerate(epochs)
    ]
    runs += [
        ReferenceRun(f"{batch_size}-missed-{index}", "pytorch", 100 + index, 10, False, "0")
        for index in range(missed)
    ]
    return ReferencePoint("lenet", batch_size, rate, 1, tuple(runs), local)


POINTS = (point(16, 0.005, [4, 5, 6]), point(128, 0.04, [6, 7, 8]))


def expected(
    batch_size: int,
    rate: float,
    local: int | None = None,
    points: tuple[ReferencePoint, ...] = POINTS,
) -> ExpectedEpochs | None:
    return expected_epochs(points, batch_size, rate, local, 0.01)


def test_a_point_of_the_setting_gives_its_expected_epochs() -> None:
    found = expected(128, 0.04)
    assert found is not None and (found.epochs, found.runs, found.between) == (7, (6, 7, 8), (128,))


def test_missed_targets_of_the_reference_are_kept() -> None:
    found = expected(128, 0.04, points=(point(128, 0.04, [6, 7, 8], missed=1),))
    assert found is not None and found.epochs == (6 + 7 + 8 + 10) / 3 and found.runs[-1] == math.inf
    assert found.log_sd == pytest.approx(statistics.stdev(math.log(one) for one in (6, 7, 8, 10)))


def test_a_rate_as_far_as_the_tolerance_has_the_point_and_one_without_epochs_has_none() -> None:
    points = (point(16, 0.5, [4, 5, 6]), point(64, 2.0, [], missed=3))
    found = [expected_epochs(points, 16, rate, None, 0.25) for rate in (0.625, 0.375, 0.63, 0.37)]
    assert [each is not None for each in found] == [True, True, False, False]
    assert expected_epochs(points, 32, 1.0, None, 0.25) is None, "one of two never reached it"


def test_between_two_batch_sizes_epochs_are_linear_and_the_rate_is_geometric() -> None:
    found = expected(64, 0.02)
    share = (64 - 16) / (128 - 16)
    assert (
        found is not None
        and found.epochs == pytest.approx(5 + share * (7 - 5))
        and found.between == (16, 128)
    )
    assert sorted(found.runs)[0] == pytest.approx(4 / 5 * found.epochs)
    assert expected(64, 0.021) is None
    scaled = [
        run * found.epochs / of for of, runs in ((5, (4, 5, 6)), (7, (6, 7, 8))) for run in runs
    ]
    assert found.runs == pytest.approx(scaled)
    assert found.log_sd == pytest.approx(statistics.stdev(map(math.log, scaled)))


def test_of_several_pairs_around_a_batch_size_the_nearest_two_count() -> None:
    points = (point(512, 0.16, [40]), POINTS[1], point(4, 0.00125, [1]), POINTS[0])
    found = expected(32, 0.01, points=points)
    assert found is not None and found.between == (16, 128)
    assert found.epochs == pytest.approx(5 + 2 * (32 - 16) / (128 - 16))


@pytest.mark.parametrize(
    ("batch_size", "rate", "local"),
    [(128, 0.05, None), (256, 0.08, None), (8, 0.0025, None), (128, 0.04, 64)],
)
def test_other_settings_have_no_reference(batch_size: int, rate: float, local: int | None) -> None:
    assert expected(batch_size, rate, local) is None


def test_batch_normalisation_asks_for_the_same_mini_batch_of_a_rank() -> None:
    points = (point(128, 0.04, [6, 7, 8], local=64), point(256, 0.08, [8, 9, 10], local=128))
    assert expected(128, 0.04, 64, points) is not None and expected(128, 0.04, 128, points) is None
    assert expected(192, 0.06, 96, points) is not None, "two ranks, as at both points"
    assert expected(192, 0.06, 48, points) is None


def test_a_reference_of_which_no_run_reached_the_target_expects_nothing() -> None:
    assert expected(128, 0.04, points=(point(128, 0.04, [], missed=3),)) is None


def runs(*epochs: int, missed: int = 0) -> list[RunEpochs]:
    return [*(RunEpochs(count, True) for count in epochs), *[RunEpochs(10, False)] * missed]


REFERENCE = ExpectedEpochs(5.0, (4, 4, 5, 5, 5, 5, 6, 6), (128,), 0.15)


def test_fewer_epochs_and_not_significantly_more_are_scored_at_the_references() -> None:
    for own in (runs(3, 3, 3), runs(5, 6, 6)):
        found = scored_epochs(REFERENCE, own, LEVEL)
        assert (found.epochs, found.is_own, found.log_variance) == (5.0, False, 0.0)
    quick = replace(REFERENCE, runs=(4,) * 8)
    found = scored_epochs(quick, runs(5, 5, 5), LEVEL)
    assert found.p_more < LEVEL and found.own == found.epochs == 5.0 and found.log_variance == 0.0
    assert scored_epochs(REFERENCE, [], LEVEL) == ScoredEpochs(5.0, 5.0, None, 1.0)


def test_a_p_value_of_the_level_itself_is_significant() -> None:
    level = 1 / math.comb(11, 3)
    assert scored_epochs(REFERENCE, runs(8, 9, 9), level).is_own
    assert not scored_epochs(REFERENCE, runs(8, 9, 9), 0.999 * level).is_own


def test_significantly_more_epochs_are_scored_as_they_are() -> None:
    found = scored_epochs(REFERENCE, runs(8, 9, 9), LEVEL)
    assert (
        found.is_own
        and found.epochs == pytest.approx(26 / 3)
        and found.p_more == pytest.approx(1 / math.comb(11, 3))
    )
    assert found.log_variance == pytest.approx(0.15**2 * (1 / 3 + 1 / 8))


def test_missed_targets_are_more_epochs_than_any() -> None:
    found = scored_epochs(REFERENCE, runs(9, 9, 9, 9, missed=1), LEVEL)
    assert found.is_own and found.epochs == (4 * 9 + 10) / 4


def test_at_its_own_epochs_a_run_costs_what_it_took() -> None:
    cost = TrainingCost(first_epoch=6.0, later_epoch=5.0, evaluation=0.5)
    assert cost.total(4) == 6 + 3 * 5 + 4 * 0.5


def test_own_epochs_make_a_score_longer_by_their_excess() -> None:
    costs = [TrainingCost(5.0 * scale, 5.0 * scale, 0.0) for scale in (0.98, 1.0, 1.02)]
    score = measured_score(costs, scored_epochs(REFERENCE, runs(8, 9, 9), LEVEL), 0.0)
    assert score.epochs_excess == pytest.approx(math.log(26 / 3 / 5)) and score.epochs_freedom == 7
    assert (
        measured_score(costs, scored_epochs(REFERENCE, runs(5, 5, 5), LEVEL), 0.0).epochs_variance
        == 0
    )
