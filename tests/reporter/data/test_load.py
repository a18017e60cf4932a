"""Frames: documented columns, unknown values with reasons, broken bundles listed, links not
followed."""

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reporter
from reporter.data import frames
from suite.bundle.layout import WITHDRAWN as WITHDRAWAL
from suite.errors import SuiteError
from suite.extensions.memory_study.record.study_file import STUDY as MEMORY_STUDY
from tests.builders import Scenario, make_bundle, run_id
from tests.reporter.conftest import SCENARIOS

# the package's attribute "load" is the function
loading = importlib.import_module("reporter.data.load")


def test_every_frame_has_the_documented_columns(runs: Path) -> None:
    loaded = reporter.load([runs])
    for name in ("runs", "figures", "epochs", "entries", "entry_figures", "broken"):
        assert list(getattr(loaded, name).columns) == list(getattr(frames, name.upper())), name
    assert list(loaded.runs["run_id"]) == sorted(
        run_id(scenario.name, scenario.framework) for scenario in SCENARIOS
    )


def test_values_are_those_of_the_bundles(runs: Path) -> None:
    figures = reporter.load([runs]).figures.set_index(["run_id", "figure"])
    epoch = figures.loc[(run_id("lenet-pytorch-1"), "time_to_epoch_s")]
    assert (
        epoch["value"] == pytest.approx(1875 * 0.0005, rel=0.06)
        and epoch["unit"] == "s"
        and epoch["count"] == 2
    )
    energy = figures.loc[(run_id("lenet-pytorch-1"), "energy_per_epoch_j")]
    assert (energy["covers"], energy["tier"]) == ("wall", "wall meter")
    power = figures.loc[(run_id("lenet-pytorch-1"), "mean_power_w")]
    assert power["value"] == pytest.approx(2.5, rel=0.01) and power["unit"] == "W"
    for name, of_epoch, unit in (
        ("time_per_1000_samples_s", epoch, "s"),
        ("energy_per_1000_samples_j", energy, "J"),
    ):
        thousand = figures.loc[(run_id("lenet-pytorch-1"), name)]
        assert (
            thousand["value"] == pytest.approx(of_epoch["value"] / 60) and thousand["unit"] == unit
        )
        assert thousand["spread"] == pytest.approx(of_epoch["spread"] / 60)
        assert "60000 samples" in thousand["method"]
    assert figures.loc[(run_id("lenet-pytorch-1"), "fetch_stall_per_1000_samples_s")]["value"] >= 0


@pytest.mark.parametrize(
    ("sensor", "columns"),
    [
        (
            {"instruments": ["x"], "rules": ["y"], "covers": "module", "tier": "estimate"},
            ("module", "estimate"),
        ),
        (None, (None, None)),
        ({}, (None, None)),
    ],
)
def test_coverage_and_tier_are_fields_of_the_sensor(
    sensor: object,
    columns: tuple[str | None, str | None],
    runs: Path,
    tmp_path: Path,
    edit: Callable[..., None],
) -> None:
    bundle = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run")
    energy = {
        "sensor": sensor,
        "is_significant": True,
        "method": "shelly: shelly (wall, wall meter)",
    }
    edit(bundle, "summary.json", lambda summary: summary["figures"]["energy_j"].update(energy))
    figures = reporter.load([tmp_path]).figures.set_index("figure")
    row = figures.loc["energy_j"]
    assert (row["covers"], row["tier"]) == columns and row["significant"] is True
    assert figures.loc["copy_s"]["significant"] is None


def test_an_unknown_value_is_none_with_a_reason(runs: Path) -> None:
    energy = (
        reporter.load([runs])
        .figures.set_index(["run_id", "figure"])
        .loc[(run_id("lenet-fake-digits", "fake"), "energy_j")]
    )
    assert energy["value"] != energy["value"] and energy["reason"] == "no power sensor was read"


def test_runs_that_differ_in_seed_only_are_one_entry(runs: Path) -> None:
    entries = reporter.load([runs]).entries
    assert sorted(zip(entries["framework"], entries["runs"], strict=True)) == [
        ("chainer", 3),
        ("fake", 1),
        ("pytorch", 3),
        ("tensorflow", 3),
    ]


