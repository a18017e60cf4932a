"""`suite paper`: all 54 are listed, what is missing is said with its cost, and what needs other
hardware names it."""

import importlib.util
import json
import shutil
import signal
from pathlib import Path

import pytest

from suite.cli import paper
from suite.cli.app import main
from suite.cli.json_output import json_formats
from suite.errors import SuiteError
from suite.execution.interrupts import BySignal
from suite.files.paths import repository_root


def suite(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["suite", "paper", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_all_are_listed_with_their_state(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert suite(monkeypatch, "list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 54 and all(
        set(row) == set(json_formats()["paper-list"].keys) for row in rows
    )
    assert suite(monkeypatch, "list") == 0
    printed = capsys.readouterr().out
    assert (
        all(row["id"] in printed for row in rows)
        and "54 tables and panels; 0 can be drawn from runs that are here, 1 without runs."
        in printed
    )
    assert all(
        f"{count} {state}: " in printed
        for state, count in (
            ("real", 31),
            ("simulated", 4),
            ("emulated", 1),
            ("calculated", 1),
            ("needs", 17),
        )
    )


def test_what_is_missing_is_said_with_its_cost_and_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paper, "_run", lambda command: pytest.fail("nothing may be run"))
    assert suite(monkeypatch, "make", "jetson-9a", "--dry-run") == 0
    said = capsys.readouterr().err
    assert (
        "minutes on two cores" in said
        and "suite sweep --workload lenet --data digits --vary cores=1,2" in said
    )
    assert suite(monkeypatch, "make", "jetson-9a", "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert set(plan) == {"format", *json_formats()["paper-plan"].keys}
    assert plan["minutes"] > 0 and plan["commands"][0].startswith("sweep --workload lenet")
    assert suite(monkeypatch, "make", "jetson-3a", "--dry-run") == 2
    assert "give --with second=PATH" in capsys.readouterr().err


def test_runs_of_another_machine_are_used_only_where_they_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Those that come with the project are of its machine, and not of the reader's."""
    monkeypatch.chdir(tmp_path)
    assert suite(monkeypatch, "check", "jetson-4a") == 2
    assert "not comparable (it has no runs)" in capsys.readouterr().out
    assert suite(monkeypatch, "make", "jetson-3a", "--with", "second=/ssd", "--dry-run") == 0
    assert "--data digits=/ssd" in capsys.readouterr().err
    folder = str(repository_root() / "examples/papers/storage")
    assert suite(monkeypatch, "make", "jetson-3a", folder, "--dry-run") == 0
    assert capsys.readouterr().out == "jetson-3a is drawn without further runs\n"


@pytest.mark.parametrize("words", [("pi-1b",), ("jetson-3a", "runs")])
def test_a_path_that_would_not_be_used_is_refused(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another item's runs need it, or runs are named that are there."""
    assert suite(monkeypatch, "make", *words, "--with", "second=/ssd", "--dry-run") == 2
    assert f"{words[0]} needs no --with second=PATH here" in capsys.readouterr().err


def test_a_dry_run_writes_no_files_where_no_runs_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("make", "concurrent-1a", str(repository_root() / "examples/papers/beside"))
    assert suite(monkeypatch, *words, "--dry-run") == 0
    assert capsys.readouterr().out == "concurrent-1a is drawn without further runs\n"
    assert suite(monkeypatch, *words, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["commands"] == []
    assert not list(tmp_path.iterdir())


def test_the_place_of_the_files_is_tried_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "note").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paper, "_run", lambda command: pytest.fail("nothing may be run"))
    assert suite(monkeypatch, "make", "jetson-9a", "--output", "note") == 2
    assert "note could not be written" in capsys.readouterr().err


def test_without_matplotlib_the_command_that_installs_it_is_said_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`make setup` installs the suite alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paper, "_run", lambda command: pytest.fail("nothing may be run"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert suite(monkeypatch, "make", "jetson-9a") == 2
    assert f"-m pip install --editable '{repository_root()}[figures]'" in capsys.readouterr().err


@pytest.mark.proof
@pytest.mark.usefixtures("trains")
def test_runs_that_were_interrupted_are_completed_and_not_drawn_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The second time the folder of the runs is there, with a part of them."""
    monkeypatch.chdir(tmp_path)
    asked = list[str]()

    def interrupted(command: list[str]) -> None:
        asked.append(command[0])
        (paper.RUNS / "beside").mkdir(exist_ok=True)
        (paper.RUNS / "beside/part").touch()
        raise SuiteError("Interrupted.")

    monkeypatch.setattr(paper, "_run", interrupted)
    for _ in range(2):
        assert suite(monkeypatch, "make", "concurrent-1a") == 2
    assert asked == ["concurrent", "concurrent"]
    assert (
        "runs/papers/beside is unfinished: it is removed and made again" in capsys.readouterr().err
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        paper,
        "_run",
        lambda command: shutil.copytree(
            repository_root() / "examples/papers/beside", paper.RUNS / "beside"
        ),
    )
    assert suite(monkeypatch, "make", "concurrent-1a") == 0
    assert (tmp_path / "papers/concurrent-1a.csv").is_file() and not list(paper.RUNS.glob(".*"))


@pytest.mark.parametrize(
    ("number", "done"),
    [(signal.SIGINT, ["wait", "wait"]), (signal.SIGTERM, ["wait", "terminate", "wait"])],
)
def test_an_interrupt_leaves_a_command_the_time_to_end_its_run(
    number: int, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C reaches it through the terminal."""
    seen = list[str]()

    class Command:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def wait(self) -> int:
            seen.append("wait")
            if len(seen) == 1:
                raise BySignal(number)
            return 2

        def terminate(self) -> None:
            seen.append("terminate")

    monkeypatch.setattr("subprocess.Popen", Command)
    with pytest.raises(KeyboardInterrupt):
        paper._run(["sweep"])
    assert seen == done


def test_a_check_ends_with_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suite(monkeypatch, "check", "memory-table-1") == 0
    capsys.readouterr()
    assert suite(monkeypatch, "check", "jetson-table-1", "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"format", *json_formats()["paper-check"].keys}
    assert {one["verdict"] for one in printed["compared"]} == {"agrees", "differs"}
    assert suite(monkeypatch, "check", "jetson-7") == 2
