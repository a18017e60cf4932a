"""A small part of `make prove fuzz`, and tests of the watch itself."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.fuzz.__main__ import Tally, explore
from proofs.fuzz.targets import targets
from proofs.fuzz.watch import Watch
from suite.errors import SuiteError

INPUTS = 300


@pytest.fixture(scope="module")
def tallies(tmp_path_factory: pytest.TempPathFactory) -> list[Tally]:
    """What came of the first inputs of each target."""
    watch = Watch(tmp_path_factory.mktemp("fuzz"))
    return [explore(watch, target, INPUTS) for target in targets(watch)]


def test_the_checker_withstands_edited_input(tallies: list[Tally]) -> None:
    assert sum(tally.inputs for tally in tallies) >= 0.99 * INPUTS
    assert all(
        tally.not_compliant + tally.refused
        for tally in tallies
        if tally.target not in ("bytes of a log", "a submission's files")
    )


def _raise(error: Exception) -> None:
    raise error


FORBIDDEN: dict[str, Callable[[Path], object]] = {
    "writes": lambda folder: (folder / "more").write_text("x"),
    "makes a folder": lambda folder: (folder / "more").mkdir(),
    "deletes": lambda folder: (folder / "there").unlink(),
    "starts a program": lambda folder: os.system("true"),
    "prints unprintable text": lambda folder: print("\ud800"),
    "fails": lambda folder: _raise(ValueError("a traceback")),
}


@pytest.mark.parametrize("act", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_the_watch_notices_a_reader_that(act: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises((AssertionError, ValueError)):
        Watch(tmp_path).call(lambda: act(tmp_path), tmp_path)


def test_the_watch_counts_an_error_sentence_as_refused(tmp_path: Path) -> None:
    assert Watch(tmp_path).call(lambda: _raise(SuiteError("It is no bundle."))) == 2
