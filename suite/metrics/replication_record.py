"""The record of a replication: what was measured of the original runs and of the fresh ones, and
what follows from both."""

import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from reference_impls.contract import ContractError, request_from_dict, request_to_dict
from suite.bundle.layout import MANIFEST, NO_ORGANIZATION, SYSTEM
from suite.bundle.reader import Bundle
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.files.json_file import flatten, read_as
from suite.files.schema import AboveZero, Number, Positive, Share, from_plain
from suite.metrics.figure import Figure
from suite.metrics.replayed_losses import recorded_losses
from suite.metrics.summary import derive_summary

SCHEMA = 1
COMPARED_STEPS = 10
"""Losses that are compared with tolerances: as many as `suite audit` compares, for the same reason
(docs/auditing.md)."""
MAX_LISTED = 10_000
WITHOUT_GPUS = "0.2.0"
"""The version whose records do not name the machine's GPUs."""
UNFIT = "is not a valid replication record"
OF_PLACE = (
    "seed",
    "output_directory",
    "cache_cleared",
    "organization",
    "platform",
    "contract_version",
    "data.directory",
    "data.verified",
)
"""Settings in which a fresh run may differ from its original, but for the seed, which is compared
by itself."""


class ReplicationVerdict(str, enum.Enum):
    """What fresh runs say of the original's losses, accuracy or times, or of all of them."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class MachineFields:
    """The fields of system.json that describe the machine (suite.bundle.machines); None where
    unknown, and ``gpus`` in records of version 0.2."""

    device: str
    board: str | None
    architecture: str | None
    cpu_model: str | None
    cpu_cores: int | None
    memory_size_bytes: int | None
    power_mode: str | None
    cpu_governor: str | None
    storage_medium: str | None
    kernel: str | None
    operating_system: str | None
    board_digest: str | None
    gpus: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MeasuredRun:
    """A run as its bundle records it.

    ``settings_sha256`` is that of the request without seed and place. ``losses`` are of the first
    steps, ``losses_sha256`` is of all ``steps`` of them. ``accuracies`` are by epoch, None where it
    was not evaluated. ``first_epoch_s`` and ``time_to_epoch_s`` are the figures of summary.json,
    and ``foreign_cpu_share`` and ``stolen_cpu_share`` are what other programs and the hypervisor
    took of all cores; None where unknown.
    """

    run_id: str
    manifest_sha256: str
    organization: str
    workload: str
    framework: str
    division: str
    seed: int
    settings_sha256: str
    round: str | None
    suite_version: str
    framework_version: str | None
    implementation_sha256: str | None
    started_time_ms: int
    machine: MachineFields
    steps: int
    losses: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=COMPARED_STEPS)]
    losses_sha256: str
    eval_samples: Positive
    accuracies: tuple[Share | None, ...]
    first_epoch_s: AboveZero | None
    time_to_epoch_s: AboveZero | None
    foreign_cpu_share: Number | None
    stolen_cpu_share: Number | None


@dataclass(frozen=True)
class ReplayedOriginal:
    """The verdict of `suite audit` on an original whose losses the fresh run did not repeat within
    their tolerances."""

    run_id: str
    verdict: str


@dataclass(frozen=True)
class LossesCompared:
    """The first ``steps`` losses. ``equal_runs``: fresh runs whose losses are the original's in
    every step, bit by bit."""

    verdict: ReplicationVerdict
    reason: str | None
    steps: int
    equal_runs: int


@dataclass(frozen=True)
class AccuraciesCompared:
    """Mean accuracies after ``epoch``, the last one that all runs evaluated, and the standard error
    of their difference; None without one."""

    verdict: ReplicationVerdict
    reason: str | None
    epoch: int | None
    original: float | None
    fresh: float | None
    standard_error: float | None


@dataclass(frozen=True)
class TimesCompared:
    """The ratio of the original's time to the fresh runs', with the ends of its interval; None
    where it is unknown.

    ``figure`` is what is compared. ``false_alarm`` is the largest probability that an honest
    original is refuted. ``same_board``: both have one board digest; None where one has none.
    ``differences`` name what is different in machine and software.
    """

    verdict: ReplicationVerdict
    reason: str | None
    figure: str
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    false_alarm: float
    same_board: bool | None
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Comparisons:
    """What follows from the runs, and the verdict of all three: refuted if one is, confirmed if all
    are."""

    losses: LossesCompared
    accuracies: AccuraciesCompared
    times: TimesCompared
    verdict: ReplicationVerdict


@dataclass(frozen=True)
class Replication:
    """A record. ``organization`` is who made the fresh runs; ``replays`` are the audits that losses
    needed."""

    schema: int
    suite_version: str
    organization: str
    originals: tuple[MeasuredRun, ...]
    runs: tuple[MeasuredRun, ...]
    replays: tuple[ReplayedOriginal, ...]
    comparisons: Comparisons

    @property
    def is_by_others(self) -> bool:
        """Whether somebody else than the original's organization made the fresh runs, by what both
        say of themselves."""
        return all(
            self.organization not in (NO_ORGANIZATION, run.organization) for run in self.originals
        )


def measure_run(bundle: Bundle) -> MeasuredRun:
    """What a sealed bundle says of its run; raises SuiteError for one that cannot be read."""
    run, system, steps = bundle.run(), bundle.json(SYSTEM), bundle.steps()
    summary, request = derive_summary(bundle), run.request
    count = len(set(steps.step.tolist()))
    if count == 0:
        raise SuiteError(f"{bundle.path} has no step records; there is nothing to compare.")
    losses = recorded_losses(steps, count)
    code = None if run.implementation is None else run.implementation.get("sha256")
    return MeasuredRun(
        run_id=str(run.run_id),
        manifest_sha256=sha256(bundle.file(MANIFEST)),
        organization=str(request["organization"]),
        workload=str(request["workload"]),
        framework=str(request["framework"]),
        division=str(request["division"]),
        seed=int(request["seed"]),
        settings_sha256=hashlib.sha256(
            json.dumps(common_settings(request), sort_keys=True).encode()
        ).hexdigest(),
        round=run.round,
        suite_version=str(run.suite_version),
        framework_version=_text(system.get("framework_version")),
        implementation_sha256=_text(code),
        started_time_ms=int(run.started_time_ms),
        machine=from_plain(
            {field.name: system.get(field.name) for field in fields(MachineFields)},
            MachineFields,
            f"{bundle.path / SYSTEM}: ",
        ),
        steps=count,
        losses=losses[:COMPARED_STEPS],
        losses_sha256=hashlib.sha256(np.array(losses, dtype="<f8").tobytes()).hexdigest(),
        eval_samples=int(request["data"]["eval_samples"]),
        accuracies=tuple(epoch.eval_accuracy for epoch in summary.epochs),
        first_epoch_s=_value(summary.figures.get("first_epoch_s")),
        time_to_epoch_s=_value(summary.figures.get("time_to_epoch_s")),
        foreign_cpu_share=_value(summary.figures.get("foreign_cpu_share")),
        stolen_cpu_share=_stolen_share(summary.figures, system.get("cpu_cores")),
    )


def measure_for(record: Replication, bundle: Bundle) -> MeasuredRun:
    """What a bundle says of its run, as the record tells it."""
    run = measure_run(bundle)
    versions = {record.suite_version, *(made.suite_version for made in record.runs)}
    if versions == {WITHOUT_GPUS}:
        return replace(run, machine=replace(run.machine, gpus=None))
    return run


def _stolen_share(figures: Mapping[str, Figure], cores: object) -> float | None:
    """What the hypervisor took of all cores over the run."""
    stolen_s, time_s = _value(figures.get("steal_cpu_s")), _value(figures.get("gross_time_s"))
    if stolen_s is None or not time_s or not isinstance(cores, int) or cores < 1:
        return None
    return stolen_s / (cores * time_s)


def common_settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a fresh run has in common with its original, nested keys joined by dots;
    those of an older contract with today's defaults.

    Raises SuiteError for a request that cannot be read.
    """
    try:
        current = request_to_dict(request_from_dict(dict(request), "request"))
    except (ContractError, TypeError, AttributeError) as error:
        raise SuiteError(
            f"The key `request` of run.json cannot be read: {str(error)[:300]}"
        ) from error
    current.pop("old_task", None)  # evaluated where its data set is prepared
    return {name: value for name, value in flatten(current) if name not in OF_PLACE}


def _value(figure: Figure | None) -> float | None:
    return None if figure is None or figure.value is None else float(figure.value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def read_replication(path: Path) -> Replication:
    """Read a record as untrusted input; raises FileError naming the file and what is wrong."""
    record = read_as(path, Replication, SCHEMA)
    runs = len(record.originals) + len(record.runs)
    if not record.originals or not record.runs:
        raise FileError(path, f"{UNFIT} (it needs at least one original and one fresh run)")
    if runs > MAX_LISTED or len(record.replays) > MAX_LISTED:
        raise FileError(path, f"{UNFIT} (it lists more than {MAX_LISTED} runs)")
    return record
