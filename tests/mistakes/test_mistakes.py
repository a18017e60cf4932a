"""The list of mistakes is long, every edit still fits the sources, and each mistake in shared code is noticed by a golden value."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from tests.mistakes.mistakes import GOLDEN, MISTAKES, Mistake
from tests.mistakes.score import GOLDEN_FILE, copy_sources, failed_test, made

MIN_MISTAKES = 107
"""The number may only grow."""

IN_SHARED_CODE = [mistake for mistake in MISTAKES if mistake.proof == GOLDEN]


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


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, without a mistake."""
    folder = tmp_path_factory.mktemp("copy")
    copy_sources(folder)
    return folder


@pytest.mark.slow
def test_the_copy_has_no_mistake(copied: Path) -> None:
    assert failed_test(copied, (GOLDEN_FILE,)) is None


@pytest.mark.slow
@pytest.mark.parametrize("mistake", IN_SHARED_CODE, ids=lambda mistake: mistake.name)
def test_a_mistake_in_shared_code_misses_a_golden_value(mistake: Mistake, copied: Path) -> None:
    with made(mistake, copied):
        assert failed_test(copied, (GOLDEN_FILE,)) is not None
