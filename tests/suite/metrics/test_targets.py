"""Targets follow from reference runs: the bound, what is rounded, and what is provisional."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from suite.bundle.reader import Bundle
from suite.catalog.accuracies import (
    ReferenceAccuracies,
    RunAccuracies,
    add_accuracies,
    load_accuracies,
)
from suite.catalog.scoring import load_scoring
from suite.catalog.workloads import load_workload, load_workloads
from suite.cli.app import app
from suite.errors import SuiteError
from suite.metrics.targets import accuracies_of, target_from_runs, tolerance_factor
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle

PROCEDURE = load_scoring().targets
MISSED = (0.95, 0.96, 0.97, 0.975, 0.98, 0.982, 0.981, 0.983, 0.989, 0.988)


def runs(
    *best: float, frameworks: tuple[str, ...] = ("pytorch", "tensorflow")
) -> tuple[RunAccuracies, ...]:
    return tuple(
        RunAccuracies(
            f"run-{seed}",
            frameworks[seed % len(frameworks)],
            seed,
            "float32",
            "cpu",
            "0" * 64,
            (0.5, accuracy, 0.99999),
        )
        for seed, accuracy in enumerate(best)
    )


@pytest.mark.parametrize(("count", "factor"), [(6, 3.708), (10, 2.911), (20, 2.396)])
def test_the_factor_is_that_of_the_published_table(count: int, factor: float) -> None:
    """Natrella 1963, table A-7, one-sided, 95 % of the values with 95 % confidence."""
    assert tolerance_factor(count, PROCEDURE) == pytest.approx(factor, abs=1e-3)


def test_a_target_is_the_bound_of_the_accuracies_before_the_schedule_ends_rounded_down() -> None:
    found = target_from_runs(ReferenceAccuracies(16, 0.005, 3, runs(*[0.99, 0.994] * 3)))
    assert found.until_epoch == 2 and found.best == (0.99, 0.994) * 3 and not found.missing
    assert found.bound == pytest.approx(0.992 - 3.7077 * 0.00219089, abs=1e-6)
    assert found.highest_target == pytest.approx(0.98)


def test_runs_that_all_agree_keep_the_whole_of_a_round_number() -> None:
    found = target_from_runs(ReferenceAccuracies(16, 0.005, 3, runs(*[0.99] * 6)))
    assert found.highest_target == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("few", "missing"),
    [
        (runs(0.99), "5 more runs, runs of 2 frameworks (seen: 1)"),
        (runs(*[0.99] * 5), "1 more run"),
        (runs(*[0.99] * 6, frameworks=("pytorch",)), "runs of 2 frameworks (seen: 1)"),
    ],
    ids=["one run", "five runs", "one framework"],
)
def test_what_the_procedure_lacks_is_said(few: tuple[RunAccuracies, ...], missing: str) -> None:
    found = target_from_runs(ReferenceAccuracies(16, 0.005, 3, few))
    assert found.missing == missing
    assert (found.bound is None) is (len(few) < 2)


def test_every_target_that_is_not_provisional_follows_from_reference_runs() -> None:
    for workload in load_workloads():
        if workload.target_accuracy is None or workload.target_is_provisional:
            continue
        found = {
            each.batch_size: each for each in map(target_from_runs, load_accuracies(workload.name))
        }
        for batch_size in (workload.batch_size, *workload.tunable.batch_size):
            allowed = found[batch_size].highest_target
            assert allowed is not None and not found[batch_size].missing
            assert workload.target_accuracy <= allowed + 1e-9, (workload.name, batch_size)


def test_a_run_that_a_target_ended_and_one_of_another_recipe_are_refused(tmp_path: Path) -> None:
    lenet = load_workload("lenet")
    ended = make_bundle(tmp_path / "ended")
    with pytest.raises(SuiteError, match="not a sealed run of at least 8 of 10 epochs"):
        accuracies_of([ended], lenet)
    digits = make_bundle(tmp_path / "digits", Scenario(data="digits", division="open"))
    with pytest.raises(SuiteError, match="did not train lenet with this workload's data set"):
        accuracies_of([digits], lenet)


@pytest.mark.parametrize(
    ("changes", "accuracy", "said"),
    [
        ({"epochs": 1}, 0.97, "trains 1 epoch, too few"),
        ({}, 97.0, "an accuracy that is not a fraction"),
        ({}, "high", "an accuracy that is not a fraction"),
    ],
    ids=["a schedule of one epoch", "per cent", "text"],
)
def test_accuracies_that_allow_no_target_are_refused(
    changes: dict[str, object], accuracy: object, said: str, tmp_path: Path
) -> None:
    bundle = EditableBundle(make_bundle(tmp_path / "run", Scenario(accuracies=MISSED)))
    bundle.request.update(changes)
    bundle.event("eval_accuracy")["value"] = accuracy
    bundle.save()
    with pytest.raises(SuiteError, match=said):
        accuracies_of([bundle.path], load_workload("lenet"))


def test_a_run_is_kept_once_with_the_manifest_that_proves_it(tmp_path: Path) -> None:
    lenet = load_workload("lenet")
    whole = make_bundle(tmp_path / "whole", Scenario(accuracies=MISSED))
    other = make_bundle(tmp_path / "other", replace(Scenario(accuracies=MISSED), seed=2))
    add_accuracies("lenet", accuracies_of([whole], lenet), tmp_path)
    add_accuracies("lenet", accuracies_of([whole, other], lenet), tmp_path)
    (setting,) = load_accuracies("lenet", tmp_path)
    assert [run.seed for run in setting.runs] == [1, 2]
    assert {run.accuracies for run in setting.runs} == {MISSED}
    assert setting.runs[0].run_id == Bundle(whole).run().run_id


def test_the_command_shows_what_follows() -> None:
    shown = CliRunner().invoke(app, ["reference-points", "target", "vgg11", "--json"])
    (found,) = json.loads(shown.stdout)["rows"]
    assert found["until_epoch"] == 25 and not found["missing"]
    assert found["highest_target"] == load_workload("vgg11").target_accuracy
