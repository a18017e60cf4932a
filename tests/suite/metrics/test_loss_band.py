"""Bands of losses: they hold a run of the reference, and are those of the runs that are
published."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.reference_losses import (
    ReferenceLosses,
    RunLosses,
    load_reference_losses,
    reference_losses_folder,
)
from suite.errors import FileError
from suite.files.paths import repository_root
from suite.metrics.loss_band import LEVEL, MIN_RUNS, loss_bands, why_other
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.resumed import _RECORD
from tools.reference_losses import reference_losses

LENET = load_reference_losses("lenet")
ROUNDS = ("v0.1", "v0.2")


def test_the_losses_are_those_of_the_published_reference_runs() -> None:
    published = reference_losses(
        repository_root() / "submissions" / name / "reference" for name in ROUNDS
    )
    assert published == {"lenet": LENET}
    assert [path.stem for path in reference_losses_folder().iterdir()] == ["lenet"]


def test_a_resumed_run_has_no_losses_of_its_first_epochs(tmp_path: Path) -> None:
    whole, resumed = (
        EditableBundle(make_bundle(tmp_path / name, Scenario(name=name))) for name in ("a", "b")
    )
    resumed.run["resumed"] = _RECORD
    resumed.save()
    (setting,) = reference_losses([tmp_path])["lenet"]
    assert [run.run_id for run in setting.runs] == [whole.run["run_id"]]


@pytest.mark.parametrize(
    "reference", LENET, ids=lambda reference: f"batch size {reference.batch_size}"
)
def test_every_reference_run_is_inside_the_bands_of_the_others(reference: ReferenceLosses) -> None:
    for run in reference.runs:
        others = replace(
            reference, runs=tuple(other for other in reference.runs if other is not run)
        )
        for band in loss_bands(others, len(run.losses)):
            assert band.low <= run.losses[band.epoch - 1] <= band.high


@pytest.mark.proof
def test_all_epochs_of_an_honest_run_are_inside_ninety_nine_times_in_a_hundred() -> None:
    """Losses of ten epochs, each with a scatter of its own, of nine runs; a tenth is drawn."""
    chance, trials, outside = random.Random(3), 2000, 0
    for _ in range(trials):
        drawn = [
            tuple(math.exp(chance.gauss(-epoch, 0.02 * epoch)) for epoch in range(1, 11))
            for _ in range(10)
        ]
        reference = ReferenceLosses(
            16,
            0.005,
            None,
            tuple(RunLosses(str(number), losses) for number, losses in enumerate(drawn[1:])),
        )
        outside += any(
            not band.low <= drawn[0][band.epoch - 1] <= band.high
            for band in loss_bands(reference, 10)
        )
    assert outside / trials == pytest.approx(LEVEL, abs=0.006)


def test_a_band_is_a_prediction_interval_at_its_share_of_the_level() -> None:
    """Logs of -1.5, -0.5, 0.5 and 1.5 scatter by sqrt(5 / 3); Student's t of 3 degrees of freedom
    is 5.8409 at 1 % and 7.4533 at half of it."""
    logs = (-1.5, -0.5, 0.5, 1.5)
    for epochs, quantile in ((1, 5.840909), (2, 7.453319)):
        runs = tuple(RunLosses(str(log), (math.exp(log),) * epochs) for log in logs)
        for band in loss_bands(replace(LENET[0], runs=runs), epochs):
            high = quantile * math.sqrt(5 / 3) * math.sqrt(1 + 1 / 4)
            assert (math.log(band.low), math.log(band.high)) == pytest.approx((-high, high))
            assert band.runs == 4


def test_an_epoch_that_few_runs_trained_has_no_band() -> None:
    reference = replace(
        LENET[0],
        runs=tuple(
            RunLosses(str(number), (1.0, 0.5)[: 1 + (number < MIN_RUNS - 1)]) for number in range(6)
        ),
    )
    assert [band.epoch for band in loss_bands(reference, 2)] == [1]


def test_a_setting_is_found_within_the_tolerance_of_the_rate() -> None:
    losses = dict(enumerate(LENET[0].runs[0].losses, 1))
    assert why_other(losses, "lenet", (16, 0.00501, 0), 0.01) is None
    assert "no losses of reference runs are known at batch size 16, learning rate 0.006" in str(
        why_other(losses, "lenet", (16, 0.006, 0), 0.01)
    )


def test_a_malformed_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "rules/reference_losses").mkdir(parents=True)
    (tmp_path / "rules/reference_losses/lenet.json").write_text('{"schema": 1, "settings": [{}]}')
    with pytest.raises(FileError, match=r"write it again with `python -m tools.reference_losses`"):
        load_reference_losses("lenet", tmp_path)
