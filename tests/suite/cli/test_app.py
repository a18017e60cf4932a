"""The table of commands: help texts, loading on demand, options shared by commands."""

import errno
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from suite.cli.app import (
    _resume_hint,
    app,
    command_examples,
    command_help,
    listed_commands,
    load_command,
    main,
    own_commands,
)
from suite.cli.options import with_options
from suite.cli.panels import MANY, PANELS
from suite.files.paths import repository_root
from tests.conftest import Run
from tests.every_case import some

HEAVY = ("pandas", "pyarrow", "scipy", "jinja2", "sklearn")


@pytest.mark.parametrize("name", command_help())
def test_the_tables_help_is_the_first_paragraph_of_the_commands(name: str) -> None:
    paragraph = load_command(name).help.partition("\n\n")[0]
    assert command_help()[name] == " ".join(paragraph.split())


@pytest.mark.parametrize("name", command_help())
def test_help_of_a_command_is_that_of_the_real_one(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"]).output
    assert f"suite {name}" in shown or f"root {name}" in shown
    for parameter in load_command(name).params:
        if parameter.param_type_name == "option":
            assert parameter.opts[0] in shown


def leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The command, or its subcommands; one that does something by itself is among them."""
    below = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield path, command
    for name, child in below.items():
        yield from leaves(f"{path} {name}", child)


LEAVES = dict(leaf for name in command_help() for leaf in leaves(name, load_command(name)))


def test_the_examples_are_of_the_commands_that_there_are() -> None:
    assert set(command_examples()) == set(LEAVES)


@pytest.mark.parametrize("path", command_examples())
def test_the_help_of_a_command_ends_with_an_example_that_can_be_typed_and_its_exit_codes(
    path: str,
) -> None:
    command, (program, *words) = LEAVES[path], command_examples()[path].split()
    said = " ".join(f"{command.help} {command.epilog}".split())
    assert command_examples()[path] in said and said.count("Exit code: 0 ") == 1
    # `suite audit RUN` is `suite audit bundle RUN`
    names = [name for name, word in zip(path.split(), words, strict=False) if name == word]
    assert program == "suite" and names and names[0] in command_help()
    # an unknown option, a missing one and a word too many raise
    command.make_context(path, words[len(names) :])


def test_every_command_is_listed_in_the_panel_of_its_stage() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    stages = {title: text.split() for title, text in re.findall(r"╭─ ([^─]+) ─(.*?)╰", shown, re.S)}
    assert list(stages) == [
        *("Options", "Start", "Train", "Understand", "Submit", "Boards", "Studies")
    ]
    assert all(name in stages[each.panel] for name, (_, each) in listed_commands().items())


def test_suite_alone_prints_the_five_commands_that_a_person_begins_with() -> None:
    answer = CliRunner().invoke(app, [])
    typed = [line.split("   ")[0] for line in answer.output.splitlines() if line.startswith("  ")]
    assert answer.exit_code == 0 and len(typed) == 5 and "suite --help" in answer.output
    for program, *words in map(str.split, typed):
        path = next(path for path in (" ".join(words[:2]), words[0]) if path in LEAVES)
        LEAVES[path].make_context(path, words[len(path.split()) :])
        assert program == "suite"


def test_every_option_of_a_command_with_many_has_a_panel_and_no_panel_another() -> None:
    """Extensions name the panels of their options themselves, or have them before the others."""
    own = {command.name for command in own_commands().commands}
    many = [
        each.params
        for path, each in LEAVES.items()
        if path.split()[0] in own and len(each.params) >= MANY
    ]
    named = {name for names in PANELS.values() for name in names}
    assert {each.name for params in many for each in params} == named


@pytest.mark.parametrize("path", ["run", "sweep", "nonce lock"])
def test_many_options_are_in_panels_in_the_order_of_a_persons_work(path: str) -> None:
    panels = [each.rich_help_panel for each in LEAVES[path].params if hasattr(each, "opts")]
    options = [each for each in panels if each is not None]
    assert len(options) >= MANY and len(options) >= len(panels) - 1  # an argument has none
    assert list(dict.fromkeys(options)) == [each for each in PANELS if each in options]


def test_a_path_that_this_user_may_not_open_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/home/jane/runs")

    monkeypatch.setattr("suite.cli.check.check_paths", refused)
    monkeypatch.setattr("sys.argv", ["suite", "check", "."])
    with pytest.raises(SystemExit) as end:
        main()
    said = (
        "error: This user is not permitted to open /home/jane/runs: Permission denied. Choose"
        " another path, or ask the owner for access.\n"
    )
    assert (capsys.readouterr().err, end.value.code) == (said, 2)


@pytest.mark.parametrize(
    "arguments",
    some(
        [
            ["list", "rules"],
            ["--help"],
            ["list", "devices"],
            ["explain", "log-chain"],
            ["list", "studies"],
            ["list", "data-sets"],
            ["list", "rounds"],
        ]
    ),
    ids=" ".join,
)
@pytest.mark.usefixtures("starts_programs")
def test_light_commands_load_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from suite.cli.app import app\n"
        f"try: app({arguments!r})\nexcept SystemExit: pass\n"
        f"sys.exit(' '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=repository_root(), capture_output=True, text=True
    )
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.usefixtures("starts_programs")
def test_no_function_of_the_command_line_has_many_parameters() -> None:
    """Typer's signatures aside, which are made from dataclasses."""
    import ast

    for path in sorted((repository_root() / "suite").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert len(node.args.args) + len(node.args.kwonlyargs) <= 10, (
                    f"{path.name}: {node.name}"
                )


@dataclass(frozen=True, kw_only=True)
class Colour:
    name: Annotated[str, typer.Option(help="Name.")]
    bright: Annotated[bool, typer.Option("--bright", help="Bright.")] = False


def test_a_dataclass_becomes_options() -> None:
    seen: list[tuple[Colour, int]] = []

    @with_options
    def paint(colour: Colour, size: Annotated[int, typer.Option(help="Size.")] = 3) -> None:
        seen.append((colour, size))

    assert list(inspect.signature(paint).parameters) == ["name", "bright", "size"]
    command = typer.Typer(add_completion=False)
    command.command()(paint)
    assert CliRunner().invoke(command, ["--bright"]).exit_code == 2  # --name is required
    assert CliRunner().invoke(command, ["--name", "red", "--size", "5"]).exit_code == 0
    paint(name="blue", bright=True)
    assert seen == [(Colour(name="red"), 5), (Colour(name="blue", bright=True), 3)]


@pytest.mark.parametrize(
    ("command", "option", "place"),
    [
        (["trace"], "--output", "log.txt"),
        (["report"], "--output", "site"),
        (["figure", "pi-2e"], "--output", "pictures/one.svg"),
        (["paper", "make", "pi-1b"], "--output", ""),
        (["audit"], "--output", "audit.json"),
        (["verify-model", "lenet"], "--output", "verdict.json"),
        (["sweep", "--vary", "threads=1,2"], "--output", "sweep"),
        (["concurrent", "--train", "lenet", "--infer", "lenet"], "--output", "beside"),
        (["package", "--org", "acme", "--availability", "available"], "--archive", "acme.tar"),
        (["package", "--org", "none", "--availability", "available"], "--output", ""),
        (["implementation", "new", "theirs", "--language", "c"], "--output", ""),
    ],
)
def test_nothing_is_written_into_a_run_directory(
    command: list[str],
    option: str,
    place: str,
    good_bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It would replace a record of the run, or add what breaks its seal."""
    before = sorted(good_bundle.rglob("*")), (good_bundle / "log.txt").read_bytes()
    has_run = command[0] in ("trace", "report", "figure", "audit", "package")
    run = [str(good_bundle)] if has_run else []
    monkeypatch.setattr("sys.argv", ["suite", *command, *run, option, str(good_bundle / place)])
    with pytest.raises(SystemExit) as end:
        main()
    assert (
        end.value.code == 2
        and f"is in the run directory {good_bundle}, which holds only the run's records"
        in capsys.readouterr().err
    )
    assert (sorted(good_bundle.rglob("*")), (good_bundle / "log.txt").read_bytes()) == before


def test_a_user_without_a_home_folder_is_told_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container with a made-up user: every command asks for the suite's folder."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "SUITE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.argv", ["suite", "--version"])
    with pytest.raises(SystemExit) as end:
        main()
    said = "error: This user has no home folder; set HOME to a folder.\n"
    assert (capsys.readouterr().err, end.value.code) == (said, 2)


def test_a_folder_that_was_removed_meanwhile_is_a_sentence(tmp_path: Path) -> None:
    script = (
        "mkdir gone && cd gone && rmdir ../gone && exec"
        f' "{Path(sys.executable).with_name("suite")}" doctor'
    )
    answer = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (
        2,
        ("error: The current folder was removed; change into one that exists.\n"),
    )


def test_a_hostfile_is_read_before_an_environment_is_looked_for(suite: Run, tmp_path: Path) -> None:
    answer = suite.refused(f"cluster doctor --hostfile {tmp_path}", SUITE_HOME=str(tmp_path))
    assert answer.stderr.startswith(f"error: {tmp_path} cannot be read: Is a directory; ")


def test_the_doctor_refuses_the_slots_that_a_run_refuses(suite: Run, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("pi1 slots=2\npi2 slots=4\n", "utf-8")
    answer = suite.refused(f"cluster doctor --hostfile {hosts}", SUITE_HOME=str(tmp_path))
    assert "states different numbers of slots (2, 4)" in answer.stderr


def test_to_verify_data_that_are_not_the_published_ones_does_not_succeed(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(digits, tmp_path / "digits"))
    suite.done(f"data verify digits --from {copy}")
    (file,) = copy.rglob("t10k-images-idx3-ubyte")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    answer = suite.typed(f"data verify digits --from {copy}")
    assert answer.returncode == 1
    assert f"different: {file} has SHA-256" in answer.stdout


def test_a_trace_of_a_logger_that_is_not_there_is_named_once(suite: Run, good_bundle: Path) -> None:
    answer = suite.typed(f"power attach {good_bundle} /nowhere.csv --covers board")
    assert (answer.returncode, answer.stderr) == (
        2,
        "error: /nowhere.csv cannot be read: No such file or directory.\n",
    )


@pytest.mark.parametrize(
    ("typed", "again"),
    [
        (
            "run --workload lenet --division=open --output=o --seed 3",
            "run again: suite run --workload lenet --division open --output o-2 --seed 3",
        ),
        (
            "run --workload lenet --division closed --output o --keep-states",
            "run again: suite run --workload lenet --division closed --output o-2 --keep-states",
        ),
        (
            "run --workload lenet --division open --output o --keep-states",
            "continue: suite run --workload lenet --division open --output o-2 --keep-states"
            " --resume o",
        ),
        (
            "run --workload lenet --division open --output o --short 3",
            "continue: suite run --workload lenet --division open --output o-2 --short 3"
            " --resume o",
        ),
        (
            "run --workload lenet --division open --output o-2 --keep-states --resume o",
            "continue: suite run --workload lenet --division open --output o-2-2 --keep-states"
            " --resume o-2",
        ),
        (
            "run --workload lenet --division open --output early --keep-states",
            "run again: suite run --workload lenet --division open --output early-2 --keep-states",
        ),
        ("run --division open --output o", "continue: suite run --division open --output o"),
        (
            "run --division open --workload lenet --boards b --output o",
            "continue: suite run --division open --workload lenet --boards b --output o",
        ),
        ("sweep --vary a=1 --output o", "run again: suite sweep --vary a=1 --output o"),
    ],
)
def test_what_is_typed_after_ctrl_c_works(
    typed: str, again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the interrupted run is taken; its states are there to go on from, but for one
    whose first epoch had not ended."""
    monkeypatch.chdir(tmp_path)
    for name in ("o.states", "o-2.states"):
        Path(name).mkdir()
        (Path(name) / "epoch_1.npz").touch()
    assert _resume_hint(typed.split()) == again


def test_ctrl_c_before_a_command_begins_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While its options are read, where Typer itself would end it."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suite.cli.app.LazyGroup.make_context", interrupted)
    monkeypatch.setattr("sys.argv", ["suite", "list", "rounds"])
    with pytest.raises(SystemExit) as end:
        main()
    assert (capsys.readouterr().err.strip(), end.value.code) == ("error: Interrupted.", 2)
