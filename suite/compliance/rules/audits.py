"""Audits: the records of replays that a submission holds"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from reference_impls.contract import log_name
from suite.bundle.layout import MANIFEST
from suite.bundle.log import chain_head
from suite.bundle.reader import Bundle
from suite.catalog.audit_tolerances import load_audit_tolerances
from suite.compliance.rule import Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.metrics.audit_record import (
    AuditRecord,
    StateAudit,
    audit_badge,
    contradictions,
    read_audit,
)
from suite.metrics.epoch_draw import drawn_epoch, whole_epochs
from suite.metrics.epoch_replays import FIGURES, EpochReplays, samples_of
from suite.metrics.replayed_losses import AuditVerdict, recorded_losses
from suite.submission.folder_names import AUDITS, audit_path

ORDER = 109  # after the rules about the runs that are audited

FIX = (
    "audit the run again with `suite audit … --output FILE`, then package the submission again"
    " with `suite package … --audit FILE`"
)


def _audits(context: SubmissionContext) -> Violations:

    runs = {audit_path(context.path, run.folder.path): run for run in context.runs}
    for path in sorted((context.path / AUDITS).glob("*.json")):
        name = path.relative_to(context.path).as_posix()
        if path not in runs:
            yield Violation(
                name,
                "an audit of a run in this submission, named <workload>-<framework>-run_<n>.json",
                "no such run",
                fix="remove this file",
            )
            continue
        try:
            record = read_audit(path)
            differences = list(audit_differences(record, runs[path]))
        except SuiteError as error:
            expected = "a record of an audit that can be read and compared with its run"
            yield Violation(name, expected, str(error))
            continue
        for what, expected, observed in differences:
            yield Violation(name, f"{what}: {expected}", observed)
        if record.verdict is AuditVerdict.CONTRADICTS and not runs[path].is_withdrawn:
            yield Violation(
                name,
                "an audit that agrees with the run",
                f"an audit that contradicts the run {where_contradicted(record)}",
                fix="withdraw the run, or reply to the reviewer",
            )


def where_contradicted(record: AuditRecord) -> str:
    """The step or the evaluation that contradicts."""
    state, compared = record.state, [(record.comparison, "")]
    if state is not None and state.comparison is not None:
        compared.append((state.comparison, f" after the state of epoch {state.epoch}"))
    for comparison, after in compared:
        step = comparison.step
        if step is not None and comparison.verdict is AuditVerdict.CONTRADICTS:
            losses = f"loss {step.observed:.6g}, replayed {step.expected:.6g}"
            return f"at step {step.step}{after}: {losses}"
    if state is None:
        return ""
    for whole, by in (
        (state.epoch_after, ""),
        (state.program, " (replayed by the run's own program)"),
    ):
        if whole is None:
            continue
        for figure in whole.judged():
            if not figure.is_within:
                return (
                    f"in the {whole.steps} steps{by} after the state of epoch {state.epoch}:"
                    f" {FIGURES[figure.name]} {figure.observed:.6g}, replays gave {figure.low:.6g}"
                    f" to {figure.high:.6g}"
                )
    return (
        f"in the evaluation of epoch {state.epoch}: {state.correct} samples correct,"
        f" {state.replayed_correct} in the replay"
    )


def audit_badges(context: SubmissionContext) -> dict[Path, str]:
    """The badge of each run, by its folder, whose audit's record agrees and breaks no rule."""
    found = {}
    for run in context.runs:
        try:
            record = read_audit(audit_path(context.path, run.folder.path))
            badge = audit_badge(record)
            if badge is not None and not any(audit_differences(record, run)):
                found[run.folder.path] = badge
        except SuiteError:
            continue  # without a record, or reported by the rule
    return found


