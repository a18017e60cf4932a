"""The record of a review: who reviewed a submission, which epochs a fresh value drew, and what the
replays of the runs found."""

import calendar
import math
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from suite.errors import FileError
from suite.files.json_file import read_as
from suite.files.schema import Digest, Positive, Seconds, ShortText
from suite.metrics.audit_record import AuditRecord, audit_problem
from suite.metrics.replayed_losses import AuditVerdict

SCHEMA = 1
MAX_DRAWS = 1000
MAX_RUNS = 10_000
Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")]


@dataclass(frozen=True)
class DrawnRuns:
    """A value that the reviewer made after runs were handed in, and SHA-256 of their manifests by
    folder."""

    date: Moment
    value: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
    manifests: Annotated[Mapping[str, Digest], Meta(max_length=MAX_RUNS)]

    @property
    def time_ms(self) -> float:
        """The date as Unix time; NaN where the calendar has no such moment."""
        try:
            return 1000.0 * calendar.timegm(time.strptime(self.date, "%Y-%m-%dT%H:%M:%SZ"))
        except ValueError:
            return math.nan


@dataclass(frozen=True)
class ReviewedRun:
    """A run by its manifest. ``epoch``: after which the drawn training state was taken. ``audit``
    is None, with the ``reason``, where the run cannot be replayed; ``reason`` also says why no
    state was."""

    manifest_sha256: Digest
    epoch: Positive | None
    audit: AuditRecord | None
    reason: ShortText | None


@dataclass(frozen=True)
class ReviewedModel:
    """The verdict of `suite verify-model` on the reviewer's machine; None, with the reason, where
    it could not tell."""

    is_equivalent: bool | None
    reason: ShortText | None


@dataclass(frozen=True)
class Review:
    """A review. ``organization`` is who made it, on a machine of this architecture and processor.

    Of ``draws``, the first that lists a run's manifest counts: nobody gets a second one for the
    same run. ``runs`` are by folder, ``models`` by workload/framework.
    """

    schema: int
    suite_version: ShortText
    organization: ShortText
    date: Moment
    architecture: ShortText
    cpu_model: ShortText | None
    submission: ShortText
    draws: Annotated[tuple[DrawnRuns, ...], Meta(min_length=1, max_length=MAX_DRAWS)]
    runs: Annotated[Mapping[str, ReviewedRun], Meta(max_length=MAX_RUNS)]
    models: Annotated[Mapping[str, ReviewedModel], Meta(max_length=MAX_RUNS)]
    time_s: Seconds

    def value_of(self, run: ReviewedRun) -> str | None:
        """The value that drew the run's epoch."""
        return drawn_value(self.draws, run.manifest_sha256)

    def draw_of(self, run: ReviewedRun) -> DrawnRuns | None:
        """The first draw that lists the run."""
        return _first_draw(self.draws, run.manifest_sha256)

    def is_from_drawn_state(self, run: ReviewedRun) -> bool:
        """Whether the replay of a run began with the state that was drawn, and went on through the
        epoch after it."""
        state = None if run.audit is None else run.audit.state
        return state is not None and state.is_complete and state.value == self.value_of(run)

    def replaced(self, present: Collection[str]) -> frozenset[str]:
        """Drawn runs whose manifest is none of those present: handed in again, or left out."""
        return frozenset(
            name
            for draw in self.draws
            for name, manifest in draw.manifests.items()
            if manifest not in present
        )

    @property
    def verdict(self) -> AuditVerdict:
        """Contradicts, if one replay or model does; agrees, if all runs do from drawn states."""
        audits = [run.audit for run in self.runs.values() if run.audit is not None]
        if any(audit.verdict is AuditVerdict.CONTRADICTS for audit in audits) or any(
            model.is_equivalent is False for model in self.models.values()
        ):
            return AuditVerdict.CONTRADICTS
        agrees = all(
            self.is_from_drawn_state(run)
            and run.audit is not None
            and run.audit.verdict is AuditVerdict.AGREES
            for run in self.runs.values()
        )
        return AuditVerdict.AGREES if agrees else AuditVerdict.CANNOT_TELL


def drawn_value(draws: Iterable[DrawnRuns], manifest_sha256: str) -> str | None:
    """The value of the first draw that lists a manifest."""
    draw = _first_draw(draws, manifest_sha256)
    return None if draw is None else draw.value


def _first_draw(draws: Iterable[DrawnRuns], manifest_sha256: str) -> DrawnRuns | None:
    return next((draw for draw in draws if manifest_sha256 in draw.manifests.values()), None)


def read_review(path: Path) -> Review:
    """Read a record as untrusted input; raises FileError naming the file and what is wrong."""
    record = read_as(path, Review, SCHEMA)
    if any(record.value_of(run) is None for run in record.runs.values()):
        raise FileError(path, "is not a valid review (one of its runs is in none of its draws)")
    for run in record.runs.values():
        problem = None if run.audit is None else audit_problem(run.audit)
        if problem is not None:
            raise FileError(path, f"has an invalid audit record ({problem})")
    return record
