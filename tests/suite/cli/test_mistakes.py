"""Typical mistakes: one sentence that names the next step, the right exit code, nothing left
behind."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from tests.suite.cli.mistakes import INVALID, MISTAKES, a_strangers_folder, type_in


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with a_strangers_folder() as folder:
        yield folder


@pytest.mark.parametrize("command", MISTAKES | INVALID)
def test_a_mistake_is_answered_with_a_sentence(command: str, place: Path) -> None:
    said, found = type_in(command)
    words, code = (MISTAKES | INVALID)[command], 1 if command in INVALID else 2
    assert (found, words in said) == (code, True), said
    assert "Traceback" not in said and "Unexpected error" not in said
    assert {path.name for path in place.iterdir()} == {"empty", "twice.txt", "words.txt"}


def test_the_page_has_every_mistake_in_this_order() -> None:
    page = (repository_root() / "docs" / "mistakes.md").read_text(encoding="utf-8")
    typed = re.findall(r"^\| `(.+?)` \|", page, re.M)
    assert typed == list(MISTAKES | INVALID), "python -m tests.suite.cli.mistakes makes its table"
