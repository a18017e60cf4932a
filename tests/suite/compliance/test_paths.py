"""Folders that are given to the checker: leftovers of bundles, withdrawn runs, stall analyses."""

from pathlib import Path

import pytest

from suite.bundle.layout import WITHDRAWN
from suite.compliance.paths import check_paths
from suite.errors import SuiteError
from tests.mutation.score import good_submission


@pytest.mark.parametrize("name", ["log.txt", "steps.parquet", "summary.json"])
def test_a_bundle_without_run_json_is_said(name: str, good_bundle: Path) -> None:
    (good_bundle / "run.json").unlink()
    result = check_paths([good_bundle])
    assert not result.complies and name in result.broken[0]


def test_a_folder_named_like_a_run_is_said(good_bundle: Path) -> None:
    (good_bundle.parent / "more" / "run_3").mkdir(parents=True)
    result = check_paths([good_bundle.parent])
    assert (len(result.bundles), result.bundles[0].complies, result.complies) == (1, True, False)
    assert "run_3 has no run.json, but its name is that of a run" in result.broken[0]


def test_a_folder_with_nothing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no run directory"):
        check_paths([tmp_path])


@pytest.mark.parametrize(("place", "complies"), [("run_3/WITHDRAWN", True), ("run_3.WITHDRAWN", True), ("run_9.WITHDRAWN", False), (WITHDRAWN, True)])
def test_a_withdrawn_run_stays_in_the_tree_with_its_reason(place: str, complies: bool, tmp_path: Path) -> None:
    submission = good_submission(tmp_path / "made")
    (submission / "lenet" / "pytorch" / place).write_text("The fan failed.\r\n")
    assert check_paths([submission]).complies is complies
    (submission / "lenet" / "pytorch" / place).write_text(" \n")
    assert not check_paths([submission]).complies


def test_what_can_be_checked_is_checked_beside_what_cannot(good_bundle: Path, tmp_path: Path) -> None:
    (text := tmp_path / "notes.txt").write_text("no archive")
    (empty := tmp_path / "empty").mkdir()
    result = check_paths([good_bundle, text, empty])
    assert [verdict.complies for verdict in result.bundles] == [True] and not result.complies
    assert len(result.broken) == 2 and "notes.txt" in result.broken[0] and "empty holds no run directory" in result.broken[1]
