"""Submissions: declaration, system and records name nobody but the organization."""

from collections.abc import Iterator

from suite.bundle.disclosures import disclosures
from suite.compliance.rule import Rule, Violation
from suite.compliance.rules.disclosures import disclosed
from suite.compliance.submission_rule import OfSubmission, SubmissionContext

ORDER = 111  # after the signature: it reads every file

FIX = "leave it out, and package the runs again"


def _names(context: SubmissionContext) -> Iterator[Violation]:
    """Search the files of the submission that belong to no run."""
    folders = {run.folder.path for run in context.runs}
    files = [path for path in sorted(context.path.rglob("*")) if not folders & set(path.parents)]
    for found in disclosures(context.path, files):
        yield disclosed(found, FIX)


RULES = (
    Rule(
        "submission-names-nobody",
        "Declaration, system, verdicts and audits of a submission name nobody beyond its"
        " organization: see names-nobody.",
        "Who submits is what the organization says; notes and records need no more.",
        FIX,
        (OfSubmission("submission-names-nobody", _names),),
    ),
)
