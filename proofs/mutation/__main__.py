"""Of single faults, the checker refuses at least 95 %, each by the right check of the right rule,
and every check fires: `make prove mutation`."""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.figures import hand_over
from proofs.mutation.mutations import Mutation, all_mutations
from suite.compliance.finding import Finding
from suite.compliance.paths import check_paths
from suite.compliance.registry import all_checks, all_rules
from suite.compliance.submissions import SubmissionVerdict, check_submission
from tests.faults.edits.fault import SUBMISSION, first_run
from tests.good_submissions import good_submission

MIN_SCORE = 0.95
RANKS = (1, 2)


@dataclass(frozen=True)
class Outcome:
    """The result of one mutation: the checks that fired, and whether the submission was refused."""

    mutation: Mutation
    checks: frozenset[str]
    is_refused: bool

    @property
    def is_caught(self) -> bool:
        """The mutation's check is among those that fired."""
        return self.mutation.check in self.checks


def findings_of(verdict: SubmissionVerdict) -> tuple[Finding, ...]:
    """Every finding, of the bundles and of the whole."""
    return tuple(finding for part in (verdict, *verdict.bundles) for finding in part.findings)


def try_out(
    submissions: Mapping[int, Path], mutations: Iterable[Mutation], folder: Path
) -> list[Outcome]:
    """Apply each mutation to a fresh copy of the submission with its number of ranks, and check the
    copy."""
    outcomes = []
    for mutation in mutations:
        if make := mutation.fault.scope.make:
            outcomes.append(_of_whole(mutation, make(folder / "mutated" / "whole")))
            continue
        submission = submissions[mutation.fault.ranks]
        copy = folder / "mutated" / submission.parent.name / submission.name
        shutil.copytree(submission, copy, symlinks=True)
        mutation.fault.change(copy if mutation.fault.scope is SUBMISSION else first_run(copy))
        verdict = check_submission(copy)
        checks = frozenset(finding.check for finding in findings_of(verdict))
        outcomes.append(Outcome(mutation, checks, not verdict.complies))
        shutil.rmtree(folder / "mutated")
    return outcomes


def _of_whole(mutation: Mutation, whole: Path) -> Outcome:
    """The outcome for a folder with a record of its own, made anew."""
    mutation.fault.change(whole)
    result = check_paths([whole])
    shutil.rmtree(whole.parent)
    return Outcome(
        mutation,
        frozenset(finding.check for _, finding in result.all_findings()),
        not result.complies,
    )


def report(outcomes: Sequence[Outcome]) -> bool:
    """Print score, survivors and how often each rule fired; True if score and coverage suffice."""
    caught = [outcome for outcome in outcomes if outcome.is_caught]
    for outcome in outcomes:
        if not outcome.is_caught:
            fired = ", ".join(sorted(outcome.checks)) or "none"
            print(
                f"survived: {outcome.mutation.name}: checks that fired: {fired};"
                f" {outcome.mutation.reason or 'UNEXPLAINED'}"
            )
    counts = Counter(check for outcome in outcomes for check in outcome.checks)
    checks = [check.id for _, check in all_checks()]
    for check in checks:
        print(f"{check:28} fired in {counts[check]:4} mutations")
    never = [check for check in checks if not counts[check]]
    print(
        f"checks that fired: {len(checks) - len(never)} of {len(checks)}"
        + (f"; never: {', '.join(never)}" if never else "")
    )
    refused = [outcome for outcome in caught if outcome.is_refused]
    share = len(refused) / len(outcomes)
    print(
        f"found by the right check: {len(caught)} of {len(outcomes)}, {len(caught) - len(refused)}"
        " of them by one that warns only"
    )
    print(
        f"mutation score, refused by the right check: {len(refused)} of {len(outcomes)},"
        f" {100 * share:.1f} %"
    )
    hand_over(
        mutations=len(outcomes),
        refused_by_the_right_check=len(refused),
        score_percent=round(100 * share, 1),
        warned_of_by_the_right_check=len(caught) - len(refused),
        rules=len(all_rules()),
        checks=len(checks),
        checks_that_fired=len(checks) - len(never),
    )
    unexplained = any(not outcome.is_caught and not outcome.mutation.reason for outcome in outcomes)
    return share >= MIN_SCORE and not never and not unexplained


def main() -> int:
    """Make the submissions, check that they have no finding, try every mutation, report; 0 if score
    and coverage suffice."""
    with tempfile.TemporaryDirectory() as name:
        folder, is_good = Path(name), True
        submissions = {ranks: good_submission(folder / f"ranks{ranks}", ranks) for ranks in RANKS}
        for ranks, submission in submissions.items():
            findings = findings_of(check_submission(submission))
            print(
                f"findings on the good submission of {ranks} rank{'s' if ranks > 1 else ''}:"
                f" {len(findings)}"
            )
            for finding in findings:
                print(f"  {finding}")
            is_good = is_good and not findings
        return 0 if report(try_out(submissions, all_mutations(), folder)) and is_good else 1


if __name__ == "__main__":
    sys.exit(main())
