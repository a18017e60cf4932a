"""The list of mistakes is long, every edit still fits the sources, and a golden value notices one
of each class in shared code."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from proofs.jax_example.mistakes import MISTAKES as OF_THE_EXAMPLE
from proofs.mistakes.__main__ import TESTS, copy_sources, failed_tests
from proofs.mistakes.mistake import GOLDEN
from proofs.mistakes.mistakes import MISTAKES, NONE
from proofs.strangers.mistakes import OF_DEEP_NETWORKS
from suite.files.paths import repository_root

MIN_MISTAKES = 280
"""The number may only grow."""

A_FEW = (
    "order: the same in every epoch",
    "mnist: transposed digits",
    "photographs: nearest pixel",
    "one_cycle: warm-up over a tenth",
    "loop: one rate for an epoch",
    "weights: fan_in for fan_out",
)
"""Of each class one; `make prove mistakes` makes them all."""


def test_the_list_is_long_and_has_every_class() -> None:
    assert len(MISTAKES) >= MIN_MISTAKES
    assert not [
        name for name, count in Counter(mistake.name for mistake in MISTAKES).items() if count > 1
    ]
    assert {mistake.framework for mistake in MISTAKES} == {None, "pytorch", "tensorflow", "chainer"}


def test_tests_that_must_notice_a_mistake_exist() -> None:
    folder = repository_root() / "tests" / "reference_impls"
    for file, test in TESTS.values():
        assert f"def {test}(" in (folder / file).read_text(encoding="utf-8")


def test_every_edit_fits_the_sources(tmp_path: Path) -> None:
    for mistake in (*MISTAKES, *OF_THE_EXAMPLE, *OF_DEEP_NETWORKS):
        (tmp_path / mistake.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository_root() / mistake.path, tmp_path / mistake.path)
        mistake.apply(tmp_path)
        assert (tmp_path / mistake.path).read_text() != (
            repository_root() / mistake.path
        ).read_text(), mistake.name


@pytest.mark.proof
def test_a_mistake_in_shared_code_misses_a_golden_value(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    few = [mistake for mistake in MISTAKES if mistake.proof == GOLDEN and mistake.name in A_FEW]
    found = failed_tests(tmp_path, "golden", [NONE, *few])
    assert set(found) == {NONE.name, *A_FEW}
    assert {name for name, (test, _) in found.items() if not test} == {NONE.name}
