"""What read-only commands answer on a folder of runs, a study and a submission, as kept outputs:
with `--json` and for a person."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from suite.cli.app import main
from tests.builders import RICH, Scenario, make_bundle
from tests.extensions.concurrent.good_folder import make_experiment
from tests.extensions.viewpoint.good_folder import make_viewpoint
from tests.faults.edits.editable_bundle import EditableBundle
from tests.good_submissions import good_submission
from tests.kept_outputs import in_short, kept
from tests.made_once import shared

UNSTABLE = ["implementation", "path"]
MISSING = (0.5, 0.9, 0.98, 0.9901)
RUNS = {
    "a": [replace(RICH, seed=n, step_s=0.005 + n / 1e4, jitter=0.02) for n in (1, 2, 3)],
    "b": [
        replace(RICH, framework="tensorflow", batch_size=16, seed=n, step_s=0.004, power_w=7 + n)
        for n in (4, 5, 6)
    ],
    "c": [replace(RICH, seed=7, accuracies=MISSING, power_w=None, workers=2)],
    "d": [Scenario(framework="fake", division="open", data="digits", accuracies=(0.5, 0.6))],
}
"""Groups of runs: three with a scatter, three of another framework and batch size, and single
ones."""
COMMANDS = (
    "check runs/b/1 runs/d",
    "check runs/a/1 runs/broken",
    "check submissions",
    "compare runs/a/1 runs/c/1",
    "compare runs/a runs/b",
    "compare runs/a runs/d",
    "export runs/a runs/b --table entries --output WRITTEN.csv",
    "export runs/c --output WRITTEN.csv",
    "explain closed-tuning",
    "submissions status submissions",
    "reference-points target lenet",
    "audit draw runs/a/1 --value abc",
    "concurrent show concurrent",
    "memory tables",
)


def make_folder(folder: Path) -> None:
    for group, scenarios in RUNS.items():
        for number, scenario in enumerate(scenarios, start=1):
            name = f"lenet-{scenario.framework}-20270115T08000{number}Z-{ord(group):06}"
            later = replace(scenario, name=name, later_s=900 * number)
            make_bundle(folder / "runs" / group / str(number), later)
    broken = EditableBundle(make_bundle(folder / "runs" / "broken", RICH))
    broken.summary["figures"]["energy_j"]["value"] *= 1.5
    broken.events[5]["value"] = "<b>&\"'=\x1b[31m@</b>"
    broken.save()
    good_submission(folder / "offered")
    (folder / "offered/made/submissions").rename(folder / "submissions")
    make_experiment(folder / "concurrent")
    make_viewpoint(folder / "viewpoint")


@pytest.fixture(scope="module")
def folder() -> Path:
    """What the commands read; tests must not change it."""
    return shared("what commands read", make_folder)


Say = Callable[[str], Any]


@pytest.fixture
def say(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Say:
    """Exit code and output of a command; an object where it prints one, else lines in short."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "160")
    written = tmp_path / "written.csv"

    def answer(command: str) -> Any:
        words = shlex.split(command.replace("WRITTEN.csv", str(written)))
        monkeypatch.setattr("sys.argv", ["suite", *words])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        out, err = (placeless(text, written, folder) for text in printed)
        lines = [" ".join(line.split()) for line in [*out.splitlines(), *err.splitlines()]]
        value = json.loads(out) if out.startswith("{") else lines
        found = {"code": end.value.code or 0, "answer": in_short(value)}
        if written.exists():
            columns = pandas.read_csv(written).drop(columns=UNSTABLE, errors="ignore")
            found["written"] = columns.dropna(axis=1, how="all").to_dict("list")
        return found

    return answer


def placeless(text: str, written: Path, folder: Path) -> str:
    return text.replace(str(written), "FILE").replace(str(folder), "FOLDER")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_answers(command: str, say: Say) -> None:
    answers = {"person": say(command)}
    if "WRITTEN" not in command:
        answers["program"] = say(f"{command} --json")
    kept("answers", answers, command)
