"""Submissions in asynchronous timing: the score is theirs, and a run in the other timing shows how a step divides.

The runs are of the fake framework, which need not wait on a CPU: as on a GPU, and nothing of a GPU is missing in them.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reference_impls.contract import ASYNCHRONOUS
from suite.compliance.faults.editable_bundle import EditableBundle
from suite.compliance.faults.fault import Edit, in_turn, save_after
from suite.compliance.faults.log_edits import request_also, set_everywhere
from suite.compliance.faults.step_edits import without_split
from suite.compliance.paths import check_paths
from suite.compliance.submissions import check_submission
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package
from tests.builders import Scenario, make_bundle
from tests.suite.submission.conftest import LATER_S, started_name

RULE = "submission-split"
SCORED, SHORTER = 3, 938
STEPS_PER_EPOCH = 469


def fake_run(folder: Path, seed: int, *edits: Edit) -> Path:
    """An open run of the fake framework, edited."""
    accuracies = (0.97, *(0.985,) * seed, 0.9905)
    name, later_s = started_name(seed).replace("pytorch", "fake"), LATER_S * (seed - 1)
    scenario = Scenario(name, "fake", division="open", seed=seed, step_s=0.002 + seed * 1e-5, jitter=0.01, accuracies=accuracies, later_s=later_s)
    bundle = make_bundle(folder / f"run{seed}", scenario)
    save_after(in_turn(*edits), recompute=True)(bundle)
    return bundle


def asynchronously(bundle: EditableBundle) -> None:
    """The run as `suite run --timing asynchronous` makes it."""
    in_turn(request_also("timing", ASYNCHRONOUS), without_split())(bundle)
    bundle.run["command"] = [*bundle.run["command"], "--timing", ASYNCHRONOUS]


@pytest.fixture
def submitted(tmp_path: Path) -> Callable[..., Path]:
    """A submission of three runs in asynchronous timing, and of others."""

    def submit(*others: Path) -> Path:
        runs = [fake_run(tmp_path / "scored", seed, asynchronously) for seed in range(1, SCORED + 1)]
        return package([*runs, *others], PackageRequest("acme", None, SystemAvailability.RESEARCH, "", ()), tmp_path / "tree")

    return submit


def found(submission: Path) -> list[str]:
    verdict = check_submission(submission)
    return [finding.rule for part in (verdict, *verdict.bundles) for finding in part.findings]


def test_one_run_that_splits_its_steps_is_enough_beside_the_entry(submitted: Callable[..., Path], tmp_path: Path) -> None:
    assert found(submitted(fake_run(tmp_path / "split", 4))) == []


def test_an_entry_in_asynchronous_timing_alone_is_refused(submitted: Callable[..., Path]) -> None:
    submission = submitted()
    assert found(submission) == [RULE] and not check_submission(submission).complies
    (finding,) = check_submission(submission).findings
    assert "--timing synchronised" in finding.fix and f"--steps {2 * STEPS_PER_EPOCH}" in finding.fix
