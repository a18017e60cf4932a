"""Typical mistakes: one sentence that names the next step, the right exit code, nothing left
behind."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suite.cli.mistakes import INVALID, MISTAKES, PAGE, a_strangers_folder, row, type_in

REFRESH = "`python -m tests.suite.cli.mistakes` writes the table of docs/mistakes.md"
ROWS = {line.split("`")[1]: line for line in PAGE.read_text("utf-8").splitlines() if "| `" in line}
CORES = re.compile(r"(?<=usable are )\d[\d, ]*|(?<=on )\d+ cores?(?=;)|(?<=from 1 to )\d+(?=\.)")
"""Where a sentence names the cores of the machine."""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with a_strangers_folder() as folder:
        yield folder


@pytest.mark.parametrize("command", MISTAKES | INVALID)
def test_a_mistake_is_answered_with_a_sentence(command: str, place: Path) -> None:
    said, found = type_in(command)
    words, code = (MISTAKES | INVALID)[command], 1 if command in INVALID else 2
    assert (found, words in said) == (code, True), said
    assert CORES.sub("N", row(command, said, found, place)) == CORES.sub("N", ROWS[command]), (
        REFRESH
    )
    assert "Traceback" not in said and "Unexpected error" not in said
    assert {path.name for path in place.iterdir()} == {"empty", "twice.txt", "words.txt"}


def test_the_page_has_every_mistake_in_this_order() -> None:
    assert list(ROWS) == list(MISTAKES | INVALID), REFRESH
