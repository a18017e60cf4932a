"""A small part of `make prove mutation`, and a run_stop a second after run_start in every run."""

import shutil
from pathlib import Path

import pytest

from proofs.mutation.__main__ import RANKS, findings_of, try_out
from proofs.mutation.mutations import Mutation, all_mutations, survivors
from proofs.proof import find_proof
from proofs.result import read_result
from suite.compliance.registry import RuleModule, all_checks, all_modules
from suite.compliance.submissions import check_submission
from suite.files.paths import repository_root
from tests.every_case import some
from tests.faults import all_faults
from tests.faults.edits.fault import Edit, save_after
from tests.faults.edits.log_edits import stop_early, stop_early_in_order
from tests.good_submissions import good_submission

MIN_MUTATIONS = 541
"""The number may only grow."""


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Good submissions by the number of their ranks."""
    return {ranks: good_submission(tmp_path_factory.mktemp("good"), ranks) for ranks in RANKS}


def test_a_good_submission_has_no_finding(submissions: dict[int, Path]) -> None:
    assert [findings_of(check_submission(submission)) for submission in submissions.values()] == [
        (),
        (),
    ]


@pytest.mark.proof
@pytest.mark.parametrize("module", all_modules(), ids=lambda module: module.name)
@pytest.mark.parametrize("ranks", RANKS)
def test_the_first_fault_of_a_module_is_found_by_its_check(
    module: RuleModule, ranks: int, submissions: dict[int, Path], tmp_path: Path
) -> None:
    mutations = (
        Mutation(fault, check.id)
        for rule in module.rules
        for check in rule.checks
        for fault in all_faults()[check.id]
        if fault.ranks == ranks
    )
    first = next(mutations, None)
    if first is not None:
        (outcome,) = try_out(submissions, [first], tmp_path)
        assert outcome.is_caught, f"{outcome.mutation.name}: {sorted(outcome.checks)}"


@pytest.mark.proof
def test_every_survivor_survives(submissions: dict[int, Path], tmp_path: Path) -> None:
    for outcome in try_out(submissions, survivors(), tmp_path):
        assert not outcome.is_refused, (
            f"{outcome.mutation.name} is refused by {sorted(outcome.checks)}: make it a fault of"
            " that check"
        )


def test_mutations_are_many_and_distinct_and_cover_every_check() -> None:
    mutations = all_mutations()
    assert len(mutations) >= MIN_MUTATIONS
    assert len({mutation.name for mutation in mutations}) == len(mutations)
    checks = {check.id for _, check in all_checks()}
    assert {mutation.check for mutation in mutations} - {None} == checks
    assert all(mutation.reason for mutation in mutations if mutation.check is None)


def test_the_documentation_names_every_survivor() -> None:
    """The score is a dated measurement: faults may have been added since."""
    proved = read_result(find_proof("mutation"))
    assert proved is not None
    made, *noticed = (
        int(proved.figures[name] or 0)
        for name in ("mutations", "refused_by_the_right_check", "warned_of_by_the_right_check")
    )
    assert MIN_MUTATIONS <= made <= len(all_mutations())
    assert made - sum(noticed) == len(survivors())
    text = (repository_root() / "docs" / "checking.md").read_text(encoding="utf-8")
    for survivor in survivors():
        assert f"| {survivor.fault.name.partition(' [')[0]} | {survivor.reason}" in text


@pytest.mark.parametrize(
    ("edit", "check"), [(stop_early(), "log-clock"), (stop_early_in_order(), "epochs-in-order")]
)
@pytest.mark.parametrize(
    "recompute", some([True, False]), ids=some(["manifests and figures fit", "manifests fit"])
)
def test_a_run_stop_one_second_after_run_start_in_every_run_is_caught(
    edit: Edit, check: str, recompute: bool, submissions: dict[int, Path], tmp_path: Path
) -> None:
    submission = Path(
        shutil.copytree(submissions[1], tmp_path / submissions[1].parent.name / submissions[1].name)
    )
    for run in sorted(submission.glob("*/*/run_*")):
        save_after(edit, recompute)(run)
    verdict = check_submission(submission)
    assert len(verdict.bundles) == 3
    for bundle in verdict.bundles:
        assert not bundle.complies
        (finding,) = (finding for finding in bundle.findings if finding.check == check)
        lines = (bundle.path / "log.txt").read_text().splitlines()
        key = "run_stop" if check == "log-clock" else "epoch_stop"
        assert finding.line is not None and f'"key": "{key}"' in lines[finding.line - 1]
