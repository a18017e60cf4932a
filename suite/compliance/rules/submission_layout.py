"""Submissions: layout, organization and system."""

from collections.abc import Iterator

from suite.bundle.layout import SYSTEM
from suite.bundle.machines import MEMORY_TOLERANCE, different_fields
from suite.compliance.rule import Rule, Violation
from suite.compliance.submission_rule import OfSubmission, SubmissionContext
from suite.compliance.wording import shown
from suite.submission.declaration import NAME
from suite.submission.folders import AUDITS, PROBES

ORDER = 103  # after the rules of bundles


def _layout(context: SubmissionContext) -> Iterator[Violation]:
    for path in context.unexpected:
        yield Violation(
            path.relative_to(context.path).as_posix(),
            f"{NAME}, {SYSTEM}, {PROBES}/*.json, {AUDITS}/*.json and"
            " <workload>/<framework>/run_<n>/",
            "a file that has no place there",
            fix="remove it",
        )
    for run in context.runs:
        workload, framework = str(run.request.get("workload")), str(run.request.get("framework"))
        if (workload, framework) != (run.folder.workload, run.folder.framework):
            yield Violation(
                run.name,
                f"a run of {run.folder.workload} in {run.folder.framework}",
                f"a run of {workload} in {framework}",
            )
    folder = context.path.resolve()
    if (folder.parent.name, folder.name) != (
        context.declaration.round,
        context.declaration.organization,
    ):
        yield Violation(
            NAME,
            f"the folder {context.declaration.round}/{context.declaration.organization}",
            f"{folder.parent.name}/{folder.name}",
        )


def _organization(context: SubmissionContext) -> Iterator[Violation]:
    for run in context.runs:
        if run.request.get("organization") not in ("none", context.declaration.organization):
            observed, fix = (
                f"a run of {run.request.get('organization')!r}",
                "let the organization that made the run submit it",
            )
            yield Violation(
                run.name, f"a run of {context.declaration.organization}", observed, fix=fix
            )


def _system(context: SubmissionContext) -> Iterator[Violation]:
    for run in context.runs:
        for name in different_fields(run.system, context.system):
            yield Violation(
                f"{run.name}/{SYSTEM}",
                f"{name} = {shown(context.system.get(name))}, as in the submission's {SYSTEM}",
                shown(run.system.get(name)),
            )


RULES = (
    Rule(
        "submission-layout",
        "Every file of a submission has its place, and the folders name what they hold.",
        "A result must have one identity, wherever it is read.",
        "package it again",
        (OfSubmission("submission-layout", _layout),),
    ),
    Rule(
        "submission-organization",
        "A run is submitted by the organization that it was made for.",
        "Nobody submits the runs of others.",
        "let the organization that made the run submit it",
        (OfSubmission("submission-organization", _organization),),
    ),
    Rule(
        "submission-system",
        "All runs of a submission are of the one system that it describes, with one kernel;"
        f" its memory is equal to {MEMORY_TOLERANCE:.0%}.",
        "A result belongs to one system. What the firmware keeps of the memory differs by some"
        " KiB from one start to the next.",
        "submit each system separately",
        (OfSubmission("submission-system", _system),),
    ),
)
