"""A rule of submissions: what shows only when their runs are compared."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.catalog.divisions import Division
from suite.catalog.rounds import Round
from suite.compliance.faults.fault import Fault
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation
from suite.submission.declaration import Declaration
from suite.submission.folders import RunFolder


@dataclass(frozen=True)
class SubmittedRun:
    """A run of a submission, with what the checks read of it; ``name`` is its folder relative to the submission.

    ``losses``, ``times`` and ``readings`` are SHA-256 digests of its first losses, of the times between its first steps and of those between
    its first readings; None where there are too few.
    """

    folder: RunFolder
    name: str
    request: Mapping[str, Any]
    round: str | None
    run_id: str
    system: Mapping[str, Any]
    losses: str | None
    times: str | None
    readings: str | None
    epochs_to_target: float | None


@dataclass(frozen=True)
class SubmissionContext:
    """What submission checks read; ``earlier_runs`` are those of the submissions that were checked before this one.

    ``round`` is the one whose rules are applied.
    """

    path: Path
    declaration: Declaration
    round: Round
    system: Mapping[str, Any]
    runs: tuple[SubmittedRun, ...]
    unexpected: tuple[Path, ...]
    earlier_runs: tuple[SubmittedRun, ...]


@dataclass(frozen=True)
class SubmissionRule:
    """One rule: its text, its check, and the faults that prove the check."""

    id: str
    sentence: str
    rationale: str
    check: Callable[[SubmissionContext], Iterable[Violation]]
    faults: tuple[Fault, ...]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
