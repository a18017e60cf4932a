"""Retired identifiers and phrases (tests/retired.toml) do not come back."""

import re
import sys
from typing import NamedTuple

import pytest

from suite.files.paths import repository_root

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = repository_root()
LISTS = tomllib.loads((ROOT / "tests" / "retired.toml").read_text(encoding="utf-8"))
CODE = ("suite", "reporter", "reference_impls")
SCOPES = {"code": CODE, "text": (*CODE, "tests", "benchmarks", "tools", "docs", "rules", "README.md", "Makefile", "tox.ini")}
ENDINGS = (".py", ".md", ".html", ".js", ".css", ".toml", ".template", ".sh", ".ini", "Makefile")
EXEMPT = {"rules/CHANGELOG.md", "tests/retired.toml", "tests/test_retired.py"}


class Retired(NamedTuple):
    """A word that must not occur within its scope, and what to write instead."""

    text: str
    instead: str
    scope: str
    is_identifier: bool

    @property
    def pattern(self) -> "re.Pattern[str]":
        if self.is_identifier:
            return re.compile(rf"\b{re.escape(self.text)}\b")
        return re.compile(r"\b" + r"\s+".join(map(re.escape, self.text.split())), re.IGNORECASE)


RETIRED = [
    Retired(text, instead, scope, kind == "identifiers")
    for kind in ("identifiers", "phrases")
    for scope, words in LISTS[kind].items()
    for text, instead in words.items()
]


def texts(scope: str) -> dict[str, str]:
    """The text of every file in a scope, by its place in the checkout."""
    found = [path for name in SCOPES[scope] for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))]
    files = sorted(path for path in found if path.is_file() and path.name.endswith(ENDINGS) and "__pycache__" not in path.parts)
    return {name: path.read_text(encoding="utf-8") for path in files if (name := path.relative_to(ROOT).as_posix()) not in EXEMPT}


TEXTS = {scope: texts(scope) for scope in SCOPES}


@pytest.mark.parametrize("word", RETIRED, ids=lambda word: word.text)
def test_a_retired_word_does_not_come_back(word: Retired) -> None:
    allowed = LISTS["exceptions"].get(word.text, ())
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        for name, text in TEXTS[word.scope].items()
        if name not in allowed
        for match in word.pattern.finditer(text)
    ]
    assert not found, f"{word.text!r} is retired; write {word.instead}: {', '.join(found[:20])}"


@pytest.mark.parametrize("name", LISTS["exceptions"])
def test_an_exception_is_needed(name: str) -> None:
    (word,) = (word for word in RETIRED if word.text == name)
    for file in LISTS["exceptions"][name]:
        assert word.pattern.search(TEXTS[word.scope][file]), f"{file} does not contain {name!r} any more: remove the exception"


def test_the_search_finds_a_word_across_lines() -> None:
    assert Retired("one a line", "", "text", False).pattern.search("hosts, one\n    a line")
    assert not Retired("to_first", "", "text", True).pattern.search("to_first_clock")
