"""The record of an audit, which a submission may hold: what was replayed where, both sides' losses, the tolerances and the verdict."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.catalog.audit import FLOAT64, AuditTolerances
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_record
from suite.files.toml_file import from_plain
from suite.metrics.replayed_losses import MAX_STEPS, AuditVerdict, LossComparison, ReplayedLosses, compare_losses, smallest_rate_error

SCHEMA = 1
RATE_ERROR = 0.1
"""Relative error of the learning rate with which the first steps are trained once more, to learn how far that moves the losses."""


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
class AuditRecord:
    """One audit. ``losses`` of each step; ``with_other_rate`` at a learning rate wrong by RATE_ERROR, None where that was not trained.

    ``reason`` says why there is nothing to compare, else it is None. ``time_s`` is what the audit took.
    """

    schema: int
    suite_version: str
    bundle: AuditedBundle
    replayer: Replayer
    steps: int
    losses: ReplayedLosses
    with_other_rate: tuple[float, ...] | None
    comparison: LossComparison
    rate_error_found: float | None
    reason: str | None
    time_s: float

    @property
    def verdict(self) -> AuditVerdict:
        """Agrees, contradicts, or cannot tell."""
        return self.comparison.verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class AuditBadge:
    """What the badge *audited* says of a run: what replayed how many steps, and the smallest error of the learning rate that would have shown."""

    framework: str
    steps: int
    rate_error_found: float | None
    data_verified: bool


def read_audit(path: Path) -> AuditRecord:
    """Read a record as untrusted input; raises FileError naming the file and what is wrong."""
    values = read_record(path, SCHEMA)
    try:
        record = from_plain(values, AuditRecord, "")
    except (SuiteError, TypeError, ValueError, RecursionError) as error:
        raise FileError(path, f"is not the record of an audit ({str(error)[:200]})") from error
    problem = _problem(record)
    if problem is not None:
        raise FileError(path, f"is not the record of an audit ({problem})")
    return record


def _problem(record: AuditRecord) -> str | None:
    losses = record.losses
    rows = [losses.recorded, losses.plain, losses.float64, losses.tolerances, losses.tolerances_float64, record.with_other_rate]
    if not 1 <= record.steps <= MAX_STEPS:
        return f"steps must be from 1 to {MAX_STEPS}"
    if any(row is not None and len(row) != record.steps for row in rows):
        return "every list must have a value for each step"
    if not all(value is None or math.isfinite(value) for row in rows for value in row or ()):
        return "losses and tolerances must be finite numbers"
    if any(value is not None and value <= 0 for row in (losses.tolerances, losses.tolerances_float64) for value in row):
        return "tolerances must be above zero"
    return None


def contradictions(record: AuditRecord, tolerances: AuditTolerances) -> list[tuple[str, str, str]]:
    """What a record says against itself and against the rulebook's tolerances: (what, expected, observed) each."""
    found, run, other = [], record.bundle.framework, record.replayer.framework
    for name, partner in (("tolerances", other), ("tolerances_float64", FLOAT64)):
        expected, observed = tolerances.of(run, partner, record.steps), getattr(record.losses, name)
        step = next((at for at, pair in enumerate(zip(expected, observed, strict=True), start=1) if pair[0] != pair[1]), None)
        if step is not None:
            found.append((f"{name} of step {step}", f"{expected[step - 1]}", f"{observed[step - 1]}"))
    computed = compare_losses(record.losses)
    if computed != record.comparison:
        found.append(("the verdict", f"{computed.verdict.value} {computed.step}", f"{record.comparison.verdict.value} {record.comparison.step}"))
    if rate_error_found(record.losses, record.with_other_rate) != record.rate_error_found:
        found.append(("rate_error_found", f"{rate_error_found(record.losses, record.with_other_rate)}", f"{record.rate_error_found}"))
    return found


def rate_error_found(losses: ReplayedLosses, with_other_rate: tuple[float, ...] | None) -> float | None:
    """The smallest relative error of the learning rate that the plain replay would show; None where it was not tried."""
    if losses.plain is None or with_other_rate is None:
        return None
    return smallest_rate_error(losses.plain, with_other_rate, losses.tolerances, RATE_ERROR)


def badge(record: AuditRecord | None) -> AuditBadge | None:
    """The badge of a run whose record complies with `submission-audits`; None without a record, or where it cannot tell."""
    if record is None or record.verdict is not AuditVerdict.AGREES:
        return None
    return AuditBadge(record.replayer.framework, record.steps, record.rate_error_found, record.replayer.data_verified)
