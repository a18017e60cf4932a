"""A night on one board: what fits is planned, made with three seeds, and continued."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from suite import api
from suite.cli import night
from suite.cli.app import app, main
from suite.errors import SuiteError
from suite.experiments import night as nights
from suite.experiments.night import (
    Night,
    PlannedWorkload,
    is_of_this_session,
    plan_night,
    run_s_of,
    runs_of,
    save,
    with_more_time,
)
from suite.experiments.quick import QuickLook
from suite.files.shell_command import shell_command
from tests.builders import Scenario, make_bundle

FAILED = PlannedWorkload("resnet18", None, False, "no batch fits into memory")


@pytest.fixture(autouse=True)
def _mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is in the power mode of the made-up bundles, which have none."""
    monkeypatch.setattr(nights, "read_power_settings", lambda: SimpleNamespace(label=None))


def look(workload: str, reached_s: float | None, epoch_s: float | None = None) -> QuickLook:
    return QuickLook(workload, Path("looks"), 3, epoch_s, reached_s, None, None, most_epochs=10)


def test_the_cheapest_workloads_are_planned_and_the_others_say_what_they_need() -> None:
    looks = [look("vgg11", None, 3600.0), look("lenet", 60.0), look("resnet18", None)]
    lenet, vgg11, resnet18 = plan_night(looks, 7200.0)
    assert lenet == PlannedWorkload("lenet", 60.0, True)
    assert (vgg11.run_s, vgg11.reason) == (36000.0, "3 runs take 30.0 h, and 1.9 h are left")
    assert (resnet18.is_made, resnet18.run_s) == (False, None)


def test_more_time_makes_what_was_left_out_and_keeps_the_rest() -> None:
    planned = (*plan_night([look("lenet", 60.0), look("vgg11", 600.0)], 1000.0), FAILED)
    begun = Night("closed", "pytorch", "auto", (), planned, within_s=1100.0, left_s=1000.0)
    assert with_more_time(begun, 1100.0) == begun  # the same command after a power cut
    lenet, vgg11, failed = with_more_time(begun, 3600.0).planned
    assert lenet.is_made and vgg11.is_made and failed == FAILED


def test_each_workload_is_planned_from_what_the_cheaper_ones_leave() -> None:
    """Three runs of each: 300 and 600 s of 900 fit exactly."""
    looks = [look("vgg11", 200.0), look("lenet", 100.0), look("resnet18", 250.0)]
    planned = plan_night(looks, 900.0)
    assert [(each.workload, each.is_made) for each in planned] == [
        ("lenet", True),
        ("vgg11", True),
        ("resnet18", False),
    ]
    assert planned[2].reason == "3 runs take 12.5 min, and no time is left"
    begun = Night("closed", "pytorch", "auto", (), planned, within_s=1000.0, left_s=900.0)
    for within_s, is_made in ((1749.0, False), (1750.0, True)):
        later = with_more_time(begun, within_s)
        assert later.left_s == within_s - 100.0
        assert [each.is_made for each in later.planned] == [True, True, is_made]
    assert with_more_time(later, 900.0) == later
    runs = [(name, seed) for name, seed, _ in runs_of(Path("night"), planned)]
    assert runs == [(name, seed) for seed in (1, 2, 3) for name in ("lenet", "vgg11")]


def test_a_run_takes_what_is_known_best() -> None:
    """The time to the target, else its projection, else all epochs."""
    projected: Any = SimpleNamespace(time_s=SimpleNamespace(value=70.0))
    estimate: Any = SimpleNamespace(epoch_s=SimpleNamespace(value=6.0))
    known = replace(look("lenet", 60.0, 9.0), projection=projected, estimate=estimate)
    found = [run_s_of(known)]
    for name in ("reached_s", "projection", "estimate", "epoch_s"):
        known = replace(known, **{name: None})
        found.append(run_s_of(known))
    assert found == [60.0, 70.0, 60.0, 90.0, None]  # of ten epochs


def test_a_night_into_which_nothing_fits_gives_way_to_others_and_to_longer_looks() -> None:
    asked = Night("closed", "pytorch", "auto", ())
    begun = replace(asked, planned=plan_night([look("lenet", 60.0)], 50.0), within_s=60.0)
    begun = replace(begun, left_s=50.0)
    assert begun.least_s() == 190.0 and with_more_time(begun, 190.0).planned[0].is_made
    assert not with_more_time(begun, 189.0).planned[0].is_made
    assert begun.is_continued_by(asked, 190.0) and not begun.is_continued_by(asked, 3600.0)
    assert not begun.is_continued_by(replace(asked, framework="chainer"), 190.0)
    assert with_more_time(begun, 190.0).is_continued_by(asked, 3600.0)
    unknown = replace(begun, planned=plan_night([look("lenet", None)], 50.0))
    assert unknown.is_continued_by(asked, 60.0) and not unknown.is_continued_by(asked, 120.0)


