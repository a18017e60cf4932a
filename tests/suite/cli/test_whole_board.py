"""`suite run` without --workload: what is planned, left out and told before the first run."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from reference_impls.contract import request_from_dict, request_to_dict
from suite.api import Division, RunRequest
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.reader import Bundle
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.cli import run, whole_board
from suite.cli.app import app
from suite.cli.options import TrainingOptions
from suite.cli.quick import first_look
from suite.cli.run import _analyse_stalls
from suite.cli.run_settings import RunSettings
from suite.cli.whole_board import (
    make_runs,
    planned_runs,
    possible_requests,
    say_what_next,
    tell_hours,
)
from suite.errors import SuiteError
from suite.experiments import night as nights
from suite.experiments.quick import QuickLook, Run
from suite.metrics.stall_analysis import StallAnalysis
from suite.submission.launches import declare_entries
from tests.builders import Scenario, make_bundle, make_request
from tests.faults.edits.editable_bundle import EditableBundle

CLOSED = RunSettings(division=Division.CLOSED, org="acme", short=5)
UNPREPARED = "vgg11"
TOO_LARGE = "resnet50"
NANO = "nano"
PROVISIONAL = "its target is provisional, so entries are not ranked"


@pytest.fixture(autouse=True)
def _mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is in the power mode of the made-up bundles, which have none."""
    monkeypatch.setattr(nights, "read_power_settings", lambda: SimpleNamespace(label=None))


def resolve(training: TrainingOptions, settings: RunSettings) -> list[Any]:
    if settings.workload == UNPREPARED:
        raise SuiteError("The data set 'cifar10' is not prepared.")
    steps = training.steps if settings.short is None else settings.short * 100
    trained = SimpleNamespace(
        epochs=30,
        steps=steps,
        target_accuracy=None if training.no_target else 0.99,
        global_batch_size=10,
        recomputation=None,
        data=SimpleNamespace(train_samples=1000),
    )
    needs = SimpleNamespace(memory_size_bytes=2**60 if settings.workload == TOO_LARGE else 0)
    name = SimpleNamespace(name=settings.workload, batch_size=10, needs=needs)
    return [SimpleNamespace(workload=name, directory=settings.output, training=trained)]


def of_lenet(request: Mapping[str, Any], output: Path | None) -> RunRequest:
    """A run of LeNet-5 with this request."""
    defined = load_workload("lenet"), load_device("generic"), "", load_framework("pytorch")
    training = request_from_dict({**request, "output_directory": str(output)})
    return RunRequest("run", *defined, training)


