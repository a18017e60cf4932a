"""A small part of `make mutation`: one fault of each group; and the one that everybody thinks of first."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.compliance.editing import EditableBundle
from suite.compliance.registry import ALL
from suite.compliance.submissions import check_submission
from suite.files.paths import repository_root
from tests.mutation.faults import GROUPS, all_mutations, survivors
from tests.mutation.log_faults import run_stop_early, run_stop_early_in_order
from tests.mutation.mutation import Edit
from tests.mutation.score import FEWEST, RANKS, findings_of, good_submission, try_out


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Good submissions by the number of their ranks."""
    return {ranks: good_submission(tmp_path_factory.mktemp("good"), ranks) for ranks in RANKS}


def test_a_good_submission_has_no_finding(submissions: dict[int, Path]) -> None:
    assert [findings_of(check_submission(submission)) for submission in submissions.values()] == [(), ()]


@pytest.mark.parametrize("group", [group for group in GROUPS if group is not survivors], ids=lambda group: group.__name__)
def test_the_first_fault_of_a_group_is_found_by_its_rule(group: Callable[..., object], submissions: dict[int, Path], tmp_path: Path) -> None:
    (outcome,) = try_out(submissions, [next(iter(group()))], tmp_path)
    assert outcome.is_caught, f"{outcome.mutation.name}: {sorted(outcome.rules)}"


def test_there_are_enough_mutations_each_of_its_own_and_for_every_rule() -> None:
    mutations = all_mutations()
    assert len(mutations) >= FEWEST
    assert len({mutation.name for mutation in mutations}) == len(mutations)
    assert {mutation.rule for mutation in mutations} - {None} == {rule.id for rule in ALL}
    assert all(mutation.reason for mutation in mutations if mutation.rule is None)


def test_the_documentation_counts_them() -> None:
    text = (repository_root() / "docs" / "checking.md").read_text(encoding="utf-8")
    counts = [int(count) for count in re.findall(r"^\| [^|]+ \| (\d+) \|", text, re.MULTILINE)]
    assert sum(counts) == len(all_mutations()) and counts[-1] == len(tuple(survivors()))


@pytest.mark.parametrize(("change", "rule"), [(run_stop_early, "log-clock"), (run_stop_early_in_order, "epochs-in-order")])
@pytest.mark.parametrize("recomputed", [False, True], ids=["manifests fit", "manifests and figures fit"])
def test_a_run_stop_one_second_after_run_start_in_every_run_is_caught(
    change: Edit, rule: str, recomputed: bool, submissions: dict[int, Path], tmp_path: Path
) -> None:
    submission = Path(shutil.copytree(submissions[1], tmp_path / submissions[1].parent.name / submissions[1].name))
    for run in sorted(submission.glob("*/*/run_*")):
        bundle = EditableBundle(run)
        change(bundle)
        bundle.save(recomputed)
    verdict = check_submission(submission)
    assert len(verdict.bundles) == 3
    for judged in verdict.bundles:
        assert not judged.complies
        (finding,) = (finding for finding in judged.findings if finding.rule == rule)
        lines = (judged.path / "log.txt").read_text().splitlines()
        blamed = "run_stop" if rule == "log-clock" else "epoch_stop"
        assert finding.line is not None and f'"key": "{blamed}"' in lines[finding.line - 1]
