"""The tutorials are true: every command of a page is executed, in order, in one new folder, and
what the page prints is compared with what comes out.

A block of ``sh`` or ``python`` is executed. The block of ``text`` after it is what it prints: ``…``
is any text of a line, a line of ``…`` any lines. A block after ``<!-- not executed: REASON -->`` is
not executed.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.files.paths import repository_root

ROOT = repository_root()
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NEEDED_COMMAND = {"vendor": "cc"}
"""Programs that a page needs beside the suite."""
MAX_NOT_EXECUTED = 2
"""Blocks of a page that are not executed."""
_BLOCK = re.compile(
    r"(?:^<!-- not executed: (?P<reason>[^\n]+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """Commands of a page, why they are not executed (None: they are), and what the page says that
    they print."""

    kind: str
    text: str
    reason: str | None
    expected: str | None = None


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    for match in _BLOCK.finditer(page):
        if match["kind"] == "text":
            assert found and found[-1].expected is None, "an output without its command"
            found[-1].expected = match["text"]
        else:
            found.append(Block(match["kind"], match["text"], match["reason"]))
    return found


def is_printed(expected: str, printed: str) -> bool:
    """Whether a program printed what a page says: all lines in order, none left out but for lines
    of ``…``."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "…" else re.escape(line).replace("…", r"[^\n]*") + r"[ \t]*\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.proof  # short runs beside other programs have findings of their own
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    needed = NEEDED_COMMAND.get(page.stem)
    if needed is not None and shutil.which(needed) is None:
        pytest.skip(f"needs {needed}")
    folder = tmp_path / "folder"
    folder.mkdir()
    if page.stem == "maintainer":  # it says so: beside the folder of a checkout
        shutil.copytree(ROOT / "submissions", folder / "submissions")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in {
        "suite": 'exec "{}" -c "from suite.cli.app import main; main()" "$@"',
        "python": 'exec "{}" "$@"',
    }.items():
        (programs / name).write_text("#!/bin/sh\n" + command.format(sys.executable) + "\n")
        (programs / name).chmod(0o755)
    variables = {
        name: value
        for name, value in os.environ.items()
        if name != "CI" and not name.startswith("PYTEST_")
    }
    variables |= {
        "SUITE_HOME": str(tmp_path / "home"),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "150",
    }
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.reason is not None:
            continue
        command = (
            ["bash", "-euc", block.text]
            if block.kind == "sh"
            else [sys.executable, "-c", block.text]
        )
        answer = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=800
        )
        assert answer.returncode == 0, f"{block.text}\n{answer.stdout}\n{answer.stderr}"
        assert block.expected is None or is_printed(block.expected, answer.stdout), (
            f"{block.text}\nprints\n{answer.stdout}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_hardly_anything_is_left_out(page: Path) -> None:
    found = blocks(page.read_text(encoding="utf-8"))
    assert {block.kind for block in found} <= {"sh", "python"}
    assert sum(block.reason is None for block in found) >= 4
    assert sum(block.reason is not None for block in found) <= MAX_NOT_EXECUTED
    assert any(block.expected for block in found)
    assert page.read_text(encoding="utf-8").count("\n```") == 2 * (
        len(found) + sum(block.expected is not None for block in found)
    )


def test_an_output_that_differs_is_found() -> None:
    assert is_printed("a … c\n…\nlast\n", "a b c\nx\ny\nlast\n")
    assert is_printed("…\nlast\n", "last\n")
    assert not is_printed("a … c\n…\nlast\n", "a b d\nlast\n")
    assert not is_printed("last\n", "x\nlast\n")
    assert not is_printed("…\n5 points\n", "x\n15 points\n")
