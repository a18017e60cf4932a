"""Submissions: declaration, availability, findings on the whole submission, broken ones."""

import json
import shutil
from pathlib import Path

import pandas
import pytest

import reporter
from reporter.data.entries import make_entries
from reporter.data.missed import why_unranked
from reporter.site import build_site
from suite.submission.declaration import SystemAvailability
from suite.submission.objections import objections_folder
from suite.submission.package import PackageRequest, package_runs
from tests.builders import run_id
from tests.open_round import OPEN, SLUG

DISMISSED = {
    "date": "2026-11-22",
    "by": "A. Reader",
    "against": "submission-unfinished",
    "record": "declaration.json",
    "text": "Too many launches did not finish.",
    "state": "dismissed",
    "decision": "The power failed.",
    "decided_by": "B. Reviewer",
}


@pytest.fixture
def submission(runs: Path, tmp_path: Path) -> Path:
    """One organization's three runs, in their places."""
    offer = PackageRequest("pies-ltd", None, SystemAvailability.PREVIEW, "cooled by a fan", ())
    return package_runs(
        [runs / f"lenet-pytorch-{seed}" for seed in (1, 2, 3)], offer, tmp_path / "tree"
    )


def test_the_declaration_gives_organization_and_availability(submission: Path) -> None:
    runs = reporter.load([submission.parents[1]]).runs
    assert set(runs["organization"]) == {"pies-ltd"} and set(runs["availability"]) == {"preview"}
    assert set(runs["round"]) == {OPEN} and set(runs["notes"]) == {"cooled by a fan"}