def test_entry_ids_do_not_depend_on_the_path(runs: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(runs, tmp_path / "else where")
    assert list(reporter.load([runs]).entries["entry_id"]) == list(
        reporter.load(sorted(copy.iterdir(), reverse=True)).entries["entry_id"]
    )


def test_a_figure_that_one_run_lacks_is_unknown_for_the_entry(tmp_path: Path) -> None:
    """A mean over the successful runs would hide the failed one."""
    reached, missed = (0.97, 0.991), (0.97,) + (0.98,) * 9
    for seed, accuracies in enumerate((reached, reached, missed)):
        make_bundle(
            tmp_path / str(seed),
            Scenario(name=f"run-{seed}", seed=seed, division="open", accuracies=accuracies),
        )
    figures = reporter.load([tmp_path]).entry_figures.set_index("figure")
    assert figures.loc["time_to_target_s"]["value"] != figures.loc["time_to_target_s"]["value"]
    assert figures.loc["time_to_target_s"]["reason"] == "1 of 3 runs: the target was not reached"
    assert figures.loc["best_accuracy"]["runs"] == 3


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda bad, edit: (bad / "summary.json").unlink(), "summary.json is missing"),
        (lambda bad, edit: (bad / "run.json").write_text("{"), "run.json is not valid JSON"),
        (
            lambda bad, edit: edit(bad, "run.json", lambda run: run.update(status="running")),
            "status 'running'",
        ),
        (
            lambda bad, edit: edit(
                bad, "run.json", lambda run: run.update(run_id="../../etc/passwd")
            ),
            "cannot be a file name",
        ),
        (
            lambda bad, edit: edit(
                bad, "run.json", lambda run: run["request"].update(workload="chess")
            ),
            "chess",
        ),
        (
            lambda bad, edit: edit(
                bad, "summary.json", lambda summary: summary.update(figures=[1])
            ),
            "a file of the bundle is malformed",
        ),
        (
            lambda bad, edit: edit(
                bad, "summary.json", lambda summary: summary.update(epochs=[{"epoch": "x"}])
            ),
            "a file of the bundle is malformed",
        ),
        (
            lambda bad, edit: edit(
                bad, "summary.json", lambda summary: summary["figures"].update(copy_s={})
            ),
            "a file of the bundle is malformed",
        ),
        (
            lambda bad, edit: edit(
                bad,
                "summary.json",
                lambda summary: summary["figures"]["copy_s"].update(value=10**400),
            ),
            "a file of the bundle is malformed",
        ),
        (
            lambda bad, edit: edit(
                bad,
                "summary.json",
                lambda summary: summary["figures"]["copy_s"].update(source=None),
            ),
            "copy_s lacks a source or a",
        ),
        (
            lambda bad, edit: edit(
                bad, "summary.json", lambda summary: summary["figures"]["copy_s"].update(count=None)
            ),
            "copy_s lacks a source or a",
        ),
        (
            lambda bad, edit: edit(
                bad,
                "summary.json",
                lambda summary: summary["figures"]["energy_j"].update(sensor="x"),
            ),
            "a file of the bundle is malformed",
        ),
        (lambda bad, edit: None, "is already used by good"),
    ],
)
def test_a_broken_bundle_is_listed_and_others_are_loaded(
    spoil: Callable[..., object], reason: str, runs: Path, tmp_path: Path, edit: Callable[..., None]
) -> None:
    shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "given" / "good")
    bad = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "given" / "later")
    spoil(bad, edit)
    loaded = reporter.load([tmp_path / "given"])
    assert list(loaded.runs["place"]) == ["good"]
    assert list(loaded.broken["place"]) == ["later"]
    assert reason in loaded.broken["reason"][0]
    assert str(tmp_path) not in loaded.broken["reason"][0]


def test_a_run_and_its_copy_at_the_same_place_of_two_paths_are_told_apart(
    runs: Path, tmp_path: Path
) -> None:
    given = [tmp_path / "one", tmp_path / "two"]
    for folder in given:
        shutil.copytree(runs / "lenet-pytorch-1", folder / "runs" / "1")
    (broken,) = reporter.load(given).broken.to_dict("records")
    assert broken["place"] == "runs/1"
    assert broken["reason"].endswith("is already used by runs/1 in a path given earlier")


def test_links_are_not_followed(runs: Path, tmp_path: Path) -> None:
    good = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "given" / "good")
    (tmp_path / "given" / "linked").symlink_to(runs / "lenet-pytorch-2")
    half = shutil.copytree(runs / "lenet-pytorch-3", tmp_path / "given" / "half")
    (half / "summary.json").unlink()
    (half / "summary.json").symlink_to(runs / "lenet-pytorch-3" / "summary.json")
    loaded = reporter.load([tmp_path / "given"])
    assert list(loaded.runs["place"]) == [good.name]
    assert "summary.json is a link" in loaded.broken["reason"][0]


def test_a_withdrawn_run_is_kept_with_its_reason(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "vendor" / "run")
    (tmp_path / "vendor" / WITHDRAWAL).write_text("The board was cooled with ice.\n")
    run = reporter.load([tmp_path]).runs.iloc[0]
    assert (run["state"], run["withdrawn"]) == ("withdrawn", "The board was cooled with ice.")
    (tmp_path / "vendor" / WITHDRAWAL).write_text("\n")
    run = reporter.load([tmp_path]).runs.iloc[0]
    assert (run["state"], run["withdrawn"]) == ("accepted", None)


def test_a_run_is_loaded_from_its_own_folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs / "lenet-pytorch-1")
    assert list(reporter.load([Path()]).runs["state"]) == ["accepted"]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "accepted"),
        ({"complies": False}, "refused"),
        ({"complies": False, "study": "A sweep"}, "studied"),
        ({"is_studied": True}, "studied"),
        ({"is_studied": True, "is_generated": True}, "generated"),
        ({"is_generated": True, "withdrawn": "It was hot."}, "withdrawn"),
    ],
)
def test_a_run_has_the_first_state_that_is_true_of_it(
    changes: dict[str, Any], state: str, tmp_path: Path
) -> None:
    of = {
        **dict.fromkeys(("is_generated", "is_studied"), False),
        **{"complies": True, "study": None, "withdrawn": None},
        **changes,
    }
    rows: Any = SimpleNamespace(**of, run={"study": of["study"]})
    found = loading.Found(tmp_path / "run", tmp_path, "run")
    assert loading._state(found, rows, of["withdrawn"], rows) == state


def test_a_path_without_bundles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no run directory"):
        reporter.load([tmp_path])


def test_the_record_of_a_study_needs_no_bundle_beside_it(tmp_path: Path) -> None:
    (tmp_path / MEMORY_STUDY).write_text("{}")
    assert reporter.load([tmp_path]).runs.empty
