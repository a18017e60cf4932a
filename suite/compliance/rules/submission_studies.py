"""Submissions: runs of studies stand on no leaderboard."""

from collections.abc import Iterator

from suite.compliance.rule import Rule, Violation
from suite.compliance.rules.run_record import is_command
from suite.compliance.submission_rule import OfSubmission, SubmissionContext

ORDER = 112  # with the entries

AGAIN = (
    "submit runs that `suite run` made for the entry, their number planned before the first; `suite"
    " report` shows a study on a page of its own"
)


def _no_study(context: SubmissionContext) -> Iterator[Violation]:
    """Runs that carry the mark of a study, or whose command made one; a command with a mark taken
    out still says it."""
    for run in context.runs:
        if run.study is not None:
            title = run.study.get("title")
            yield Violation(
                run.name,
                "a run that was made for no study",
                f"the mark of the study {title!r}",
            )
        elif is_command(run.command, "sweep"):
            yield Violation(run.name, "a run whose command made no study", " ".join(run.command))


RULES = (
    Rule(
        "submission-studies",
        "No run of a submission was made for a study: none carries the mark of one, and none"
        " was made by `suite sweep`.",
        "A study tries many settings, and the best of many runs is better than that setting is."
        " An entry is planned, and all of it counts.",
        AGAIN,
        (OfSubmission("submission-studies", _no_study),),
    ),
)
