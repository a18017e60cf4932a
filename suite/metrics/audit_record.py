"""The record of an audit, which a submission may hold: what was replayed where, both sides' losses,
the tolerances and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from suite.catalog.audit_tolerances import FLOAT64, AuditTolerances, tolerances_name
from suite.errors import FileError
from suite.files.json_file import read_as
from suite.files.schema import Number
from suite.metrics.epoch_replays import EpochReplays
from suite.metrics.replayed_losses import (
    MAX_STEPS,
    AuditVerdict,
    LossComparison,
    ReplayedLosses,
    compare_losses,
    smallest_rate_error,
)

SCHEMA = 1
RATE_ERROR = 0.1
"""Relative error of the learning rate with which the first steps are trained once more, to learn
how far that moves the losses."""
MAX_CORRECT_SHARE = 2e-4
"""Of the evaluation samples: those whose two best classes are so close that rounding decides. None
was, of 150,000 in fifteen audits of LeNet-5."""
INCOMPLETE = "every list of losses or tolerances must have one value per step"


@dataclass(frozen=True)
class AuditedBundle:
    """The bundle: SHA-256 of its manifest, and what its request says."""

    run_id: str
    manifest_sha256: str
    workload: str
    framework: str
    division: str
    seed: int
    global_batch_size: int
    base_learning_rate: float
    ranks: int


@dataclass(frozen=True)
class Replayer:
    """What replayed it: the framework, its version, threads, and the machine."""

    framework: str
    framework_version: str | None
    threads: int
    architecture: str
    cpu_model: str | None
    board: str | None
    data_verified: bool  # checksums prove that the replay read the published data set


@dataclass(frozen=True)
class StateAudit:
    """What was replayed from a kept training state, that after ``epoch``, whose digests are those
    of the log.

    ``value`` is the text that the epoch was drawn with (suite.metrics.epoch_draw); None:
    self-drawn, nobody else chose it. ``losses`` are of the first steps after the state, and
    ``comparison`` is None after the run's last epoch, which no step follows. ``correct`` is the
    number of correctly classified samples that the run logged, ``replayed_correct`` the replay's;
    None where this epoch was not evaluated. ``epoch_after``: the whole epoch after the state or its
    beginning; None where no step follows, and in records of before. ``program``: the same steps by
    the run's own program beside the same replays; None where nobody had it.
    """

    epoch: int
    value: str | None
    losses: ReplayedLosses
    comparison: LossComparison | None
    correct: int | None
    replayed_correct: int | None
    eval_samples: int
    epoch_after: EpochReplays | None = None
    program: EpochReplays | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the epoch after the state was replayed, where a step follows."""
        return self.epoch_after is not None or not self.losses.recorded

    @property
    def allowed_correct(self) -> int:
        """By how many correct samples two honest evaluations of one state may differ."""
        return max(1, round(MAX_CORRECT_SHARE * self.eval_samples))

    @property
    def verdict(self) -> AuditVerdict:
        """Contradicts, if steps or evaluation do; agrees, if all that there is to compare does."""
        verdicts = [] if self.comparison is None else [self.comparison.verdict]
        if self.correct is not None and self.replayed_correct is not None:
            is_near = abs(self.correct - self.replayed_correct) <= self.allowed_correct
            verdicts.append(AuditVerdict.AGREES if is_near else AuditVerdict.CONTRADICTS)
        verdicts += [one.verdict for one in (self.epoch_after, self.program) if one is not None]
        return _joint(verdicts)


def _joint(verdicts: Sequence[AuditVerdict]) -> AuditVerdict:
    """Of several comparisons."""
    if AuditVerdict.CONTRADICTS in verdicts:
        return AuditVerdict.CONTRADICTS
    return verdicts[0] if len(set(verdicts)) == 1 else AuditVerdict.CANNOT_TELL


@dataclass(frozen=True)
class AuditRecord:
    """One audit. ``losses`` of each step; ``with_other_rate`` at a learning rate wrong by
    RATE_ERROR, None where that was not trained.

    ``reason`` says why there is nothing to compare, or that the run's own program could not replay
    it; else it is None. ``time_s`` is what the audit
    took. ``state`` is None where no training state was handed in.
    """

    schema: int
    suite_version: str
    bundle: AuditedBundle
    replayer: Replayer
    steps: Annotated[int, Meta(ge=1, le=MAX_STEPS)]
    losses: ReplayedLosses
    with_other_rate: tuple[Number, ...] | None
    comparison: LossComparison
    rate_error_found: float | None
    reason: str | None
    time_s: float
    state: StateAudit | None = None

    @property
    def verdict(self) -> AuditVerdict:
        """Agrees, contradicts, or cannot tell."""
        verdicts = [self.comparison.verdict]
        verdicts += [] if self.state is None else [self.state.verdict]
        verdicts += [] if self.reason is None else [AuditVerdict.CANNOT_TELL]
        return _joint(verdicts)


