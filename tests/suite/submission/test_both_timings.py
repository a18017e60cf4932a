"""Submissions in asynchronous timing: the score is theirs, and a run in the other timing shows how
a step divides.

The runs are of the fake framework, which need not wait on a CPU: as on a GPU, and nothing of a GPU
is missing in them.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reference_impls.contract import ASYNCHRONOUS
from suite.compliance.rules import submission_entries
from suite.compliance.submissions import check_submission
from suite.submission.declaration import SystemAvailability, read_declaration
from suite.submission.package import PackageRequest, package_runs
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, in_turn, save_after
from tests.faults.edits.log_edits import request_also, set_everywhere
from tests.faults.edits.step_edits import without_split
from tests.suite.submission.conftest import LATER_S, started_name

RULE = "submission-split"
SCORED, SPLIT = (1, 2, 3), 4
STEPS_PER_EPOCH = 1875
TO_TARGET = (0.97, 0.985, 0.9905)


def fake_run(
    folder: Path,
    seed: int,
    *edits: Edit,
    accuracies: tuple[float, ...] = TO_TARGET,
    batch_size: int = 32,
) -> Path:
    """An open run of the fake framework, edited."""
    name, later_s = started_name(seed).replace("pytorch", "fake"), LATER_S * (seed - 1)
    scenario = Scenario(
        name,
        "fake",
        division="open",
        seed=seed,
        step_s=0.0005 + seed * 2.5e-6,
        jitter=0.01,
        accuracies=accuracies,
        later_s=later_s,
    )
    bundle = make_bundle(folder / f"run{seed}", replace(scenario, batch_size=batch_size))
    save_after(in_turn(*edits), recompute=True)(bundle)
    return bundle


def asynchronously(bundle: EditableBundle) -> None:
    """The run as `suite run --timing asynchronous` makes it."""
    in_turn(request_also("timing", ASYNCHRONOUS), without_split())(bundle)
    bundle.run["command"] = [*bundle.run["command"], "--timing", ASYNCHRONOUS]


@pytest.fixture
def submitted(tmp_path: Path) -> Callable[..., Path]:
    """A submission of three runs in asynchronous timing, and of others."""

    def submit(*others: Path, planned_runs: int | None = None) -> Path:
        runs = [fake_run(tmp_path / "scored", seed, asynchronously) for seed in SCORED]
        offer = PackageRequest("acme", None, SystemAvailability.RESEARCH, "", ())
        return package_runs(
            [*runs, *others], replace(offer, planned_runs=planned_runs), tmp_path / "tree"
        )

    return submit


def found(submission: Path) -> list[str]:
    verdict = check_submission(submission)
    return [finding.check for part in (verdict, *verdict.bundles) for finding in part.findings]


def ended_after(steps: int) -> Edit:
    """The run as `suite run --steps` makes it, which ends there by itself."""

    def end(bundle: EditableBundle) -> None:
        set_everywhere("steps", steps)(bundle)
        bundle.run["command"] = [*bundle.run["command"], "--steps", str(steps)]

    return end


def test_one_run_that_splits_its_steps_is_enough_beside_the_entry(
    submitted: Callable[..., Path], tmp_path: Path
) -> None:
    """It needs no three runs, whatever was planned for the entry, and may be as short as two
    epochs."""
    short = fake_run(
        tmp_path / "split", SPLIT, ended_after(2 * STEPS_PER_EPOCH), accuracies=(0.97, 0.9905)
    )
    submission = submitted(short, planned_runs=3)
    assert found(submission) == []
    planned = sorted(each.planned_runs for each in read_declaration(submission).entries)
    assert planned == [1, 3]


def test_the_number_of_planned_runs_holds_for_every_other_entry(
    submitted: Callable[..., Path], tmp_path: Path
) -> None:
    """Of two runs in synchronised timing, and of one with other settings."""
    both = [fake_run(tmp_path / "both", seed) for seed in (4, 5)]
    other = fake_run(tmp_path / "other", 6, batch_size=64)
    entries = read_declaration(submitted(*both, other, planned_runs=3)).entries
    assert [each.planned_runs for each in entries] == [3, 3, 3]


def test_an_entry_in_asynchronous_timing_alone_is_refused(submitted: Callable[..., Path]) -> None:
    submission = submitted()
    assert found(submission) == [RULE] and not check_submission(submission).complies
    (finding,) = check_submission(submission).findings
    assert (
        "--timing synchronised" in finding.fix and f"--steps {2 * STEPS_PER_EPOCH}" in finding.fix
    )


def test_a_run_of_one_epoch_or_of_another_setting_does_not_show_how_the_entry_divides(
    submitted: Callable[..., Path], tmp_path: Path
) -> None:
    """The one of another setting is an entry by itself, of fewer than three runs."""
    short = fake_run(tmp_path / "short", SPLIT, ended_after(STEPS_PER_EPOCH), accuracies=(0.9905,))
    other = fake_run(tmp_path / "other", SPLIT + 1, batch_size=64)
    rules = found(submitted(short, other))
    assert RULE in rules and "submission-runs" in rules


def test_an_implementation_from_outside_is_not_asked(
    submitted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it can wait in every step is not known here."""
    monkeypatch.setattr(submission_entries, "known_frameworks", dict)
    assert RULE not in found(submitted())
