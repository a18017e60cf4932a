"""Submissions: one round each."""

from collections.abc import Iterator

from suite.catalog.rounds import load_rounds
from suite.compliance.rule import Rule, Violation
from suite.compliance.submission_rule import OfSubmission, SubmissionContext
from suite.submission.declaration import NAME

ORDER = 102  # after the rules of bundles, before the others of submissions


def _one_round(context: SubmissionContext) -> Iterator[Violation]:
    declared, names = context.declaration.round, [each.name for each in load_rounds()]
    if declared not in names:
        yield Violation(NAME, f"a round of the rulebook ({', '.join(names)})", f"{declared!r}")
        return
    for run in context.runs:
        if run.round != declared:
            yield Violation(
                run.name,
                f"a run of round {declared}",
                f"a run of round {run.round!r}",
                fix="submit the runs of each round separately",
            )


RULES = (
    Rule(
        "submission-round",
        "A submission declares a round of the rulebook, and all its runs were made for that round.",
        "A submission is judged by the rules of one round.",
        "package it again with `suite package`",
        (OfSubmission("submission-round", _one_round),),
    ),
)