def read_audit(path: Path) -> AuditRecord:
    """Read a record as untrusted input; raises FileError naming the file and what is wrong."""
    record = read_as(path, AuditRecord, SCHEMA)
    problem = audit_problem(record)
    if problem is not None:
        raise FileError(path, f"is not a valid audit record ({problem})")
    return record


def audit_problem(record: AuditRecord) -> str | None:
    """What is wrong with the form of a record; None: nothing."""
    state, others = record.state, record.with_other_rate
    if not record.losses.are_complete(record.steps) or (
        others is not None and len(others) != record.steps
    ):
        return INCOMPLETE
    if state is None:
        return None
    steps = len(state.losses.recorded)
    if (state.comparison is None) is not (steps == 0) or steps > MAX_STEPS:
        return (
            f"the state must have a comparison and 1 to {MAX_STEPS} recorded losses, or no"
            " comparison and no recorded losses"
        )
    counts = (state.correct, state.replayed_correct)
    if counts.count(None) == 1 or not all(
        0 <= count <= state.eval_samples for count in counts if count is not None
    ):
        return (
            f"the two numbers of correct samples must be from 0 to {state.eval_samples}, or both"
            " missing"
        )
    return None if state.losses.are_complete(steps) else INCOMPLETE


def contradictions(record: AuditRecord, tolerances: AuditTolerances) -> list[tuple[str, str, str]]:
    """What a record says against itself and against the rulebook's tolerances: (what, expected,
    observed) each."""
    found = _contradictions(record.losses, record.comparison, record, tolerances)
    if record.state is not None and record.state.comparison is not None:
        of_state = _contradictions(record.state.losses, record.state.comparison, record, tolerances)
        found += [
            (f"{what}, after the state of epoch {record.state.epoch}", expected, observed)
            for what, expected, observed in of_state
        ]
    rate_error = rate_error_found(record.losses, record.with_other_rate)
    if rate_error != record.rate_error_found:
        found.append(("rate_error_found", f"{rate_error}", f"{record.rate_error_found}"))
    return found


def _contradictions(
    losses: ReplayedLosses, stated: LossComparison, record: AuditRecord, tolerances: AuditTolerances
) -> list[tuple[str, str, str]]:
    found, steps = [], len(losses.recorded)
    for name, partner in (
        ("tolerances", record.replayer.framework),
        ("tolerances_float64", FLOAT64),
    ):
        expected = tolerances.per_step(tolerances_name(record.bundle.framework), partner, steps)
        for step, (right, observed) in enumerate(
            zip(expected, getattr(losses, name), strict=True), start=1
        ):
            if right != observed:
                found.append((f"{name} of step {step}", f"{right}", f"{observed}"))
                break
    computed = compare_losses(losses)
    if computed != stated:
        found.append(("the verdict on the losses", _in_words(computed), _in_words(stated)))
    return found


def _in_words(comparison: LossComparison) -> str:
    """The verdict, and the step that it was decided at."""
    step, verdict = comparison.step, comparison.verdict.value
    if step is None:
        return verdict
    return (
        f"{verdict} at step {step.step} (loss {step.observed:.6g}, replayed {step.expected:.6g},"
        f" tolerance {step.tolerance:.3g})"
    )


def rate_error_found(
    losses: ReplayedLosses, with_other_rate: tuple[float, ...] | None
) -> float | None:
    """The smallest relative error of the learning rate that the plain replay would show; None where
    it was not tried."""
    if losses.plain is None or with_other_rate is None:
        return None
    return smallest_rate_error(losses.plain, with_other_rate, losses.tolerances, RATE_ERROR)


def audit_badge(record: AuditRecord) -> str | None:
    """What the badge *audited* says of a run whose record complies with `submission-audits`; None
    where the record does not agree. Nobody but the submitter vouches for a state's draw."""
    if record.verdict is not AuditVerdict.AGREES:
        return None
    return record.replayer.framework + (", from a state" if record.state else "")
