"""Targets follow from reference runs: the bound, what is rounded, and what is provisional."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from suite import api
from suite.bundle.data_record import DATA
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
from suite.metrics.targets import (
    accuracies_of,
    refuse_other_settings,
    target_from_runs,
    tolerance_factor,
)
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
    late = make_bundle(tmp_path / "late", Scenario(accuracies=(*MISSED[:8], 0.9901)))
    with pytest.raises(SuiteError, match="at least 8 of 10 epochs that no target ended; train it"):
        accuracies_of([late], lenet)
    digits = make_bundle(tmp_path / "digits", Scenario(data="digits", division="open"))
    with pytest.raises(SuiteError, match=r"in: data \(all of the published mnist\); leave"):
        accuracies_of([digits], lenet)


def remade(path: Path) -> EditableBundle:
    """A run that counts, to be edited."""
    return EditableBundle(make_bundle(path, Scenario(accuracies=MISSED)))


@pytest.mark.parametrize("of_request", [{"train_samples": 500}, {"eval_samples": 100}])
def test_a_run_on_a_part_of_the_data_is_refused(of_request: dict[str, int], tmp_path: Path) -> None:
    bundle = remade(tmp_path / "run")
    bundle.request["data"] |= of_request
    bundle.save()
    with pytest.raises(SuiteError, match="differs from the workload lenet in: data"):
        accuracies_of([bundle.path], load_workload("lenet"))


def test_the_digests_of_the_files_prove_the_data_and_no_word_does(tmp_path: Path) -> None:
    """Where only the archive was pinned, files with the right content were called unverified."""
    lenet, bundle = load_workload("lenet"), remade(tmp_path / "run")
    bundle.request["data"]["verified"] = False
    bundle.save()
    assert accuracies_of([bundle.path], lenet)
    bundle.request["data"]["verified"] = True
    record = json.loads((bundle.path / DATA).read_text())
    record["files"][0]["sha256"] = "0" * 64
    (bundle.path / DATA).write_text(json.dumps(record))
    bundle.save()
    with pytest.raises(SuiteError, match="differs from the workload lenet in: data"):
        accuracies_of([bundle.path], lenet)


@pytest.mark.parametrize(
    ("workload", "batch_size", "rate", "carries"),
    [
        ("lenet", 16, 0.005, True),
        ("lenet", 16, 0.01, False),
        ("lenet", 32, 0.01, True),
        ("lenet", 32, 0.2, False),
        ("lenet", 64, 0.01, False),
        ("vgg11", 64, 0.05, False),
    ],
)
def test_a_target_comes_from_the_own_setting_and_the_ends_of_the_tunable_range(
    workload: str, batch_size: int, rate: float, carries: bool
) -> None:
    found = [ReferenceAccuracies(batch_size, rate, 10, runs(0.99))]
    if carries:
        refuse_other_settings(found, load_workload(workload))
        return
    with pytest.raises(SuiteError, match=rf"run-0 trained {workload} at batch size {batch_size}"):
        refuse_other_settings(found, load_workload(workload))


@pytest.mark.parametrize(
    ("changes", "accuracy", "said"),
    [
        ({"epochs": 1}, 0.97, "differs from the workload lenet in: epochs; leave it out"),
        ({}, 97.0, "an accuracy that is not a fraction"),
        ({}, "high", "an accuracy that is not a fraction"),
    ],
    ids=["another schedule", "per cent", "text"],
)
def test_accuracies_that_allow_no_target_are_refused(
    changes: dict[str, object], accuracy: object, said: str, tmp_path: Path
) -> None:
    bundle = remade(tmp_path / "run")
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


def test_a_run_at_another_setting_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[object] = []
    monkeypatch.setattr("suite.catalog.accuracies.add_accuracies", lambda *new: stored.append(new))
    for batch_size in (32, 64):
        scenario = Scenario(accuracies=MISSED, batch_size=batch_size)
        make_bundle(tmp_path / str(batch_size), scenario)
    api.add_reference_accuracies("lenet", tmp_path / "32")
    with pytest.raises(SuiteError, match="trained lenet at batch size 64 and"):
        api.add_reference_accuracies("lenet", tmp_path / "64")
    assert len(stored) == 1


def test_runs_of_one_seed_differ_in_framework_or_precision_and_none_replaces_another(
    tmp_path: Path,
) -> None:
    (first,) = runs(0.97)
    others = (replace(first, precision="tf32"), replace(first, framework="tensorflow"))
    add_accuracies("lenet", [ReferenceAccuracies(16, 0.005, 3, (first, *others))], tmp_path)
    before = load_accuracies("lenet", tmp_path)
    assert set(before[0].runs) == {first, *others}
    again = replace(first, run_id="again", accuracies=(0.5, 0.96, 0.99))
    with pytest.raises(
        SuiteError,
        match=r"run-0 and again have the same setting, framework \(pytorch\), seed \(0\) and"
        r" precision \(float32\); leave the second one out",
    ):
        add_accuracies("lenet", [ReferenceAccuracies(16, 0.005, 3, (again,))], tmp_path)
    assert load_accuracies("lenet", tmp_path) == before


@pytest.mark.parametrize(
    ("workload", "best", "code"),
    [
        ("lenet", (0.992,) * 6, 0),
        ("lenet", (0.98,) * 6, 1),
        ("resnet18", (0.91,) * 6, 1),
        ("resnet18", (0.91,) * 2, 0),
    ],
    ids=["reached", "not reached", "a provisional one", "runs are missing"],
)
def test_the_command_says_last_that_the_workloads_target_is_too_high(
    workload: str, best: tuple[float, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = (ReferenceAccuracies(16, 0.005, 3, runs(*best)),)
    monkeypatch.setattr("suite.catalog.accuracies.load_accuracies", lambda name: stored)
    shown = CliRunner().invoke(app, ["reference-points", "target", workload])
    last = shown.stdout.splitlines()[-1]
    assert shown.exit_code == code
    assert (
        last == f"the target of {workload} is above what these runs allow: lower target_accuracy to"
        f" {best[0]:.3f} or less in rules/workloads/{workload}.toml"
    ) is bool(code)
    program = CliRunner().invoke(app, ["reference-points", "target", workload, "--json"])
    assert program.exit_code == code and json.loads(program.stdout)["rows"]


def test_the_command_shows_what_follows() -> None:
    shown = CliRunner().invoke(app, ["reference-points", "target", "vgg11", "--json"])
    (found,) = json.loads(shown.stdout)["rows"]
    assert found["until_epoch"] == 25 and not found["missing"]
    assert found["highest_target"] == load_workload("vgg11").target_accuracy
