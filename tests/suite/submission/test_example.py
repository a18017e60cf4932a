"""The submissions in the checkout comply with its rules."""

from pathlib import Path

import pytest

from suite.compliance.paths import CheckResult, check_paths
from suite.files.archive import pack_archive
from suite.files.paths import repository_root
from suite.submission.folder_names import find_submissions

TREE = repository_root() / "submissions"


@pytest.fixture(scope="module")
def verdict() -> CheckResult:
    """Of the whole tree."""
    return check_paths([TREE])


def test_every_submission_of_the_checkout_complies(verdict: CheckResult) -> None:
    assert not verdict.broken
    assert verdict.complies
    assert not list(verdict.all_findings())


@pytest.mark.proof
@pytest.mark.parametrize(
    "submission", find_submissions(TREE), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_its_archive_complies_too(submission: Path, tmp_path: Path) -> None:
    pack_archive(submission, tmp_path / "submission.tar", base=submission.parent.parent)
    assert check_paths([tmp_path / "submission.tar"]).complies