def test_a_board_plans_what_can_rank_and_says_what_cannot(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit the board, as ResNet-50 does not, is not named."""
    monkeypatch.setattr(run, "resolve_device", lambda _: SimpleNamespace(device=load_device(NANO)))
    planned = run._board_runs(TrainingOptions(), replace(CLOSED, short=None))
    assert [each.settings.workload for each in planned[:4]] == [*load_device(NANO).closed_workloads]
    assert "vgg11" in load_device(NANO).closed_workloads
    said = capsys.readouterr().err
    assert f"left out: resnet18: {PROVISIONAL}; --workload resnet18 trains it\n" in said
    assert "resnet50" not in said and "vgg11" not in said


@pytest.mark.parametrize(
    ("workload", "division", "said"),
    [
        ("resnet18", Division.CLOSED, f"warning: resnet18: {PROVISIONAL}\n"),
        ("resnet18", Division.OPEN, ""),
        ("vgg11", Division.CLOSED, ""),
    ],
)
def test_a_closed_run_that_cannot_rank_is_told_before_the_training(
    workload: str,
    division: Division,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "broken_rules", lambda *_: ())
    request: Any = SimpleNamespace(workload=load_workload(workload))
    run._refuse_invalid([request], replace(CLOSED, division=division), json=False)
    assert capsys.readouterr().err == said


def test_the_list_of_workloads_says_which_have_no_ranks() -> None:
    listed = CliRunner().invoke(app, ["list", "workloads"]).output.splitlines()
    provisional = [line.split()[0] for line in listed if line.endswith(PROVISIONAL)]
    assert provisional == ["resnet18", "resnet50"]


def test_each_workload_is_trained_once_before_one_has_its_second_run() -> None:
    runs = planned_runs(TrainingOptions(), CLOSED, ("lenet", "resnet18"), Path("out"))
    assert [str(run.path) for run in runs[:3]] == [
        "out/lenet/seed-1",
        "out/resnet18/seed-1",
        "out/lenet/seed-2",
    ]
    assert len(runs) == 6 and [run.training.seed for run in runs] == [1, 1, 2, 2, 3, 3]
    (typed,) = planned_runs(TrainingOptions(seed=7), CLOSED, ("lenet",), Path("out"))
    assert typed.path == Path("out/lenet/seed-7")
    drawn = RunSettings(division=Division.CLOSED, nonce="drawn")
    numbered = planned_runs(TrainingOptions(), drawn, ("lenet",), Path("out"))
    assert [run.settings.run_number for run in numbered] == [0, 1, 2]


def test_a_workload_that_cannot_be_trained_is_named_once_and_the_others_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned_runs(TrainingOptions(), CLOSED, (UNPREPARED, "lenet"), tmp_path)
    assert list(possible_requests(runs, resolve)) == [
        tmp_path / f"lenet/seed-{seed}" for seed in (1, 2, 3)
    ]
    said = capsys.readouterr().err
    assert said == "left out: vgg11: The data set 'cifar10' is not prepared.\n"
    runs = planned_runs(TrainingOptions(), CLOSED, (TOO_LARGE, "lenet"), tmp_path)
    assert len(possible_requests(runs, resolve)) == 3, "what memory cannot hold is in no plan"
    assert capsys.readouterr().err.count("needs 1099511627776 MiB of memory") == 1
    assert len(possible_requests(runs, resolve, to_show=True)) == 6
    with pytest.raises(SuiteError, match="None of the board's workloads can be trained"):
        possible_requests(planned_runs(TrainingOptions(), CLOSED, (UNPREPARED,), tmp_path), resolve)


def test_the_hours_are_told_from_a_first_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    reached_s: float | None = None

    def look(request: Any, *_: object) -> QuickLook:
        looked.append(request.directory)
        name = request.workload.name
        return QuickLook(name, request.directory, 4, 1200.0, reached_s, None, "none", 30)

    monkeypatch.setattr(whole_board, "first_look", look)
    whole = replace(CLOSED, short=None)

    def told(training: TrainingOptions, settings: RunSettings) -> str:
        runs = planned_runs(training, settings, ("lenet",), tmp_path)
        left = possible_requests(runs, resolve)
        del left[runs[0].path]
        tell_hours(runs, left, resolve)
        return capsys.readouterr().err

    said = told(TrainingOptions(), whole)
    assert looked == [tmp_path / "lenet/looks"]
    assert "lenet: seed-2, seed-3; a run takes 10 h" in said and "In all about 20 h" in said
    reached_s = 7200.0
    assert "a run takes 2 h\n" in told(TrainingOptions(), whole)
    assert "a run takes 1 h 40 min\n" in told(TrainingOptions(), CLOSED)  # 5 epochs
    assert "a run takes 10 min\n" in told(TrainingOptions(steps=50), whole)
    assert "a run takes 10 h\n" in told(TrainingOptions(no_target=True), whole)
    beyond = TrainingOptions(no_target=True, steps=5000)  # 50 epochs of 30
    assert "a run takes 10 h\n" in told(beyond, whole)


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        ({"resnet18"}, "In all about 30 min, without resnet18. To continue later"),
        ({"lenet", "resnet18"}, "did not show how long\nTo continue later"),
    ],
)
def test_a_time_that_no_look_shows_is_no_part_of_the_sum(
    unknown: set[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(request: Any, *_: object) -> QuickLook:
        name = request.workload.name
        epoch_s = None if name in unknown else 60.0
        return QuickLook(name, request.directory, 4, epoch_s, None, None, "none", 30)

    monkeypatch.setattr(whole_board, "first_look", look)
    settings = replace(CLOSED, short=None)
    runs = planned_runs(TrainingOptions(seed=1), settings, ("lenet", "resnet18"), tmp_path)
    tell_hours(runs, possible_requests(runs, resolve), resolve)
    assert said in capsys.readouterr().err


def test_a_look_only_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It idles for no baseload, makes no pulses, and asks no witness for a run that is removed."""
    asked = list[RunSettings]()

    def recorded(training: TrainingOptions, settings: RunSettings) -> list[Any]:
        asked.append(settings)
        return resolve(training, settings)

    look = QuickLook("lenet", tmp_path, 4, 60.0, None, None, "none", 30)
    monkeypatch.setattr(whole_board, "first_look", lambda *_: look)
    typed = replace(CLOSED, witness="https://witness.example", power_pulse=True)
    runs = planned_runs(TrainingOptions(seed=1), typed, ("lenet",), tmp_path)
    tell_hours(runs, possible_requests(runs, resolve), recorded)
    (looked,) = asked
    assert (looked.baseload, looked.witness, looked.power_pulse) == (0.0, None, False)


def test_a_look_is_recorded_with_a_command_that_makes_it_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The typed one asks for closed runs. `suite package` would take the look for an open entry."""
    made: list[tuple[str, str]] = []

    def make(request: RunRequest, *, command: tuple[str, ...], **_: object) -> Any:
        made.append((" ".join(command), request.training.division))
        request.directory.mkdir()
        return SimpleNamespace(path=request.directory)

    def look(request: RunRequest, epochs: int, within_s: float, run: Run) -> QuickLook:
        return QuickLook("lenet", run(request), epochs, 60.0, None, None, "none", 30)

    monkeypatch.setattr("suite.api.run", make)
    monkeypatch.setattr("suite.cli.quick.look_within", look)
    closed = request_to_dict(make_request(tmp_path, Scenario(division="closed")))
    assert not first_look(of_lenet(closed, tmp_path / "look"), 30.0).run.exists()
    assert made == [("suite quick lenet --framework pytorch --accelerator cpu", "open")]


def test_what_fails_is_said_and_the_other_runs_are_made(
    good_bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(request: Any, *, force: bool, **_: object) -> Any:
        assert force, "an interrupted run is made again"
        if request.directory == Path("out/lenet/seed-1"):
            raise SuiteError("Out of memory.")
        return SimpleNamespace(path=good_bundle, status="finished")

    monkeypatch.setattr("suite.api.run", made)
    runs = planned_runs(TrainingOptions(), CLOSED, ("lenet",), Path("out"))
    failed = ["out/lenet/seed-1: Out of memory."]
    assert make_runs(possible_requests(runs, resolve).values(), False, False) == failed
    assert capsys.readouterr().out.count("Check it:") == 2
    assert make_runs(possible_requests(runs, resolve).values(), True, False) == failed
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == "runs/1"
    assert [(row["path"], row["run"] is None, row["reason"]) for row in printed["rows"]] == [
        ("out/lenet/seed-1", True, *failed),
        ("out/lenet/seed-2", False, None),
        ("out/lenet/seed-3", False, None),
    ]
    assert printed["rows"][1]["run"]["status"] == "finished"


def test_a_launch_that_was_cut_off_stays_to_be_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_bundle(tmp_path / "lenet/seed-1")
    record = json.loads((place / RUN).read_text())
    (place / RUN).write_text(json.dumps({**record, "status": "interrupted"}))

    def made(request: Any, **_: object) -> Any:
        shutil.rmtree(request.directory, ignore_errors=True)
        make_bundle(request.directory, Scenario(name="lenet-pytorch-20270115T090000Z-000009"))
        return SimpleNamespace(path=request.directory, status="finished")

    monkeypatch.setattr("suite.api.run", made)
    make_runs([of_lenet(record["request"], place)], True, False)
    (entry,) = declare_entries([Bundle(place)], (tmp_path,), None)
    assert [each.status for each in entry.launches] == ["interrupted", "finished"]


def test_the_stall_analyses_of_a_board_are_one_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = StallAnalysis(1, "lenet", "fake", "generic", "digits", {}, {}, ())
    monkeypatch.setattr("suite.api.run_stall_analysis", lambda request, **_: analysis)
    requests: list[Any] = [SimpleNamespace(directory=Path(name)) for name in ("lenet", "vgg11")]
    _analyse_stalls(requests, RunSettings(division=Division.OPEN), TrainingOptions(json=True))
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == "stall-analyses/1"
    assert [row["analysis"]["path"] for row in printed["rows"]] == [
        "lenet/stalls.json",
        "vgg11/stalls.json",
    ]


def test_a_run_that_is_made_is_kept_and_one_of_other_settings_refused(
    good_bundle: Path, tmp_path: Path
) -> None:
    """A run that was interrupted is left to make."""
    request = Bundle(good_bundle).run().request
    place = tmp_path / "lenet/seed-1"
    shutil.copytree(good_bundle, place)

    def recorded(training: TrainingOptions, settings: RunSettings) -> list[Any]:
        size = training.batch_size or request["global_batch_size"]
        return [of_lenet({**request, "global_batch_size": size}, settings.output)]

    runs = planned_runs(TrainingOptions(seed=1), CLOSED, ("lenet",), tmp_path)
    assert not possible_requests(runs, recorded)
    others = planned_runs(TrainingOptions(seed=1, batch_size=7), CLOSED, ("lenet",), tmp_path)
    with pytest.raises(SuiteError, match="it differs in global_batch_size"):
        possible_requests(others, recorded)
    record = json.loads((place / RUN).read_text())
    (place / RUN).write_text(json.dumps({**record, "status": "interrupted"}))
    assert list(possible_requests(runs, recorded)) == [place]


def test_a_set_of_another_power_mode_is_neither_made_nor_continued(
    good_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two modes are two entries: `suite package` refuses runs of both."""
    made = EditableBundle(Path(shutil.copytree(good_bundle, tmp_path / "lenet/seed-1")))
    made.system["power_mode"] = "MAXN: 12 cores up to 2202 MHz"
    made.save()

    def recorded(training: TrainingOptions, settings: RunSettings) -> list[Any]:
        return [of_lenet(made.request, settings.output)]

    now = SimpleNamespace(label="MODE_50W: 12 cores up to 1498 MHz")
    monkeypatch.setattr(nights, "read_power_settings", lambda: now)
    runs = planned_runs(TrainingOptions(seed=1), CLOSED, ("lenet",), tmp_path)
    with pytest.raises(SuiteError, match=r"in the power mode 'MAXN.*this machine is in 'MODE_50W"):
        possible_requests(runs, recorded)


def test_a_dry_run_shows_every_run_and_seals_none(good_bundle: Path, tmp_path: Path) -> None:
    request = Bundle(good_bundle).run().request
    place = Path(shutil.copytree(good_bundle, tmp_path / "lenet/seed-1"))
    (place / MANIFEST).unlink()

    def recorded(training: TrainingOptions, settings: RunSettings) -> list[Any]:
        return [of_lenet(request, settings.output)]

    runs = planned_runs(TrainingOptions(seed=1), CLOSED, ("lenet",), tmp_path)
    assert list(possible_requests(runs, recorded, to_show=True)) == [place]
    assert not (place / MANIFEST).exists()
    assert not possible_requests(runs, recorded) and (place / MANIFEST).exists()


def test_a_set_is_not_made_again_with_force() -> None:
    refused = CliRunner().invoke(app, ["run", "--division", "closed", "--force", "--dry-run"])
    assert "to make the set again, choose another --output" in str(refused.exception)


def test_the_end_names_the_page_that_says_how_the_set_is_handed_in(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = planned_runs(TrainingOptions(seed=1), CLOSED, ("lenet",), Path("out"))
    runs = [whole_board.BoardRun(run.training, run.settings, good_bundle)]
    say_what_next(runs)
    said = capsys.readouterr().out
    assert said == "\nHand them in: docs/submitting.md, from the end of step 2 on.\n"
    record = json.loads((good_bundle / RUN).read_text())
    (good_bundle / RUN).write_text(json.dumps({**record, "status": "interrupted"}))
    say_what_next(runs)
    assert not capsys.readouterr().out, "a run that was cut off cannot be handed in"
