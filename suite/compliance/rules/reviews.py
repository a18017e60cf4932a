"""Reviews: the signed records of draws and replays by others"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog.organizations import PROJECT
from suite.compliance.finding import Severity
from suite.compliance.rule import Rule, Violation, Violations
from suite.compliance.rules.audits import audit_differences, where_contradicted
from suite.compliance.signed_reviews import SignedReview
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.signature import SignatureState
from suite.metrics.replayed_losses import AuditVerdict
from suite.metrics.review_record import Review, ReviewedRun
from suite.submission.folder_names import REVIEWS
from suite.submission.signature import allowed_signers

ORDER = 108  # before the audits that submitters hand in

RECORDS = "submission-reviews"
ANSWER = "withdraw the run, or reply to the reviewer"
DAY_MS = 86_400_000
"""How far the clocks of a board and of a reviewer may be apart: a time zone, at most."""


def _reviews(context: SubmissionContext) -> Violations:
    for review in context.reviews:
        yield from _faults(review, context)


def _faults(review: SignedReview, context: SubmissionContext) -> tuple[Violation, ...]:
    """What is wrong with one review; the runs that it replayed are read once."""
    if review.file not in context.of_reviews:
        context.of_reviews[review.file] = tuple(_found(review, context))
    return context.of_reviews[review.file]


def _found(review: SignedReview, context: SubmissionContext) -> Violations:
    name = review.file.relative_to(context.path).as_posix()
    if review.maker.state is SignatureState.BAD:
        yield Violation(name, "a record with a valid signature", f"{review.maker.reason}")
    elif review.record is None:
        yield Violation(name, "a record of a review that can be read", review.problem or "")
    else:
        yield from _review(name, review, review.record, context)


def _review(
    name: str, signed: SignedReview, review: Review, context: SubmissionContext
) -> Violations:
    if review.organization != signed.file.stem:
        yield Violation(name, f"a review by {signed.file.stem}", review.organization[:80])
    if signed.maker.signer not in (None, review.organization):
        yield Violation(
            name, f"a signature of {review.organization[:80]}", f"one by {signed.maker.signer}"
        )
    declared = f"{context.declaration.round}/{context.path.resolve().name}"
    if review.submission != declared:
        observed = f"a review of {review.submission[:120]}"
        yield Violation(name, f"a review of {declared}", observed)
    trained = {"/".join(run.folder.trained) for run in context.runs if not run.is_withdrawn}
    for model in sorted(trained & review.models.keys()):
        if signed.reviewer is not None and review.models[model].is_equivalent is False:
            expected = f"the workload's model in {signed.reviewer}'s probe of {model}"
            yield Violation(name, expected, "another model", fix=ANSWER)
    for run, record in _drawn_runs(review, context):
        yield from _reviewed_run(name, signed.reviewer, review, run, record)


def _reviewed_run(
    name: str, by: str | None, review: Review, run: SubmittedRun, record: ReviewedRun
) -> Violations:
    drawn = review.draw_of(record)
    if drawn is not None and not drawn.time_ms > run.started_time_ms - DAY_MS:
        yield Violation(
            name,
            f"a draw after {run.name} began (clocks may differ by 24 hours)",
            f"a draw on {drawn.date}",
        )
    audit = record.audit
    if audit is None:
        return
    if audit.state is not None and not review.is_from_drawn_state(record):
        yield Violation(
            name,
            f"a replay of {run.name} from the training state that was drawn with the reviewer's"
            " random value, and through the epoch after it",
            "a replay from a state drawn with another value, or one without that epoch",
        )
    try:
        differences = list(audit_differences(audit, run))
    except SuiteError as error:
        differences = [(run.name, "a run that can be read", str(error))]
    for what, expected, observed in differences:
        yield Violation(name, f"{what} of {run.name}: {expected}", observed)
    if by is not None and audit.verdict is AuditVerdict.CONTRADICTS:
        yield Violation(
            name,
            f"a replay by {by} that agrees with {run.name}",
            f"a replay that contradicts the run {where_contradicted(audit)}",
            fix=ANSWER,
        )


def _drawn_runs(
    review: Review, context: SubmissionContext
) -> Iterator[tuple[SubmittedRun, ReviewedRun]]:
    """The runs that are still those that were reviewed, withdrawn ones left out."""
    for run in context.runs:
        found = None if run.is_withdrawn else review.runs.get(run.name)
        if found is not None and found.manifest_sha256 == manifest_of(run.folder.path):
            yield run, found


def manifest_of(run: Path) -> str | None:
    """SHA-256 of the manifest in a run's folder; None where there is none, which a rule of bundles
    reports."""
    try:
        return sha256(Bundle(run).file(MANIFEST))
    except SuiteError:
        return None


def _makers(context: SubmissionContext) -> Violations:
    for review in context.reviews:
        if review.record is not None and review.reviewer is None:
            yield Violation(
                review.file.relative_to(context.path).as_posix(),
                f"a review signed with a key in {allowed_signers().name}",
                review.maker.reason or "another key",
                fix=f"add the reviewer's key to {allowed_signers().name} in a separate pull"
                " request",
            )


def audited_by(context: SubmissionContext) -> Mapping[Path, tuple[str, ...]]:
    """Who replayed each run from a state that they drew, and found that it agrees, by the run's
    folder; no submitter is one of them, but the project is, of its own runs."""
    makers = [
        review
        for review in context.reviews
        if review.reviewer is not None
        and review.reviewer not in context.submitters - {PROJECT}
        and not any(_faults(review, context))
    ]
    return {
        run.folder.path: tuple(
            str(review.reviewer)
            for review in makers
            if review.confirms(run.name, manifest_of(run.folder.path))
        )
        for run in context.runs
    }


RULES = (
    Rule(
        RECORDS,
        f"A record in {REVIEWS}/ names the organization that reviewed, and is signed with this"
        f" reviewer's key from submissions/{allowed_signers().name}. After the runs began, the"
        " reviewer drew at random which epochs to replay. The record belongs to this submission,"
        " agrees with the runs' records (such as losses), and uses the rulebook's tolerances. Its"
        " replays do not contradict the runs, and no probe in it found a model other than the"
        " workload's.",
        "Anybody can compute the first losses by training ten steps, so replaying them proves"
        " little. A replay proves more if the reviewer signs it, and if nobody could foresee the"
        " replayed epoch while the run trained. The leaderboard says who audited a run only if"
        " readers can verify the signature.",
        "let the reviewer run `suite review` again, then commit the new record and its signature",
        (
            OfSubmission(RECORDS, _reviews),
            OfSubmission("submission-reviewer", _makers, severity=Severity.NOTE),
        ),
    ),
)
