"""A rule over a whole submission: what only shows when its bundles are seen together."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.catalog.divisions import Division
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation
from suite.submission.declaration import Declaration
from suite.submission.tree import Place


@dataclass(frozen=True)
class Placed:
    """A bundle in its place, with what several rules read of it."""

    place: Place
    name: str  # its folder, relative to the submission
    request: Mapping[str, Any]
    run_id: str
    system: Mapping[str, Any]
    losses: str | None  # the SHA-256 of its first losses; None where there are next to none, as below
    times: str | None  # and of the times between its first steps
    readings: str | None  # and of those between its first readings
    epochs_to_target: float | None


@dataclass(frozen=True)
class SubmissionCase:
    """A submission to be judged."""

    path: Path
    declaration: Declaration
    system: Mapping[str, Any]
    bundles: tuple[Placed, ...]
    stray: tuple[Path, ...]
    others: tuple[Placed, ...]  # of submissions that were read before this one


@dataclass(frozen=True)
class SubmissionFault:
    """A change of a good submission's folder, in place, that a rule must find: the rejecting fixture."""

    name: str
    change: Callable[[Path], None]


@dataclass(frozen=True)
class SubmissionRule:
    """One rule: its text, its check, and the faults that prove the check."""

    id: str
    sentence: str
    rationale: str
    check: Callable[[SubmissionCase], Iterable[Violation]]
    faults: tuple[SubmissionFault, ...]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
