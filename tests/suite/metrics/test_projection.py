"""Projected times to the target: exact where epochs do not scatter, and with an interval that holds
what is trained in the end."""

import math
import random
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from suite.bundle.reader import Bundle
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.metrics.costs import TrainingCost
from suite.metrics.expected_epochs import ExpectedEpochs
from suite.metrics.projection import EpochTimes, expected_at, project_run, project_times
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import set_everywhere
from tests.open_round import OPEN
from tests.reference_losses import learning_as_the_reference

SCORING = load_scoring()
REFERENCE = ExpectedEpochs(20.0, (18.0, 20.0, 22.0), (16,), math.log(1.1))


def test_epochs_that_take_the_same_time_are_projected_exactly() -> None:
    found = project_times(
        "a workload", EpochTimes((12.0, 10.0, 10.0, 10.0), 0.5), REFERENCE, SCORING
    )
    assert found.time_s.value == 12 + 19 * 10 + 20 * 0.5
    assert (found.trained, found.epochs, found.runs, found.is_steady) == (4, 20.0, 3, True)


def test_the_error_of_the_references_epochs_is_in_the_interval() -> None:
    """Three runs that scatter by a tenth tell their mean to 11 %."""
    found = project_times("a workload", EpochTimes((10.0,) * 4, 0.0), REFERENCE, SCORING)
    assert found.time_s.high == pytest.approx(
        200 * math.exp(1.96 * math.log(1.1) / math.sqrt(3)), rel=0.01
    )
    exact = project_times(
        "a workload", EpochTimes((10.0,) * 4, 0.0), replace(REFERENCE, log_sd=0.0), SCORING
    )
    assert exact.time_s.high == pytest.approx(200 * math.exp(1.96 * SCORING.noise_floor), rel=1e-4)


@pytest.mark.parametrize("trained", [3, 4, 8])
def test_the_interval_holds_another_training_nineteen_times_in_twenty(trained: int) -> None:
    chance, trials, held = random.Random(7), 2000, 0
    exact = replace(REFERENCE, log_sd=0.0)
    for _ in range(trials):
        seen_s, other_s = (
            [10 * chance.gauss(1, 0.04) for _ in range(count)] for count in (trained, 20)
        )
        found = project_times("a workload", EpochTimes(tuple(seen_s), 0.0), exact, SCORING).time_s
        whole_s = TrainingCost(other_s[0], statistics.fmean(other_s[1:]), 0.0).total(20)
        assert found.low is not None and found.high is not None
        held += found.low <= whole_s <= found.high
    assert 0.94 <= held / trials <= 0.98


def test_a_board_that_throttles_is_not_steady() -> None:
    assert not project_times(
        "a workload", EpochTimes((10.0, 10.0, 10.4, 11.0), 0.5), REFERENCE, SCORING
    ).is_steady


def test_a_finished_run_is_projected_to_the_epochs_of_its_rounds_reference_point(
    tmp_path: Path,
) -> None:
    found = project_run(Bundle(learning_as_the_reference(tmp_path / "run")), SCORING)
    assert found.workload == "lenet" and found.runs == 13
    assert found.time_s.low is not None and found.time_s.low < found.time_s.value


def test_a_run_of_a_closed_round_is_projected_to_the_point_of_its_own_round() -> None:
    run = repository_root() / "submissions/v0.1/reference/lenet/pytorch/run_1"
    assert project_run(Bundle(run), SCORING).runs == 13


def test_a_run_that_learns_otherwise_than_the_reference_is_not_projected(tmp_path: Path) -> None:
    """Losses of the first epoch are within 30 % of one another in the reference's runs at this
    batch size."""
    with pytest.raises(
        SuiteError,
        match=(
            r"may need a different number of epochs than the reference: "
            r"the mean loss of epoch 1 is \S+, outside"
            r" the band of 9 reference runs, \S+ to \S+\."
        ),
    ):
        project_run(Bundle(learning_as_the_reference(tmp_path / "run", factor=1.5)), SCORING)


def test_a_run_that_updates_after_several_mini_batches_is_not_projected(good_bundle: Path) -> None:
    edited = EditableBundle(good_bundle)
    edited.run["request"]["accumulation"] = 2
    edited.save()
    with pytest.raises(SuiteError, match=r"mini-batch; this run updated them after every 2"):
        expected_at(Bundle(good_bundle), SCORING)


def test_a_setting_without_a_reference_point_is_named_with_those_that_there_are(
    good_bundle: Path,
) -> None:
    edited = EditableBundle(good_bundle)
    set_everywhere("optimizer.base_learning_rate", 0.05)(edited)
    edited.save(recomputed=True)
    with pytest.raises(
        SuiteError,
        match=(
            r"No reference point of lenet is at batch size \d+ and learning rate 0\.05;"
            rf" round {OPEN} has: batch size 16, learning rate"
        ),
    ):
        project_run(Bundle(good_bundle), SCORING)