def audit_differences(record: AuditRecord, run: SubmittedRun) -> Iterator[tuple[str, str, str]]:
    """Where a record is not of this run, or contradicts itself or the rulebook: (what, expected,
    observed)."""

    bundle = Bundle(run.folder.path)
    digest = sha256(bundle.file(MANIFEST))
    if record.bundle.manifest_sha256 != digest:
        yield "SHA-256 of the run's manifest", digest, record.bundle.manifest_sha256[:80]
        return
    for name in ("workload", "framework", "division", "seed", "global_batch_size"):
        expected, observed = run.request.get(name), getattr(record.bundle, name)
        if expected != observed:
            yield name, f"{expected!r}"[:80], f"{observed!r}"[:80]
    for step, (expected, observed) in enumerate(
        zip(recorded_losses(bundle.steps(), record.steps), record.losses.recorded, strict=True),
        start=1,
    ):
        if expected != observed:
            yield f"the run's loss of step {step}", f"{expected!r}", f"{observed!r}"
            return
    if record.state is not None:
        yield from _state_differences(record.state, bundle)
    yield from contradictions(record, load_audit_tolerances(record.bundle.workload))


def _state_differences(state: StateAudit, bundle: Bundle) -> Iterator[tuple[str, str, str]]:
    """Where the part of a training state is not of this run, or its epoch not the drawn one."""

    log, steps, request = bundle.log(), bundle.steps(), bundle.run().request
    epochs, head = whole_epochs(bundle), chain_head(bundle.path / log_name(0))
    if not 1 <= state.epoch <= epochs:
        yield "the epoch of the training state", f"1 to {epochs}", f"{state.epoch}"
        return
    value = state.value
    if value is not None and (drawn := drawn_epoch(str(head), value, epochs)) != state.epoch:
        yield f"the epoch drawn with {value[:80]!r}", f"{drawn}", f"{state.epoch}"
    after = int(steps.step[steps.epoch <= state.epoch].max(initial=0))
    if not state.losses.recorded and (steps.step > after).any():
        yield (
            f"losses after the state of epoch {state.epoch}",
            "at least one, because the run has later steps",
            "none",
        )
    elif recorded_losses(steps, len(state.losses.recorded), after) != state.losses.recorded:
        yield (
            f"the run's losses after the state of epoch {state.epoch}",
            "as in the step records",
            "other losses",
        )
    correct = log.correct().get(state.epoch)
    if state.epoch_after is not None:
        yield from _epoch_differences(state.epoch_after, bundle, after, state.epoch + 1)
    observed = (state.correct, state.eval_samples)
    if observed != (correct, request["data"]["eval_samples"]):
        expected = f"{correct} of {request['data']['eval_samples']}"
        yield (
            f"samples that the run classified correctly after epoch {state.epoch}",
            expected,
            f"{observed[0]} of {observed[1]}",
        )


def _epoch_differences(
    found: EpochReplays, bundle: Bundle, done: int, epoch: int
) -> Iterator[tuple[str, str, str]]:
    """Where the figures of the epoch after a state are not those of the run."""
    steps, request = bundle.steps(), bundle.run().request
    is_evaluated = found.replayed[0].correct is not None
    for name, own, stated in (
        (
            "mean loss",
            float(np.mean(recorded_losses(steps, found.steps, done))),
            found.recorded.mean_loss,
        ),
        ("samples", samples_of(steps, found.steps, done), found.samples),
        (
            "correct samples",
            bundle.log().correct().get(epoch) if is_evaluated else None,
            found.recorded.correct,
        ),
        (
            "expected samples",
            min(found.steps * request["global_batch_size"], request["data"]["train_samples"]),
            found.expected_samples,
        ),
        ("samples evaluated", request["data"]["eval_samples"], found.eval_samples),
    ):
        if own != stated:
            yield f"{name} of epoch {epoch}", f"{own}", f"{stated}"


RULES = (
    Rule(
        "submission-audits",
        "The record of an audit belongs to the run in its file name, and has the losses and"
        " settings of this run. Its tolerances are the rulebook's. The replay does not contradict"
        " the run, unless the run is withdrawn.",
        "A replay of the first steps shows whether losses were invented, and whether the run used"
        " another seed, batch size or learning rate, or other data or weights, than recorded. A"
        " replay from the training state of a later epoch shows the same for that epoch. Somebody"
        " else draws this epoch by lot, so that nobody can prepare for it. A record of another run,"
        " or with wider tolerances, proves nothing.",
        FIX,
        (OfSubmission("submission-audits", _audits),),
    ),
)
