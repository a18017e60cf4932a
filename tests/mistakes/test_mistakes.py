"""The list of mistakes is long, every edit still fits the sources, and a golden value notices one of each class in shared code."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from tests.mistakes.mistake import GOLDEN, Mistake
from tests.mistakes.mistakes import MISTAKES, NONE
from tests.mistakes.score import copy_sources, failed_tests

MIN_MISTAKES = 242
"""The number may only grow."""

A_FEW = (
    "order: the same in every epoch", "mnist: transposed digits", "photographs: nearest pixel", "one_cycle: warm-up over a tenth",
    "loop: one rate for an epoch", "weights: fan_in for fan_out",
)  # fmt: skip
"""Of each class one; `make mistakes` makes them all."""


def test_the_list_is_long_and_has_every_class() -> None:
    assert len(MISTAKES) >= MIN_MISTAKES
    assert not [name for name, count in Counter(mistake.name for mistake in MISTAKES).items() if count > 1]
    assert {mistake.framework for mistake in MISTAKES} == {None, "pytorch", "tensorflow", "chainer"}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_an_edit_fits_the_sources(mistake: Mistake, tmp_path: Path) -> None:
    (tmp_path / mistake.path).parent.mkdir(parents=True)
    shutil.copy(repository_root() / mistake.path, tmp_path / mistake.path)
    mistake.apply(tmp_path)
    assert (tmp_path / mistake.path).read_text() != (repository_root() / mistake.path).read_text()


@pytest.mark.slow
def test_a_mistake_in_shared_code_misses_a_golden_value(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    few = [mistake for mistake in MISTAKES if mistake.proof == GOLDEN and mistake.name in A_FEW]
    found = failed_tests(tmp_path, "golden", [NONE, *few])
    assert set(found) == {NONE.name, *A_FEW}
    assert {name for name, (test, _) in found.items() if not test} == {NONE.name}
