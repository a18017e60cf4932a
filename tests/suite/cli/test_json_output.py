"""``--json``: every format has the keys that docs/json.md lists, failures are objects, too; colours
and completion as a shell expects them."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.devices import load_devices
from suite.cli.app import listed_commands, load_command, main
from suite.cli.doctor import Diagnosis, show
from suite.cli.json_output import json_formats, print_json
from suite.cluster.doctor import Examination
from suite.datasets.layouts import DataSetContents
from suite.experiments.boards import plan_for_boards
from suite.experiments.quick import QuickLook
from suite.files.paths import repository_root
from suite.metrics.audit_record import AuditRecord, read_audit
from suite.metrics.figure import Figure
from suite.metrics.linpack_record import Linpack
from suite.metrics.linpack_study_record import LinpackStudy
from suite.metrics.matrix_record import Matrix, MatrixFigures, MatrixPoint
from suite.metrics.replication_record import Replication
from suite.metrics.review_record import Review
from suite.metrics.stall_analysis import StallAnalysis
from suite.metrics.study import Study
from suite.metrics.targets import FollowingTarget
from suite.metrics.trace_file import WrittenTrace
from suite.verify.kept_state import Draw
from tests.faults.edits.audit_edits import honest_audit, honest_state

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Say = Callable[..., tuple[Any, str, int]]
ROOT = repository_root()
KEY_OF_TABLE = re.compile(r"^\| (?:`([\w-]+/\d+)`.*?)? ?\| .*?\| `(\w+)`", re.MULTILINE)
KEYS_OF_0_2 = tomllib.loads(Path(__file__).with_name("json_keys_of_0_2.toml").read_text("utf-8"))


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Types a command with --json; returns the object, what standard error has, and the exit
    code."""

    def call(*words: object) -> tuple[Any, str, int]:
        monkeypatch.setattr("sys.argv", ["suite", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err, int(end.value.code or 0)

    return call


def keys_of(value: Any) -> Iterator[str]:
    """Every key of an object, at any depth."""
    if isinstance(value, dict):
        yield from value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from keys_of(item)


@pytest.mark.parametrize("name", [name for name in json_formats() if name.startswith("list-")])
def test_lists_have_rows_with_the_keys_of_their_format(name: str, say: Say) -> None:
    printed, _, code = say("list", name.removeprefix("list-"))
    assert (printed["format"], code) == (json_formats()[name].label, 0)
    assert all(set(row) == set(json_formats()[name].keys) for row in printed["rows"])
    assert not [key for key in keys_of(printed) if " " in key]


def test_a_format_that_lost_a_key_since_0_2_has_another_version() -> None:
    keys: dict[str, set[str]] = {}
    for label, key in KEY_OF_TABLE.findall((ROOT / "docs" / "json.md").read_text("utf-8")):
        of_label = keys.setdefault(label or next(reversed(keys)), set())
        of_label.add(key)
    lost = {
        label: set(old.split()) - keys[label] for label, old in KEYS_OF_0_2.items() if label in keys
    }
    assert not {label: found for label, found in lost.items() if found}
    assert {label.split("/")[0] for label in KEYS_OF_0_2} <= {each.split("/")[0] for each in keys}


@pytest.mark.parametrize(
    ("name", "record", "others"),
    [
        ("audit", AuditRecord, "verdict"),
        ("audit-draw", Draw, ""),
        ("cluster-doctor", Examination, ""),
        ("data", DataSetContents, "name path synthetic"),
        ("linpack", Linpack, "path"),
        ("linpack-study", LinpackStudy, "path"),
        ("matrix", Matrix, "path"),
        ("quick", QuickLook, ""),
        ("reference-points-target", FollowingTarget, "target_accuracy"),
        ("reproduce", Replication, "path"),
        ("review", Review, "path verdict"),
        ("stall-analysis", StallAnalysis, "path"),
        ("sweep", Study, "path"),
        ("trace", WrittenTrace, ""),
    ],
)
def test_a_record_that_is_printed_whole_has_the_keys_of_its_format(
    name: str, record: type, others: str
) -> None:
    found = json_formats()[name]
    printed = {*others.split(), *(field.name for field in fields(record))}
    assert printed - found.optional == found.keys.keys() - found.optional


def test_an_audit_has_the_verdict_of_all_that_it_compared(
    say: Say, good_bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That of its first steps is another one: here they agree, and the drawn evaluation does
    not."""
    state = {**honest_state(good_bundle, 2, None), "replayed_correct": 9000}
    (tmp_path / "audit.json").write_text(json.dumps({**honest_audit(good_bundle), "state": state}))
    record = read_audit(tmp_path / "audit.json")
    monkeypatch.setattr("suite.api.audit", lambda *_, **__: record)
    printed, _, code = say("audit", good_bundle)
    assert (printed["comparison"]["verdict"], printed["verdict"]) == ("agrees", "contradicts")
    assert code == 1


def test_a_verdict_is_one_object_whether_it_complies_or_cannot_be_judged(
    say: Say, good_bundle: Path
) -> None:
    printed, _, code = say("check", good_bundle)
    assert (printed["format"], code, printed["verdicts"][0]["complies"]) == ("check/1", 0, True)
    (good_bundle / "log.txt").write_text("")
    printed, _, code = say("check", good_bundle)
    assert (printed["format"], code) == ("check/1", 1 if not printed["could_not_judge"] else 2)
    assert not [key for key in keys_of(printed) if " " in key]


def test_a_linpack_record_has_the_keys_of_its_format(say: Say, tmp_path: Path) -> None:
    printed, _, code = say(
        "linpack", "--scipy", "--size", 512, "--allow-busy", "--output", tmp_path / "record"
    )
    assert (printed["format"], code) == ("linpack/1", 0)
    assert set(printed) == {"format", *json_formats()["linpack"].keys}


@pytest.mark.parametrize("command", ["quick", "night"])
def test_a_plan_of_looks_is_printed_by_the_commands_that_its_format_names(
    command: str, say: Say
) -> None:
    division = ("--division", "open") if command == "night" else ()
    printed, _, code = say(command, "lenet", "--framework", "fake", *division, "--dry-run")
    assert (printed["format"], code) == ("quick-plan/1", 0)
    assert f"suite {command} --dry-run" in json_formats()["quick-plan"].printed_by


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--division", "open", "--workload", "lnet"),
        ("repotr",),
        ("run", "--foo"),
        ("explain", "log-chian"),
    ],
)
def test_a_failure_is_an_object_and_a_sentence(words: tuple[str, ...], say: Say) -> None:
    printed, said, code = say(*words)
    assert set(printed) == {"format", *json_formats()["error"].keys}
    assert (printed["format"], printed["exit_code"], code) == ("error/1", 2, 2)
    assert said == f"error: {printed['error']}\n"


def test_a_matrix_with_a_lost_board_is_one_object(
    say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It says itself which point has no run."""

    def lost(matrix: Any, options: Any, *_: Any, **__: Any) -> Matrix:
        unknown = MatrixFigures(*[Figure(None, "", "log", 0, reason="lost") for _ in range(10)])
        plan = plan_for_boards(matrix, options).plan
        return Matrix(1, plan, (MatrixPoint(plan.points[0].name, (), unknown),), ())

    monkeypatch.setattr("suite.api.run_on_boards", lost)
    (tmp_path / "boards.txt").write_text("one\n")
    words = "sweep --vary threads=1 --workload lenet --data digits --boards"
    printed, said, code = say(*words.split(), tmp_path / "boards.txt")
    assert (printed["format"], code) == (
        "matrix/1",
        2,
    ) and "1 of 1 points have no run: lost" in said


def options_of(path: str, command: Any) -> Iterator[tuple[str, set[str]]]:
    """Every command that does something, those of extensions too, with its options."""
    children = getattr(command, "commands", {})
    for name, child in children.items():
        yield from options_of(f"{path} {name}", child)
    if not children:
        yield path, {option for each in command.params for option in each.opts}


def test_every_command_has_json() -> None:
    every = [one for name in listed_commands() for one in options_of(name, load_command(name))]
    assert [path for path, options in every if "--json" not in options] == []


def test_what_was_measured_or_left_out_is_an_object(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(size_bytes=7, source="here")
    monkeypatch.setattr("suite.extensions.memory_study.command.measure_resident", lambda: found)
    printed, _, code = say("memory", "framework")
    assert (printed["size_bytes"], printed["source"], code) == (7, "here", 0)
    monkeypatch.setattr("suite.api.leave_meter_out", lambda *_, **__: None)
    monkeypatch.setattr("suite.api.energy_figure", lambda _: {"value": 4.5})
    printed, _, code = say("power", "leave-out", "run", "um25c", "--reason", "loose")
    assert (printed["meter"], printed["energy_j"], code) == ("um25c", {"value": 4.5}, 0)


def test_a_key_that_no_format_has_is_not_printed() -> None:
    with pytest.raises(AssertionError, match="report"):
        print_json("report", {"index": "site/index.html", "pages": 3})


def test_lists_that_are_piped_are_lines_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs ask for --json."""
    monkeypatch.setattr("sys.argv", ["suite", "list", "data-sets"])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().out
    assert printed.startswith("name  ") and printed.isascii() and "\t" not in printed


@pytest.mark.parametrize("is_set", [False, True])
def test_no_color_is_obeyed(
    is_set: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if is_set:
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show([Diagnosis("disk", True, "1 GiB free")])
    assert ("\x1b[32m" in capsys.readouterr().out) is not is_set


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("suite re", "report\nreproduce\nreview\nreference-points"),
        ("suite run --workload res", "resnet18\nresnet50"),
        ("suite data prepare c", "cifar10\nclothing-whole\nclothing"),
    ],
)
def test_the_shell_completes_commands_and_names(typed: str, completed: str, suite: Any) -> None:
    words = {
        "_SUITE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    assert suite(**words).stdout.strip() == completed


def test_in_a_narrow_terminal_every_name_is_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.argv", ["suite", "list", "devices"])
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert all(f"{device.name}\n  title: " in shown for device in load_devices())
