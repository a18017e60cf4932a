"""Closed entries of a round that has a nonce: its nonce, an entry that was locked, every number."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reporter.data.bundle_rows import BundleRows, read_rows
from suite.bundle.reader import CachedBundle
from suite.catalog.rounds import Round, current_round
from suite.catalog.seeds import entry_sha256
from suite.compliance import submissions
from suite.compliance.submissions import check_submission
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.nonce_edits import NONCE, number_runs
from tests.faults.edits.submission_edits import run
from tests.good_submissions import good_submission

Judge = Callable[..., list[tuple[str, str]]]


@pytest.fixture(scope="session")
def _submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = good_submission(tmp_path_factory.mktemp("nonces"))
    number_runs((0, 1, 2))(path)
    return path


@pytest.fixture
def judge(_submission: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Expected and observed of `submission-nonce` in a round with these values."""

    def check(**values: object) -> list[tuple[str, str]]:
        opened: Round = replace(current_round(), **values)  # type: ignore[arg-type]
        monkeypatch.setattr(submissions, "judging_round", lambda name: opened)
        findings = check_submission(_submission).findings
        return [
            (finding.expected, finding.observed)
            for finding in findings
            if finding.check == "submission-nonce"
        ]

    return check


def test_before_the_nonce_is_drawn_nothing_is_asked(judge: Judge) -> None:
    assert judge(nonce=None) == []


def test_a_locked_entry_with_the_rounds_nonce_complies_and_can_be_nominated(
    judge: Judge, _submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = EditableBundle(run(_submission, 1))
    entry = bundle.run["nonce"]["entry_sha256"]
    assert entry == entry_sha256(
        bundle.run["implementation"]["sha256"], bundle.run["nonce"]["configuration_sha256"]
    )
    assert judge(nonce=NONCE, locked=(entry,)) == []
    drawn = replace(current_round(), nonce=NONCE, locked=(entry,), nominated=(entry,))
    for of_round, is_nominated in ((drawn, True), (replace(drawn, locked=("0" * 64,)), False)):
        monkeypatch.setattr(
            "reporter.data.bundle_rows.judging_round", lambda _, kept=of_round: kept
        )
        rows = read_rows(CachedBundle(run(_submission, 1)))
        assert isinstance(rows, BundleRows) and rows.run["is_nominated"] is is_nominated


def test_an_entry_that_was_not_locked_is_refused(judge: Judge) -> None:
    ((expected, _),) = judge(nonce=NONCE, locked=("0" * 64,))
    assert (
        expected
        == "an entry that was locked before the nonce was given out (the round has 1 locked digest)"
    )
    assert judge(nonce=NONCE, locked=()), "where nobody locked an entry, none is locked"


def test_a_nonce_that_the_submitter_chose_is_refused(judge: Judge, _submission: Path) -> None:
    entry = EditableBundle(run(_submission, 1)).run["nonce"]["entry_sha256"]
    found = judge(nonce="drawn in public", locked=(entry,))
    assert [observed for _, observed in found] == [f"{NONCE!r}"] * 3


def test_closed_runs_without_a_nonce_are_refused_once_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = replace(current_round(), nonce=NONCE)
    monkeypatch.setattr(submissions, "judging_round", lambda name: opened)
    findings = [
        finding
        for finding in check_submission(good_submission(tmp_path)).findings
        if finding.check == "submission-nonce"
    ]
    assert [finding.observed for finding in findings] == ["no nonce"] * 3


def test_a_withdrawn_run_keeps_its_number(tmp_path: Path) -> None:
    path = good_submission(tmp_path)
    number_runs((0, 1, 2))(path)
    (run(path, 2) / "WITHDRAWN").write_text("The fan failed.\n")
    assert "submission-nonce" not in {finding.check for finding in check_submission(path).findings}