def looked(request: SimpleNamespace, *_: object) -> QuickLook:
    """LeNet's first look; VGG-11's fails, which leaves out no other workload."""
    if request.workload.name == "vgg11":
        raise SuiteError("no batch fits into memory")
    return look("lenet", 60.0)


def still_made(run: Path) -> None:
    raise SuiteError("process 7 makes it")


def test_times_below_an_hour_are_said_in_minutes() -> None:
    (left_out,) = plan_night([look("lenet", 90.0)], 82.0)
    assert left_out.reason == "3 runs take 4.5 min, and 1.4 min are left"


class Board:
    """Runs are made up at once; the power fails before the run number ``fails_at``."""

    fails_at: int | None = None

    def __init__(self) -> None:
        self.made: list[str] = []

    def resolve(self, options: api.RunOptions, run: Path, **_: object) -> SimpleNamespace:
        return SimpleNamespace(directory=Path(run), seed=options.seed)

    def run(self, request: SimpleNamespace, **_: object) -> SimpleNamespace:
        if len(self.made) == self.fails_at:
            raise KeyboardInterrupt("3 finished epochs are kept")
        self.made.append(request.directory.name)
        name = f"lenet-pytorch-20270115T080000Z-{request.seed:06}"
        make_bundle(request.directory, Scenario(name=name, seed=request.seed))
        return SimpleNamespace(path=request.directory)


