"""A small part of `make fuzz`, and that the watch over it notices what it is there for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.errors import SuiteError
from tests.fuzz.campaign import explore
from tests.fuzz.targets import targets
from tests.fuzz.watch import Watch

INPUTS = 5000


@pytest.mark.slow
def test_the_checker_bears_whatever_it_is_given(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    tallies = [explore(watch, target, INPUTS) for target in targets(watch)]
    assert sum(tally.inputs for tally in tallies) >= 0.99 * INPUTS
    assert all(tally.not_compliant + tally.refused for tally in tallies if tally.target not in ("bytes of a log", "a submission's files"))


def _raise(error: Exception) -> None:
    raise error


TRESPASSES: dict[str, Callable[[Path], object]] = {
    "writes": lambda folder: (folder / "more").write_text("x"),
    "makes a folder": lambda folder: (folder / "more").mkdir(),
    "takes away": lambda folder: (folder / "there").unlink(),
    "starts a program": lambda folder: os.system("true"),
    "prints what no terminal can show": lambda folder: print("\ud800"),
    "fails": lambda folder: _raise(ValueError("a traceback")),
}


@pytest.mark.parametrize("trespass", TRESPASSES.values(), ids=list(TRESPASSES))
def test_the_watch_notices_a_reader_that(trespass: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises((AssertionError, ValueError)):
        Watch(tmp_path).call(lambda: trespass(tmp_path), tmp_path)


def test_the_watch_counts_a_sentence_of_the_suite_as_an_answer(tmp_path: Path) -> None:
    assert Watch(tmp_path).call(lambda: _raise(SuiteError("It is no bundle."))) == 2
