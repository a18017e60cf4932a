"""Licence, citation and line ends: what strangers' tools read of the repository."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from suite import __version__
from suite.files.paths import repository_root
from tests.conftest import Run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = repository_root()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_is_valid_and_of_this_version() -> None:
    """The schema is the Citation File Format's own (version 1.2.0, doi.org/10.5281/zenodo.5171937,
    CC-BY-4.0)."""
    schema = json.loads((ROOT / "tests" / "citation_schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(CITATION)
    assert (CITATION["version"], CITATION["license"]) == (__version__, PROJECT["license"])


def test_the_licence_is_the_whole_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="ascii")
    assert PROJECT["license"] == "Apache-2.0"
    assert (
        "Version 2.0, January 2004" in text
        and "9. Accepting Warranty" in text
        and "END OF TERMS AND CONDITIONS" in text
    )


def test_the_changelog_has_its_sections_for_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = text.split("\n## ")[1]
    assert newest.startswith(__version__.rsplit(".", 1)[0])
    assert [line for line in newest.splitlines() if line.startswith("### ")] == [
        "### Code",
        "### Rules",
        "### Results",
    ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone by somebody whose git converts line ends."""
    place = tmp_path_factory.mktemp("clone") / "checkout"
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "clone",
        "--quiet",
        "--config",
        "core.autocrlf=true",
        ROOT,
        place,
    ]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs the repository's history, which an unpacked archive lacks")
    return place


def test_a_clone_that_converts_line_ends_converts_none_here(clone: Path) -> None:
    listing = subprocess.run(
        ["git", "-C", clone, "ls-files", "--eol"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(listing) > 500
    assert [line for line in listing if "w/crlf" in line or "w/mixed" in line] == []


def test_submissions_in_such_a_clone_still_comply(clone: Path, suite: Run) -> None:
    suite.done(f"check {clone}/submissions/v0.1/reference")