def error_of(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """The sentence of a command that ends with an error, as --json has it."""
    monkeypatch.setattr("sys.argv", ["suite", *words, "--json"])
    with pytest.raises(SystemExit):
        main()
    return json.loads(capsys.readouterr().out)["error"]


def test_a_night_without_a_look_is_an_object_of_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = [SimpleNamespace(workload=SimpleNamespace(name="vgg11"))]
    monkeypatch.setattr("suite.cli.night.resolve_workloads", lambda *_: (requests, {}))
    monkeypatch.setattr("suite.cli.night.first_look", looked)
    words = ["night", "vgg11", "--output", str(tmp_path / "night")]
    assert error_of(words, monkeypatch, capsys) == "vgg11: no batch fits into memory"


def test_a_run_that_was_cut_off_before_its_machine_was_described_is_of_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = (PlannedWorkload("lenet", 60.0, True),)
    _, _, run = next(runs_of(tmp_path, planned))
    make_bundle(run)
    boot = json.loads((run / "system.json").read_text())["boot"]
    monkeypatch.setattr("suite.experiments.night.boot_id", lambda: boot)
    assert is_of_this_session(tmp_path, planned, "lenet")
    (run / "system.json").unlink()
    assert not is_of_this_session(tmp_path, planned, "lenet")


def test_a_run_that_was_cut_off_and_cannot_be_made_again_is_not_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sealed, and has no figures if it had made no step."""
    planned = (PlannedWorkload("lenet", 60.0, True),)
    save(tmp_path, Night("closed", "pytorch", "auto", ("lenet",), planned))
    made, cut_off, _ = (run for *_, run in runs_of(tmp_path, planned))
    for run in (made, cut_off):
        make_bundle(run)
    record = json.loads((cut_off / "run.json").read_text())
    (cut_off / "run.json").write_text(json.dumps({**record, "status": "interrupted"}))
    (cut_off / "summary.json").unlink()

    def refused(*_: object) -> None:
        raise SuiteError("The disk is full")

    drawn: list[Path] = []
    monkeypatch.setattr(api, "resolve", refused)
    monkeypatch.setattr(api, "report", lambda runs, *_, **__: drawn.extend(runs))
    answer = CliRunner().invoke(app, ["night", "lenet", "--output", str(tmp_path), "--json"])
    assert drawn == [made] and list(json.loads(answer.stdout)["runs"]) == [str(made)]
    assert str(answer.exception).count("The disk is full") == 2


@pytest.mark.usefixtures("builds_a_site")
def test_a_night_goes_on_after_a_power_cut_and_ends_with_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board, night = Board(), str(tmp_path / "night")
    monkeypatch.setattr(api, "run", board.run)
    monkeypatch.setattr(api, "resolve", board.resolve)
    requests = [SimpleNamespace(workload=SimpleNamespace(name=name)) for name in ("vgg11", "lenet")]
    monkeypatch.setattr("suite.cli.night.resolve_workloads", lambda *_: (requests, {}))
    monkeypatch.setattr("suite.cli.night.first_look", looked)
    short = CliRunner().invoke(app, ["night", "lenet", "--within", "1m", "--output", night])
    assert "trial steps and 3 runs of the shortest workload" in str(short.exception)
    assert "give at least --within 4m." in str(short.exception)
    board.fails_at = 2
    words = ["night", "lenet", "--within", "4m", "--output", night]
    with monkeypatch.context() as patched:
        patched.delattr("suite.cli.night.first_look")  # what was named is enough, without looks
        assert CliRunner().invoke(app, words).exit_code != 0
    assert len(board.made) == 2
    board.fails_at = None
    unclosed = tmp_path / "night/runs/lenet/seed-3"
    unclosed.mkdir()
    (unclosed / "run.json").write_text("{}")
    with monkeypatch.context() as patched:
        patched.setattr("suite.experiments.night.finish", still_made)
        answer = CliRunner().invoke(app, words)
    assert "seed-3: process 7 makes it" in str(answer.exception) and len(board.made) == 2
    shutil.rmtree(unclosed)
    boot = json.loads((tmp_path / "night/runs/lenet/seed-1/system.json").read_text())["boot"]
    monkeypatch.setattr("suite.experiments.night.boot_id", lambda: boot)
    refused = CliRunner().invoke(app, [*words, "--restart", "false"])
    assert "--restart 'false' ended with exit code 1" in str(refused.exception)
    restarting = error_of([*words, "--restart", "true"], monkeypatch, capsys)
    assert "The machine restarts" in restarting and len(board.made) == 2, "same session"
    monkeypatch.delattr("suite.cli.night.first_look")  # the plan is kept
    with monkeypatch.context() as patched:
        patched.setattr(nights, "read_power_settings", lambda: SimpleNamespace(label="15W"))
        other = CliRunner().invoke(app, words)
    assert "seed-1 was made in the power mode None, and this machine is in '15W'" in str(
        other.exception
    )
    answer = CliRunner().invoke(app, [*words, "--json"])
    found = json.loads(answer.stdout)
    assert board.made == ["seed-1", "seed-2", "seed-3"] and len(found["runs"]) == 3
    assert all("target reached" in said for said in found["runs"].values())
    assert Path(found["index"]).is_file()
    assert [(each["workload"], each["reason"]) for each in found["planned"]] == [
        ("lenet", None),
        ("vgg11", "no batch fits into memory"),
    ]
    dry = CliRunner().invoke(app, [*words, "--dry-run"])
    assert dry.stdout.startswith("lenet: 3 runs of about 1 min\nvgg11: left out: no batch fits")
    for others in (["vgg11"], ["lenet", "--accelerator", "cpu"]):
        other = CliRunner().invoke(app, ["night", *others, "--output", night])
        assert "choose another --output" in str(other.exception)
        same = "`suite night lenet --within 240s --division closed --framework pytorch"
        assert same in str(other.exception)
    (tmp_path / "night/night.json").write_text('{"schema": 1, "planned": [{}]}')
    damaged = CliRunner().invoke(app, words)
    assert "night.json is not as the suite writes it" in str(damaged.exception)


def test_a_dry_run_says_how_long_the_night_is_although_nothing_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suite.cli.night.resolve_workloads", lambda *_, **__: ([], {}))
    monkeypatch.setattr("suite.cli.night.show_plan", lambda *_: None)
    said = CliRunner().invoke(app, ["night", "--output", str(tmp_path), "--dry-run"]).stdout
    assert said == (
        "A night of 8 h (--within): 48 min for trial steps, then 7 h 12 min for 3 whole runs of"
        " each workload that fits. Trial steps:\n"
    )


def test_what_keeps_a_night_running_needs_nothing_of_the_shell_in_which_it_is_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """systemd, cron and a tmux that runs already have another PATH and no SUITE_HOME."""
    for name in night.KEPT_BY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUITE_HOME", "/media/usb stick/suite")
    monkeypatch.chdir("/")
    monkeypatch.setattr("sys.argv", [".venv/bin/suite", "night", "--within", "4h"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    night._say_what_keeps_it()
    command = "env 'SUITE_HOME=/media/usb stick/suite' /.venv/bin/suite night --within 4h"
    _, by_tmux, by_systemd = capsys.readouterr().err.splitlines()
    assert by_tmux == f"  {shell_command('tmux new -d', command)}"
    assert by_systemd.endswith(f"systemd-run --user --collect --same-dir --unit night {command}")
