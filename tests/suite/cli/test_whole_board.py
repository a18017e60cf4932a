"""`suite run` without --workload: what is planned, left out and told before the first run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.api import Division
from suite.cli import whole_board
from suite.cli.options import TrainingOptions
from suite.cli.run_settings import RunSettings
from suite.cli.whole_board import planned_runs, possible, say_what_next, tell_hours
from suite.errors import SuiteError
from suite.experiments.quick import QuickLook

CLOSED = RunSettings(division=Division.CLOSED, org="acme", short=5)
UNPREPARED = "vgg11"


def resolve(training: TrainingOptions, settings: RunSettings) -> list[Any]:
    if settings.workload == UNPREPARED:
        raise SuiteError("The data set 'cifar10' is not prepared.")
    name = SimpleNamespace(name=settings.workload)
    return [SimpleNamespace(workload=name, directory=settings.output)]


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
    assert list(possible(runs, resolve)) == [tmp_path / f"lenet/seed-{seed}" for seed in (1, 2, 3)]
    said = capsys.readouterr().err
    assert said == "left out: vgg11: The data set 'cifar10' is not prepared.\n"
    with pytest.raises(SuiteError, match="None of the board's workloads can be trained"):
        possible(planned_runs(TrainingOptions(), CLOSED, (UNPREPARED,), tmp_path), resolve)


def test_the_hours_are_told_from_a_first_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []

    def look(request: Any, *_: object) -> QuickLook:
        looked.append(request.directory)
        name = request.workload.name
        return QuickLook(name, request.directory, 4, 1200.0, None, None, "none", 30)

    monkeypatch.setattr(whole_board, "look_within", look)
    runs = planned_runs(TrainingOptions(), CLOSED, ("lenet",), tmp_path)
    tell_hours(runs, [run.path for run in runs[1:]], resolve)
    said = capsys.readouterr().err
    assert looked == [tmp_path / "looks/lenet"]
    assert "lenet: seed-2, seed-3; a run takes 10 h" in said and "In all about 20 h" in said


def test_the_end_names_the_command_that_packages_the_set(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = planned_runs(TrainingOptions(seed=1), CLOSED, ("lenet",), Path("out"))
    say_what_next([whole_board.PlannedRun(run.training, run.settings, good_bundle)])
    said = capsys.readouterr().out
    assert f"suite package {good_bundle} --org acme --availability available" in said
