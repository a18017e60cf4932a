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
CODE = ("suite", "extensions", "reporter", "reference_impls")
SCOPES = {
    "code": CODE,
    "text": (
        *CODE,
        "tests",
        "proofs",
        "benchmarks",
        "tools",
        "docs",
        "rules",
        "README.md",
        "Makefile",
        "tox.ini",
    ),
}
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
    found = [
        path
        for name in SCOPES[scope]
        for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
    ]
    files = sorted(
        path
        for path in found
        if path.is_file() and path.name.endswith(ENDINGS) and "__pycache__" not in path.parts
    )
    return {
        name: path.read_text(encoding="utf-8")
        for path in files
        if (name := path.relative_to(ROOT).as_posix()) not in EXEMPT
    }


TEXTS = {scope: texts(scope) for scope in SCOPES}


@pytest.fixture(scope="module")
def lowered() -> dict[str, dict[str, str]]:
    """Every text with single spaces and small letters: what does not occur there occurs nowhere."""
    return {
        scope: {name: " ".join(text.lower().split()) for name, text in found.items()}
        for scope, found in TEXTS.items()
    }


@pytest.fixture(scope="module")
def joined(lowered: dict[str, dict[str, str]]) -> dict[str, str]:
    """All texts of a scope in one."""
    return {scope: "\n".join(texts.values()) for scope, texts in lowered.items()}


@pytest.mark.parametrize("kind", ["identifiers", "phrases"])
def test_a_retired_word_does_not_come_back(
    kind: str, lowered: dict[str, dict[str, str]], joined: dict[str, str]
) -> None:
    found = []
    for word in (
        word
        for word in RETIRED
        if word.is_identifier is (kind == "identifiers") and word.text.lower() in joined[word.scope]
    ):
        allowed = LISTS["exceptions"].get(word.text, ())
        for name in (
            name
            for name, text in lowered[word.scope].items()
            if word.text.lower() in text and name not in allowed
        ):
            text = TEXTS[word.scope][name]
            if match := word.pattern.search(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: {word.text!r} is retired; write {word.instead}")
    assert not found, "\n".join(found[:20])


def test_an_exception_is_needed() -> None:
    words = {word.text: word for word in RETIRED}
    for name, files in LISTS["exceptions"].items():
        for file in files:
            text = TEXTS[words[name].scope][file]
            assert words[name].pattern.search(text), (
                f"{file} does not contain {name!r} any more: remove the exception"
            )


def test_the_search_finds_a_word_across_lines() -> None:
    assert Retired("one a line", "", "text", False).pattern.search("hosts, one\n    a line")
    assert not Retired("to_first", "", "text", True).pattern.search("to_first_clock")
