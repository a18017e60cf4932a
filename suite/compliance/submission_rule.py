"""What checks of submissions read: what shows only when their runs are compared."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from suite.catalog.organizations import cannot_vouch
from suite.catalog.rounds import Round
from suite.compliance.rule import Check, Violation
from suite.compliance.signed_reviews import SignedReview, read_signed_reviews
from suite.submission.declaration import Declaration
from suite.submission.entry_keys import entry_key
from suite.submission.folder_names import RunFolder
from suite.submission.signature import SubmissionSignature, allowed_signers, read_signature


@dataclass(frozen=True)
class SubmittedRun:
    """A run of a submission, with what the checks read of it; ``name`` is its folder relative to
    the submission.

    ``losses``, ``times`` and ``readings`` are SHA-256 digests of its first losses, of the times
    between its first steps and of those between its first readings; None where there are too few.
    ``submission`` is the submission's folder. ``boot`` is the boot id of rank 0's machine,
    ``span_ns`` the time of its log on that machine's monotonic clock, ``idle_ns`` that of the idle
    machine's readings, ``booted_ms`` when the monotonic clock was 0, in Unix time; None where not
    recorded. ``epochs_to_target`` is infinite for a run that missed its target, None for one
    without. ``node_systems`` are the systems of a cluster's nodes after the first, empty where one
    told nothing. A ``is_withdrawn`` run is no part of its entry. ``moment_of_digests`` is when the
    digests of its data were taken, boot id and monotonic clock in ns; None where there are none.
    ``power`` is a sample of its power readings (suite.compliance.copies), ``memory`` one of the
    used memory, ``loss_rows`` one of its losses. ``states`` are the digests of its parameters and
    velocities after every epoch. ``power_meters`` are those that read power during the run, on the
    first node. ``nonce`` is run.json's record of where the seed came from, ``implementation`` that
    of the program that trained, ``study`` the mark of the study that it was made for, ``command``
    the command that made it.
    """

    submission: Path

    folder: RunFolder
    name: str
    request: Mapping[str, Any]
    round: str | None
    run_id: str
    system: Mapping[str, Any]
    node_systems: tuple[Mapping[str, Any], ...]
    losses: str | None
    times: str | None
    readings: str | None
    epochs_to_target: float | None
    suite_version: str
    started_time_ms: float
    boot: str | None
    span_ns: tuple[int, int] | None
    idle_ns: tuple[int, int] | None
    booted_ms: float | None
    is_withdrawn: bool
    power_meters: frozenset[str]
    states: frozenset[str] = frozenset()
    moment_of_digests: tuple[str, int] | None = None
    power: frozenset[int] = frozenset()
    memory: frozenset[int] = frozenset()
    loss_rows: frozenset[int] = frozenset()
    nonce: Mapping[str, Any] | None = None
    implementation: Mapping[str, Any] | None = None
    study: Mapping[str, Any] | None = None
    command: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The run's folder with those of round and organization."""
        return "/".join((*self.submission.resolve().parts[-2:], self.name))

    def booted_apart_s(self, other: "SubmittedRun") -> float:
        """How far apart the monotonic clocks of two runs began; NaN where one did not log it."""
        if self.booted_ms is None or other.booted_ms is None:
            return math.nan
        return abs(self.booted_ms - other.booted_ms) / 1000


@dataclass(frozen=True)
class Copied:
    """A run of this submission, another run of whatever submission, and in what they are alike."""

    run: SubmittedRun
    other: SubmittedRun
    what: str


@dataclass(frozen=True)
class SubmissionContext:
    """What submission checks read.

    ``round`` is the one whose rules are applied. ``other_runs`` are those of all other submissions
    that are checked together with this one, ``copies`` the near copies in which this one's runs
    have a part. ``of_reviews`` keeps what was found wrong with each review, by its file.
    """

    path: Path
    declaration: Declaration
    round: Round
    system: Mapping[str, Any]
    runs: tuple[SubmittedRun, ...]
    unexpected: tuple[Path, ...]
    other_runs: tuple[SubmittedRun, ...] = ()
    copies: tuple[Copied, ...] = ()
    of_reviews: dict[Path, tuple[Violation, ...]] = field(default_factory=dict, compare=False)

    def pairs(self) -> Iterator[tuple[SubmittedRun, SubmittedRun]]:
        """Every run with every run of this submission and of the others, itself included."""
        return product(self.runs, (*self.runs, *self.other_runs))

    def entries(self, with_withdrawn: bool = False) -> dict[tuple[str, ...], list[SubmittedRun]]:
        """Runs that differ in seed only, by workload, framework and the rest of the request;
        without those that were withdrawn, by default."""
        entries: dict[tuple[str, ...], list[SubmittedRun]] = {}
        for run in (run for run in self.runs if with_withdrawn or not run.is_withdrawn):
            entries.setdefault((*run.folder.trained, entry_key(run.request)), []).append(run)
        return entries

    @cached_property
    def signature(self) -> SubmissionSignature | None:
        """The verdict on the submission's signature; None if it is not signed."""
        return read_signature(self.path, allowed_signers())

    @property
    def submitters(self) -> frozenset[str | None]:
        """Who cannot vouch for it."""
        signer = None if self.signature is None else self.signature.verdict.signer
        return cannot_vouch(self.declaration.organization, signer)

    @cached_property
    def reviews(self) -> tuple[SignedReview, ...]:
        """The reviews that others added, each with its maker."""
        return read_signed_reviews(self.path, allowed_signers())


class OfSubmission(Check[SubmissionContext]):
    """A check of a submission as a whole."""
