"""Retired identifiers and phrases (tests/retired.toml) do not come back."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from suite.files.paths import repository_root

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = repository_root()
RETIRED = tomllib.loads((ROOT / "tests" / "retired.toml").read_text(encoding="utf-8"))["retired"]
CODE = ("suite", "reporter", "reference_impls")
SCOPES = {"code": CODE, "text": (*CODE, "tests", "benchmarks", "tools", "docs", "rules", "README.md", "Makefile", "tox.ini")}
ENDINGS = (".py", ".md", ".html", ".js", ".css", ".toml", ".sh", ".ini", "Makefile")
EXEMPT = {"rules/CHANGELOG.md", "tests/retired.toml", "tests/test_retired.py"}


def files(scope: str) -> list[Path]:
    found = [path for name in SCOPES[scope] for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))]
    return sorted(path for path in found if path.is_file() and path.name.endswith(ENDINGS) and "__pycache__" not in path.parts)


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files("text")}


def pattern(entry: dict[str, Any]) -> "re.Pattern[str]":
    if "identifier" in entry:
        return re.compile(rf"\b{re.escape(entry['identifier'])}\b")
    return re.compile(r"\s+".join(map(re.escape, entry["phrase"].split())), re.IGNORECASE)


@pytest.mark.parametrize("entry", RETIRED, ids=lambda entry: entry.get("identifier") or entry["phrase"])
def test_a_retired_word_does_not_come_back(entry: dict[str, Any]) -> None:
    found = []
    for name in (path.relative_to(ROOT).as_posix() for path in files(entry["scope"])):
        if name in EXEMPT or name in entry.get("except", ()):
            continue
        text = TEXTS[name]
        found += [f"{name}:{text.count(chr(10), 0, match.start()) + 1}" for match in pattern(entry).finditer(text)]
    assert not found, f"{entry.get('identifier') or entry['phrase']!r} is retired; write {entry['instead']}: {', '.join(found[:20])}"


@pytest.mark.parametrize("entry", RETIRED, ids=lambda entry: entry.get("identifier") or entry["phrase"])
def test_an_exception_is_needed(entry: dict[str, Any]) -> None:
    for name in entry.get("except", ()):
        assert pattern(entry).search(TEXTS[name]), f"{name} does not contain it any more: take it out of `except`"
