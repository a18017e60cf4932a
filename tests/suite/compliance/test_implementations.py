"""Closed runs of the suite's own implementations: by its files, and proved with mini-batches as
large as theirs."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.frameworks import REFERENCE
from suite.catalog.rounds import current_round
from suite.catalog.workloads import load_workload
from suite.compliance import submissions
from suite.compliance.rules.submission_models import _at_once, _expected
from suite.compliance.submissions import check_submission
from tests.faults.submission_models import train_by_other_files
from tests.good_submissions import good_submission


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A submission whose runs, verdict and declaration have the digest of files that this checkout
    has not."""
    path = good_submission(tmp_path)
    train_by_other_files(path)
    return path


def test_changed_files_have_no_place_under_the_suites_name(changed: Path) -> None:
    findings = [
        finding
        for finding in check_submission(changed).findings
        if finding.check == "submission-own-files"
    ]
    assert [finding.file for finding in findings] == [
        f"lenet/pytorch/run_{number}/run.json" for number in (1, 2, 3)
    ]
    assert {finding.observed for finding in findings} == {
        "an implementation with the SHA-256 1111111111111111…"
    }
    assert "a name of its own" in findings[0].fix


def test_files_of_an_earlier_version_are_admitted_where_the_round_lists_them(
    changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = replace(current_round(), implementations=("1" * 64,))
    monkeypatch.setattr(submissions, "judging_round", lambda name: opened)
    assert not [
        finding
        for finding in check_submission(changed).findings
        if finding.check == "submission-own-files"
    ]


@pytest.mark.parametrize(
    ("request_", "samples"),
    [
        ({"global_batch_size": 128, "parallel": {"ranks": 1}}, 128),
        ({"global_batch_size": 128, "parallel": {"ranks": 3}}, 43),
        ({"global_batch_size": 128, "parallel": {"ranks": 2}, "accumulation": 4}, 64),
        ({"global_batch_size": "128", "parallel": {"ranks": 1}}, 0),
        ({"global_batch_size": 128, "parallel": [1]}, 0),
        ({}, 0),
    ],
)
def test_samples_that_a_rank_computes_at_once(request_: dict[str, object], samples: int) -> None:
    assert _at_once(request_) == samples


def test_a_verdict_on_a_gpu_has_every_error_of_the_reference_too() -> None:
    """On a CPU the reference is compared with itself; a verdict that names no accelerator was made
    there."""
    workload = load_workload("mobilenetv3")
    unnamed, on_cpu, on_gpu = (
        _expected(workload, "tensorflow", accelerator, shows_states=True)
        for accelerator in (None, "cpu", "cuda")
    )
    assert unnamed == on_cpu != on_gpu
    assert _expected(workload, REFERENCE, "cuda", shows_states=True) == on_gpu
    assert _expected(workload, REFERENCE, "cpu", shows_states=True).items() < on_cpu.items()
