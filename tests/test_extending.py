"""docs/extending.md is true: in a scratch copy, `suite new`, the page's diff and the contract tests
of each kind."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.cli.skeletons import FILLED, MARKER, SkeletonKind, contract_command
from suite.files.paths import repository_root, suite_home

ROOT = repository_root()
PAGE = (ROOT / "docs/extending.md").read_text()


@dataclass(frozen=True)
class Example:
    """A section of the page."""

    kind: SkeletonKind
    name: str
    diff: str
    command: str
    files: int
    lines: int


def example(kind: SkeletonKind) -> Example:
    section = PAGE.split(f"\n## {kind.one.capitalize()}\n")[1].split("\n## ")[0]
    new, command = re.findall(r"```sh\n(.*?)\n```", section, re.DOTALL)
    (diff,) = re.findall(r"```diff\n(.*?)```", section, re.DOTALL)
    row = re.search(rf"^\| {kind.value} \| `(.*?)` \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert new == f"suite new {kind.value} {row[1]}"
    return Example(kind, row[1], diff, command, int(row[2]), int(row[3]))


class Scratch:
    """A copy of the tracked and new files of the checkout; commands run in it, with this Python."""

    def __init__(self, path: Path) -> None:
        self.path = path
        listed = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if os.path.lexists(ROOT / name):
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, path / name, follow_symlinks=False)

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        variables = {
            name: value
            for name, value in os.environ.items()
            if name != "CI" and not name.startswith("PYTEST_")
        }
        variables |= {"PYTHONPATH": str(self.path), "SUITE_HOME": str(suite_home())}
        return subprocess.run(command, cwd=self.path, env=variables, capture_output=True, text=True)

    def suite(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-c", "from suite.cli.app import main; main()", *arguments)

    def make(self, target: str) -> None:
        """Run a target's recipe without its prerequisites."""
        recipe = (self.path / "Makefile").read_text().split(f"\n{target}:")[1].split("\n\n")[0]
        for line in re.findall(r"^\t@?(.*)$", recipe, re.MULTILINE):
            answer = self.run(*shlex.split(line.replace("$(VENV)/bin/python", sys.executable)))
            assert answer.returncode == 0, answer.stderr

    def apply(self, diff: str) -> None:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn"],
            cwd=self.path,
            input=diff,
            text=True,
            check=True,
        )


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path / "copy")


@pytest.mark.proof
@pytest.mark.parametrize("kind", SkeletonKind, ids=lambda kind: kind.value)
def test_the_pages_example_fulfils_its_contract(kind: SkeletonKind, scratch: Scratch) -> None:
    shown = example(kind)
    assert shown.command == contract_command(kind, shown.name)
    written = scratch.suite("new", kind.value, shown.name)
    assert written.returncode == 0, written.stderr
    files = re.findall(r"^  (\S+)$", written.stdout.split("Next")[0], re.MULTILINE)
    assert files and all((scratch.path / name).is_file() for name in files)
    unfilled = scratch.run(sys.executable, "-m", "pytest", FILLED, "-q")
    assert unfilled.returncode == 1
    assert f"{files[-1]}:" in unfilled.stdout and MARKER in unfilled.stdout
    scratch.apply(shown.diff)
    touched = {*files, *re.findall(r"^\+\+\+ b/(.*)$", shown.diff, re.MULTILINE)}
    assert len(touched) == shown.files
    assert (
        sum(len((scratch.path / name).read_text().splitlines()) for name in files)
        + added(shown.diff, touched - {*files})
        == shown.lines
    )
    for target in re.findall(r"^  \d+\. make (\S+)$", written.stdout, re.MULTILINE):
        scratch.make(target)
    tested = scratch.run(sys.executable, *shlex.split(shown.command)[1:])
    assert tested.returncode == 0, tested.stdout[-5000:]
    assert re.search(r"\d+ passed", tested.stdout)


def added(diff: str, files: set[str]) -> int:
    """Lines that the diff adds to these files."""
    parts = re.split(r"^--- a/", diff, flags=re.MULTILINE)
    return sum(
        len(re.findall(r"^\+(?!\+\+ )", part, re.MULTILINE))
        for part in parts
        if part.partition("\n")[0] in files
    )


def test_every_kind_has_its_section() -> None:
    for kind in SkeletonKind:
        assert example(kind).command == contract_command(kind, example(kind).name)