def test_the_page_of_a_run_shows_the_declaration(submission: Path, tmp_path: Path) -> None:
    site = build_site([submission.parents[1]], tmp_path / "site").parent
    page = (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    assert f"<dt>round<dd>{OPEN}<dt>availability<dd>preview<dt>code" in page
    assert "cooled by a fan" in page


def test_the_page_of_a_run_that_nobody_submitted_says_so(runs: Path, tmp_path: Path) -> None:
    site = build_site([runs / "lenet-pytorch-1"], tmp_path / "site").parent
    page = (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    assert f"<dt>submitter<dd>no submission<dt>round<dd>{OPEN}<dt>code" in page


def test_availability_is_a_column_and_a_filter_where_rows_differ(
    runs: Path, submission: Path, tmp_path: Path
) -> None:
    others = [runs / f"lenet-chainer-{seed}" for seed in (1, 2, 3)]
    site = build_site([submission.parents[1], *others], tmp_path / "site").parent
    rows = pandas.read_csv(site / "data" / f"lenet-closed-mnist-{SLUG}.csv").set_index("framework")
    assert rows["availability"].to_dict() == {"pytorch": "preview", "chainer": "not submitted"}
    assert (
        'data-key="availability" data-facet'
        in (site / "boards" / f"lenet-closed-mnist-{SLUG}.html").read_text()
    )


def test_a_finding_on_the_submission_refuses_all_its_runs(submission: Path, tmp_path: Path) -> None:
    """The same run twice: each bundle complies, the submission does not."""
    system = json.loads((submission / "system.json").read_text())
    (submission / "system.json").write_text(json.dumps({**system, "board": "another one"}))
    loaded = reporter.load([submission])
    assert set(loaded.runs["state"]) == {"refused"}
    page = (
        build_site([submission], tmp_path / "site").parent
        / "boards"
        / f"lenet-closed-mnist-{SLUG}.html"
    )
    assert "Refused by the checker" in page.read_text()


def test_a_submission_that_cannot_be_read_is_listed_as_broken(
    submission: Path, tmp_path: Path
) -> None:
    (submission / "declaration.json").write_text("{")
    loaded = reporter.load([submission.parents[1]])
    assert (
        loaded.broken["place"].tolist() == [f"{OPEN}/pies-ltd"]
        and "declaration.json" in loaded.broken["reason"][0]
    )
    assert str(tmp_path) not in loaded.broken["reason"][0] and loaded.runs.empty


def test_a_submission_is_judged_once_however_its_path_is_spelled(
    submission: Path, tmp_path: Path
) -> None:
    (link := tmp_path / "link").symlink_to(submission)
    frames = reporter.load([link, submission.parents[1]])
    assert frames.broken.empty and len(frames.runs) == 3


def test_runs_of_a_submission_without_a_declaration_are_not_shown(submission: Path) -> None:
    """A forger could leave out what a declaration is judged by; a run alone is nobody's result."""
    (submission / "declaration.json").unlink()
    loaded = reporter.load([submission.parents[1]])
    assert loaded.runs.empty and "has no declaration.json" in loaded.broken["reason"][0]
    assert len(reporter.load([submission / "lenet"]).runs) == 3


def test_a_withdrawn_submission_is_kept_with_its_reason(submission: Path) -> None:
    (submission / "WITHDRAWN").write_text("The meter was wrong.")
    runs = reporter.load([submission]).runs
    assert set(runs["state"]) == {"withdrawn"} and set(runs["withdrawn"]) == {
        "The meter was wrong."
    }


def test_other_bundles_of_a_submission_with_a_broken_one_are_loaded(submission: Path) -> None:
    shutil.rmtree(submission / "lenet" / "pytorch" / "run_2")
    (submission / "lenet" / "pytorch" / "run_2").mkdir()
    (submission / "lenet" / "pytorch" / "run_2" / "run.json").write_text("{")
    loaded = reporter.load([submission])
    assert len(loaded.runs) == 2 and loaded.broken["place"].tolist() == ["lenet/pytorch/run_2"]


def test_each_run_of_a_submission_of_broken_ones_is_named(submission: Path) -> None:
    for seed in (1, 2, 3):
        (submission / "lenet" / "pytorch" / f"run_{seed}" / "summary.json").unlink()
    broken = reporter.load([submission.parents[1]]).broken
    assert set(broken["place"]) == {f"{OPEN}/pies-ltd"}
    assert broken["reason"].tolist() == [
        f"lenet/pytorch/run_{seed}: summary.json is missing" for seed in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("of_runs", "of_entry"),
    [
        (("lab", "lab and uni", "lab"), "lab"),
        (("lab and uni",) * 3, "lab and uni"),
        (("lab", None, "lab"), None),
        (("lab", "uni", "lab"), None),
        ((None,) * 3, None),
    ],
)
def test_an_entry_is_audited_by_those_who_audited_each_of_its_runs(
    runs: Path, of_runs: tuple[str | None, ...], of_entry: str | None
) -> None:
    rows = reporter.load([runs / "lenet-pytorch-1"]).runs.to_dict("records") * 3
    audited = [{**row, "audited_by": by} for row, by in zip(rows, of_runs, strict=True)]
    assert make_entries(audited)[0]["audited_by"] == of_entry


@pytest.mark.parametrize(
    ("changes", "is_accepted"),
    [
        ({}, True),
        ({"state": "open", "decision": None, "decided_by": None}, False),
        ({"against": "time_to_target_s"}, False),
        ({"run": "lenet/pytorch/run_2"}, True),
        ({"run": "lenet/chainer/run_1"}, False),
    ],
)
def test_a_dismissed_objection_accepts_the_unfinished_launches_of_an_entry(
    submission: Path, changes: dict[str, str | None], is_accepted: bool
) -> None:
    (submission / "lenet/chainer/run_1").mkdir(parents=True)
    objection = {**DISMISSED, **changes}
    lines = [f'{key} = "{value}"\n' for key, value in objection.items() if value is not None]
    objections_folder(submission).mkdir(parents=True)
    (objections_folder(submission) / "1.toml").write_text(f"schema = 1\n{''.join(lines)}")
    entry = reporter.load([submission]).entries.iloc[0]
    assert (why_unranked({**entry, "launches": 9, "planned_runs": 3}) is None) == is_accepted
