"""Audits: the records of replays that a submission holds"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog.audit import load_audit_tolerances
from suite.compliance.faults.audit_edits import add_audit
from suite.compliance.faults.fault import of_submission
from suite.compliance.rule import Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule, SubmittedRun
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.submission.folders import AUDITS, audit_path

if TYPE_CHECKING:
    from suite.metrics.audit_record import AuditBadge, AuditRecord

ORDER = 101  # after the rules of submissions

FIX = "audit the run again with suite audit --output, and package it again with --audit"


def _audits(context: SubmissionContext) -> Iterator[Violation]:
    from suite.metrics.audit_record import read_audit  # start-up: loads numpy

    runs = {audit_path(context.path, run.folder.path): run for run in context.runs}
    for path in sorted((context.path / AUDITS).glob("*.json")):
        name = path.relative_to(context.path).as_posix()
        if path not in runs:
            yield Violation(name, "the audit of a run of this submission, <workload>-<framework>-run_<n>.json", "there is no such run", "remove it")
            continue
        try:
            record = read_audit(path)
            differences = list(_differences(record, runs[path]))
        except SuiteError as error:
            yield Violation(name, "the record of an audit", str(error), FIX)
            continue
        for what, expected, observed in differences:
            yield Violation(name, f"{what}: {expected}", observed, FIX)
        if record.verdict.value == "contradicts":
            step = record.comparison.step
            at = "" if step is None else f" at step {step.step}: loss {step.observed:.6g}, replayed {step.expected:.6g}"
            yield Violation(name, "an audit that agrees with the run", f"it contradicts the run{at}", "withdraw the run, or answer in the review")


def badges(context: SubmissionContext) -> "dict[Path, AuditBadge]":
    """The badge of each run, by its folder, whose audit's record agrees and breaks no rule."""
    from suite.metrics.audit_record import badge, read_audit  # start-up: loads numpy

    found = {}
    for run in context.runs:
        path = audit_path(context.path, run.folder.path)
        try:
            record = read_audit(path) if path.is_file() and not path.is_symlink() else None
            earned = badge(record) if record is not None and not any(_differences(record, run)) else None
        except SuiteError:
            continue  # reported by the rule
        if earned is not None:
            found[run.folder.path] = earned
    return found


def _differences(record: "AuditRecord", run: SubmittedRun) -> Iterator[tuple[str, str, str]]:
    """Where a record is not of this run, or contradicts itself or the rulebook: (what, expected, observed)."""
    from suite.metrics.audit_record import contradictions  # start-up: loads numpy
    from suite.metrics.replayed_losses import recorded_losses  # start-up: loads numpy

    bundle = Bundle(run.folder.path)
    digest = sha256(bundle.file(MANIFEST))
    if record.bundle.manifest_sha256 != digest:
        yield "SHA-256 of the run's manifest", digest, record.bundle.manifest_sha256[:80]
        return
    for name in ("workload", "framework", "division", "seed", "global_batch_size"):
        expected, observed = run.request.get(name), getattr(record.bundle, name)
        if expected != observed:
            yield name, f"{expected!r}"[:80], f"{observed!r}"[:80]
    for step, (expected, observed) in enumerate(zip(recorded_losses(bundle.steps(), record.steps), record.losses.recorded, strict=True), start=1):
        if expected != observed:
            yield f"the run's loss of step {step}", f"{expected!r}", f"{observed!r}"
            return
    yield from contradictions(record, load_audit_tolerances(record.bundle.workload))


RULES = (
    SubmissionRule(
        id="submission-audits",
        sentence="An audit's record is of the run it names, follows from its losses and the rulebook's tolerances, and does not contradict the run.",
        rationale="A replay of the first steps shows invented losses and other seeds, data, weights, batch sizes and learning rates.",
        check=_audits,
        faults=(
            of_submission("an audit of another manifest", add_audit({"bundle.manifest_sha256": "0" * 64})),
            of_submission("an audit that contradicts", add_audit({"losses.plain.3": 9.0, "losses.float64": "plain"}, judged=True)),
            of_submission("an audit whose verdict does not follow", add_audit({"losses.plain.3": 9.0, "losses.float64": "plain"})),
            of_submission("an audit with a wider tolerance", add_audit({"losses.tolerances.3": 10.0}, judged=True)),
            of_submission("an audit of other losses", add_audit({"losses.recorded.3": 0.5, "losses.plain.3": 0.5}, judged=True)),
            of_submission("an audit of another seed", add_audit({"bundle.seed": 77})),
            of_submission("an audit with a missing loss", add_audit({"steps": 11})),
            of_submission("an audit with a key too many", add_audit({"bundle.remark": "x"})),
            of_submission("an audit of another schema", add_audit({"schema": 9})),
            of_submission("an audit of a run that is not there", add_audit({}, number=9)),
            of_submission("an audit with an invented power", add_audit({"rate_error_found": 1e-9})),
        ),
    ),
)
