"""Folders that are given to the checker: leftovers of bundles, withdrawn runs, stall analyses."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from reference_impls.turns.messages import STEP_TIMES
from suite import api
from suite.bundle.layout import WITHDRAWN
from suite.compliance.checker import find_bundles
from suite.compliance.paths import check_paths
from suite.errors import SuiteError
from suite.files.tree import SITE_MARK
from tests.builders import RICH, make_bundle
from tests.every_case import some
from tests.extensions.concurrent.good_folder import make_experiment
from tests.faults.edits.audit_edits import add_audit
from tests.good_submissions import good_submission


@pytest.mark.parametrize("name", ["log.txt", "steps.parquet", "summary.json"])
def test_a_bundle_without_run_json_is_said(name: str, good_bundle: Path) -> None:
    (good_bundle / "run.json").unlink()
    result = check_paths([good_bundle])
    assert not result.complies and name in result.broken[0]


def test_a_folder_named_like_a_run_is_said(good_bundle: Path) -> None:
    (good_bundle.parent / "more" / "run_3").mkdir(parents=True)
    result = check_paths([good_bundle.parent])
    assert (len(result.bundles), result.bundles[0].complies, result.complies) == (1, True, False)
    assert "run_3 has no run.json, but it is named like a run" in result.broken[0]


@pytest.mark.parametrize(
    "fill",
    [make_experiment, lambda folder: make_bundle(folder / "pytorch", RICH)],
    ids=["a record", "runs"],
)
def test_a_folder_named_like_a_run_may_hold_others(
    fill: Callable[[Path], object], tmp_path: Path
) -> None:
    fill(tmp_path / "run_3")
    assert check_paths([tmp_path]).complies


def test_the_training_of_an_interrupted_measurement_was_no_run(good_bundle: Path) -> None:
    training = good_bundle.parent / "beside" / "training-alone" / "training"
    training.mkdir(parents=True)
    for name in ("log.txt", STEP_TIMES):
        (training / name).touch()
    assert check_paths([good_bundle.parent]).complies


def test_a_folder_with_nothing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no run directory"):
        check_paths([tmp_path])


@pytest.mark.parametrize(
    ("place", "complies"),
    some(
        [
            ("run_3.WITHDRAWN", True),
            ("run_9.WITHDRAWN", False),
            ("run_3/WITHDRAWN", True),
            (WITHDRAWN, True),
        ],
        2,
    ),
)
def test_a_withdrawn_run_stays_in_the_tree_with_its_reason(
    place: str, complies: bool, tmp_path: Path
) -> None:
    submission = good_submission(tmp_path / "made")
    (submission / "lenet" / "pytorch" / place).write_text("The fan failed.\r\n")
    assert check_paths([submission]).complies is complies
    (submission / "lenet" / "pytorch" / place).write_text(" \n")
    assert not check_paths([submission]).complies


@pytest.mark.parametrize(
    "place",
    some([WITHDRAWN, f"../../{WITHDRAWN}", "run_1.WITHDRAWN", "run_1/WITHDRAWN"], 2),
)
def test_an_audit_no_longer_contradicts_what_is_withdrawn(place: str, tmp_path: Path) -> None:
    submission = good_submission(tmp_path / "made")
    add_audit({"losses.plain.3": 9.0, "losses.float64": "plain"}, judged=True)(submission)
    assert not check_paths([submission]).complies
    (submission / "lenet" / "pytorch" / place).write_text("The replay is right.\n")
    assert check_paths([submission]).complies


def test_what_can_be_checked_is_checked_beside_what_cannot(
    good_bundle: Path, tmp_path: Path
) -> None:
    (text := tmp_path / "notes.txt").write_text("no archive")
    (empty := tmp_path / "empty").mkdir()
    result = check_paths([good_bundle, text, empty])
    assert [verdict.complies for verdict in result.bundles] == [True] and not result.complies
    assert (
        len(result.broken) == 2
        and "notes.txt" in result.broken[0]
        and "empty holds no run directory" in result.broken[1]
    )


def test_a_submission_is_checked_once_however_its_path_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = good_submission(tmp_path / "made")
    (link := tmp_path / "link").symlink_to(submission)
    monkeypatch.chdir(tmp_path)
    run, relative = submission / "lenet" / "pytorch" / "run_1", submission.relative_to(tmp_path)
    result = check_paths([relative, submission, link, run])
    assert result.complies and not result.bundles
    assert [verdict.path for verdict in result.submissions] == [relative]


def test_a_run_is_checked_once_however_its_path_is_spelled(good_bundle: Path) -> None:
    result = check_paths([good_bundle, good_bundle.parent, good_bundle / ".." / good_bundle.name])
    assert result.complies and [verdict.path for verdict in result.bundles] == [good_bundle]


def test_a_file_of_a_run_leads_to_its_folder(good_bundle: Path) -> None:
    with pytest.raises(
        SuiteError, match=f"log.txt is a file of a run; give the run's folder, {good_bundle}"
    ):
        check_paths([good_bundle / "log.txt"])


@pytest.mark.parametrize(
    "name", ["run of M\u00fcller", os.fsdecode(b"of M\xfcller"), 'a "b"\n$(c)']
)
def test_a_run_complies_in_a_folder_of_any_name(name: str, good_bundle: Path) -> None:
    """The second name is one of Latin-1, which is no UTF-8."""
    assert check_paths([good_bundle.rename(good_bundle.with_name(name))]).complies


def test_a_checker_without_memory_could_not_judge(
    monkeypatch: pytest.MonkeyPatch, good_bundle: Path
) -> None:
    def short(*_: Any, **__: Any) -> None:
        raise pyarrow.ArrowMemoryError("malloc of size 210048 failed")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", short)
    (sentence,) = check_paths([good_bundle]).broken
    assert (
        "cannot be read: too little memory (malloc of size 210048 failed); end other programs"
        in sentence
    )


def test_copies_in_a_site_are_no_runs(good_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that `suite report` made shows parts of a run's records."""
    site = good_bundle.parent / "site"
    page = site / "runs" / "1"
    page.mkdir(parents=True)
    shutil.copy(good_bundle / "run.json", page)
    (site / SITE_MARK).write_text("{}")
    assert [each.path for each in check_paths([good_bundle.parent]).bundles] == [good_bundle]
    beside = check_paths([good_bundle, site])
    assert len(beside.bundles) == len(beside.broken) == 1 and not beside.complies
    monkeypatch.chdir(site)
    (good_bundle.parent / "link").symlink_to(site)
    for path in (site, page, Path(), good_bundle.parent / "link"):
        for use in (check_paths, api.load, lambda paths: find_bundles(paths[0])):
            with pytest.raises(SuiteError, match="`suite report` made, and its runs are copies"):
                use([path])
