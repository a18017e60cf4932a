"""`suite new`: what it writes, what it prints, what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from suite.catalog.devices import load_device
from suite.catalog.extensions import read_extension
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.cli.app import app
from suite.cli.skeletons import MARKER, SkeletonKind, contract_command, write_skeleton
from suite.errors import SuiteError
from tests.conftest import Run

NAMES = {kind: "new_one" if kind is SkeletonKind.FRAMEWORK else "new-one" for kind in SkeletonKind}


@pytest.mark.parametrize("kind", SkeletonKind, ids=lambda kind: kind.value)
def test_a_skeleton_names_what_to_fill_in_and_what_to_do_next(
    kind: SkeletonKind, tmp_path: Path
) -> None:
    skeleton = write_skeleton(kind, NAMES[kind], tmp_path)
    texts = {path: (tmp_path / path).read_text() for path in skeleton.files}
    assert set(tmp_path.rglob("*.*")) == {tmp_path / path for path in skeleton.files}
    assert any(MARKER in text for text in texts.values())
    assert not any(
        "$" in text or "NAME" in str(path) or "MODULE" in str(path) for path, text in texts.items()
    )
    assert skeleton.steps[-1] == contract_command(kind, NAMES[kind])
    for path, text in texts.items():
        if path.suffix == ".py":
            compile(text, str(path), "exec")


def test_skeletons_of_definitions_can_be_loaded(tmp_path: Path) -> None:
    """A part that is not filled in yet does not break the commands that read all parts."""
    for kind in (SkeletonKind.DEVICE, SkeletonKind.WORKLOAD, SkeletonKind.FRAMEWORK):
        write_skeleton(kind, NAMES[kind], tmp_path)
    assert load_device("new-one", tmp_path).power_modes == ()
    assert load_workload("new-one", tmp_path).model == "new_one"
    assert load_framework("new_one", tmp_path).module == "reference_impls.new_one"


def test_an_extension_has_a_command_and_a_chart_and_its_folder_a_python_name(
    tmp_path: Path,
) -> None:
    for name in ("new-one", "new_two"):
        write_skeleton(SkeletonKind.EXTENSION, name, tmp_path)
    folder = tmp_path / "extensions" / "new_one"
    found = read_extension(folder / "extension.toml", "suite.extensions.new_one")
    assert [each.name for each in found.commands] == ["new-one"]
    assert "def new_one(" in (folder / "command.py").read_text()
    assert '"new_one"' in (folder / "figures.py").read_text()
    assert (tmp_path / "extensions/new_two/command.py").exists()


def test_a_panel_of_an_extension_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "extension.toml"
    file.write_text('title = "new"\n[[commands]]\nname = "new"\nhelp = "New."\npanel = "Stuides"\n')
    with pytest.raises(SuiteError, match=r"panel: expected one of Start, .*, found 'Stuides'"):
        read_extension(file, "suite.extensions.new")


@pytest.mark.parametrize("kind", SkeletonKind, ids=lambda kind: kind.value)
def test_an_existing_part_is_not_touched(kind: SkeletonKind, tmp_path: Path) -> None:
    first, *_ = write_skeleton(kind, NAMES[kind], tmp_path).files
    (tmp_path / first).write_text("a week of work")
    with pytest.raises(SuiteError, match=f"The {kind.value} '{NAMES[kind]}' exists"):
        write_skeleton(kind, NAMES[kind], tmp_path)
    assert (tmp_path / first).read_text() == "a week of work"


@pytest.mark.parametrize(
    "name", ["", "New", "1st", "a b", "../up", "a--b", "class", "x" * 41, "naïve"]
)
@pytest.mark.parametrize("kind", SkeletonKind, ids=lambda kind: kind.value)
def test_a_name_that_none_can_have_is_refused(
    kind: SkeletonKind, name: str, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError, match=f"cannot name {kind.one}: begin with a letter"):
        write_skeleton(kind, name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (SkeletonKind.FRAMEWORK, "communication"),
        (SkeletonKind.RULE, "log-chain"),
        (SkeletonKind.METER, "rpi5-pmic"),
        (SkeletonKind.EXTENSION, "memory-study"),
    ],
    ids=[
        "a package would hide a module",
        "the rule is in a module of another name",
        "the meter is in a module of another name",
        "the folder of an extension has underscores",
    ],
)
def test_a_name_that_is_used_elsewhere_is_refused(kind: SkeletonKind, name: str) -> None:
    with pytest.raises(SuiteError, match=f"The {kind.value} '{name}' exists"):
        write_skeleton(kind, name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [("device orin", "The device 'orin' exists"), ("rule 'A B'", "cannot name a rule")],
)
def test_a_refusal_is_one_sentence_and_exit_code_2(arguments: str, words: str, suite: Run) -> None:
    refused = suite.refused(f"new {arguments}")
    assert words in refused.stderr and len(refused.stderr.strip().splitlines()) == 1


def test_an_unknown_kind_is_a_usage_error(suite: Run) -> None:
    refused = suite.refused("new gadget x")
    assert "gadget" in refused.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_the_command_prints_files_and_next_steps(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suite.cli import skeletons

    monkeypatch.setattr(skeletons, "checkout", lambda: tmp_path)
    elsewhere = CliRunner().invoke(app, ["new", "device", "new-one"])
    assert f"writes into the checkout {tmp_path}; go there" in str(elsewhere.exception)
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["new", "device", "new-one", *options])
    assert answer.exit_code == 0, answer.output
    if options:
        assert json.loads(answer.output)["files"] == ["rules/devices/new-one.toml"]
    else:
        assert (
            "  rules/devices/new-one.toml\n" in answer.output
            and "python -m pytest" in answer.output
        )
