"""A small file that unpacks to millions of rows or values is judged within 300 MiB."""

from pathlib import Path

import pytest

from proofs.hostile_sizes.__main__ import HOSTILE, MAX_MIB, check
from suite.compliance.checker import check_bundle
from tests.every_case import some


@pytest.mark.parametrize("name", some(HOSTILE))
@pytest.mark.usefixtures("starts_programs")
def test_checking_is_bounded(name: str, tmp_path: Path) -> None:
    used, _ = check(tmp_path, HOSTILE[name])
    assert used.exit_code == 1 and used.peak_mib < MAX_MIB


@pytest.mark.proof
def test_more_rows_than_the_request_can_have_written_are_refused_unread_with_both_numbers(
    tmp_path: Path,
) -> None:
    check(tmp_path, HOSTILE["8 million equal steps"])
    observed = [
        finding.observed
        for finding in check_bundle(tmp_path / "bundle").findings
        if finding.check == "bundle-readable"
    ]
    assert (
        len(observed) == 1
        and "has 8000000 rows, more than the 47500 possible: the request is for 10 epochs of 1875"
        in observed[0]
    )
