"""The submissions in the checkout comply with its rules."""

from pathlib import Path

import pytest

from suite.compliance.paths import check_paths
from suite.files.paths import repository_root
from suite.submission.archive import pack
from suite.submission.folders import find_submissions

TREE = repository_root() / "submissions"


def test_every_submission_of_the_checkout_complies() -> None:
    verdict = check_paths([TREE])
    assert not verdict.broken
    assert [(str(path), finding.rule, finding.observed) for path, finding in verdict.all_findings()] == []


@pytest.mark.parametrize("submission", find_submissions(TREE), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_its_archive_complies_too(submission: Path, tmp_path: Path) -> None:
    pack(submission, tmp_path / "submission.tar")
    assert check_paths([tmp_path / "submission.tar"]).complies
