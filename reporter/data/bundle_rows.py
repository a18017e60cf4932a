"""One bundle as rows. They depend only on the bytes in its folder, so they can be cached."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import EQUAL, EXACT, FLOAT32, LOCAL, WAITING
from reporter.data import frames as columns
from reporter.data.derived import (
    cost_figures,
    counted_figures,
    derived_figures,
    per_thousand_figures,
    study_figures,
)
from reporter.data.figure_fields import sensor_columns, significance
from reporter.data.frames import ALIKE, BARE, ISOLATION, NODE_MACHINES, SETTINGS, WITHOUT, Row
from reporter.data.framework_names import implementation_name
from reporter.data.text import MAX_REASON_LENGTH, one_line, plain_or_none, plain_run_id, reason_of
from suite.bundle.layout import COUNTERS, SYSTEM
from suite.bundle.log import Log
from suite.bundle.node_records import NodeRecord, read_nodes
from suite.bundle.reader import CachedBundle, RunRecord
from suite.bundle.resumption import read_resumption
from suite.bundle.study_mark import StudyMark, read_mark
from suite.catalog.divisions import Division
from suite.catalog.rounds import judging_round
from suite.catalog.scoring import load_scoring
from suite.catalog.seeds import NonceKind, nonce_kind, read_nonce_use
from suite.compliance.checker import BundleVerdict, check_cached_bundle
from suite.compliance.rules.preconditions import REQUEST_READABLE, RUN_COMPLETE
from suite.errors import SuiteError
from suite.metrics.counted_time import trained_s
from suite.metrics.summary import read_summary

MOST_GPUS = 8
REVISION = re.compile(r" Rev [\d.]+$")
"""What ends a Raspberry Pi's name."""
DISTURBANCES = {"throttled_events", "foreign_cpu_share"}
"""Figures of the node that has most of it; other figures of a machine are the first node's."""
OTHER_SETTINGS = (
    "steps",
    "board",
    "page_cache",
    "meters",
    "cpu_quota",
    "memory_mb",
    "neighbours",
)
"""Settings of a sweep that no column has of itself."""
OF_MODES = (
    "cores",
    "cpu_mhz",
    "gpu_mhz",
    "emc_mhz",
    "governor",
    "turbo",
    "fan",
    "jetson_clocks",
)
"""Settings of a sweep that make a power mode."""


@dataclass(frozen=True)
class BundleRows:
    """A bundle's row of ``runs`` without the columns that depend on its place, its rows of
    ``figures`` and ``epochs``, and the checker's verdict.

    ``is_generated``: trained on generated data. ``is_studied``: made for a stall analysis, with
    emptied caches or one repeated mini-batch.
    """

    run: Row
    figures: list[Row]
    epochs: list[Row]
    verdict: BundleVerdict
    is_generated: bool
    is_studied: bool


@dataclass(frozen=True)
class Broken:
    """Why a bundle cannot be shown; the reason does not depend on the bundle's place."""

    reason: str


def read_rows(bundle: CachedBundle) -> BundleRows | Broken:
    """Read and check the bundle. Errors become a reason; nothing is raised."""
    try:
        return _read(bundle)
    except SuiteError as error:
        return Broken(reason_of(error, bundle.path))
    except OSError as error:
        return Broken(
            f"{one_line(Path(error.filename or 'a file').name)} cannot be read: {error.strerror}"
        )


def _read(bundle: CachedBundle) -> BundleRows:
    record, run_id = bundle.run(), plain_run_id(bundle.run().run_id)
    verdict = check_cached_bundle(bundle)
    for finding in verdict.findings:
        if finding.check in (RUN_COMPLETE, REQUEST_READABLE):
            raise SuiteError(finding.observed)
    summary, request = read_summary(bundle), record.request
    try:
        mark = read_mark(record.study)
        run = {"run_id": run_id, **_run(bundle, record, summary, verdict, mark)}
        epochs = [_epoch(run_id, epoch) for epoch in summary["epochs"]]
        if request["parallel"]["collective"] == "native":  # summaries say 0: it is part of compute
            epochs = [{**epoch, "communication_s": None} for epoch in epochs]
        figures = [_figure(run_id, name, values) for name, values in _figures(summary).items()]
        if (bundle.path / COUNTERS).is_file():
            figures += counted_figures(run_id, bundle.json(COUNTERS))
        figures += derived_figures(figures)
        figures += per_thousand_figures(figures, request["data"]["train_samples"])
        energy = next((row for row in figures if row["figure"] == "energy_j"), None)
        figures += cost_figures(run_id, run["trained_s"], epochs, energy)
        figures += study_figures(run_id, bundle, mark)
        is_generated = bool(request["data"]["synthetic"])
        is_studied = request["batches"] != "read" or bool(request["drop_cache_every_epoch"])
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SuiteError(
            f"a file of the bundle is malformed ({type(error).__name__}: {one_line(error)})"
        ) from error
    return BundleRows(run, figures, epochs, verdict, is_generated, is_studied)


def _run(
    bundle: CachedBundle,
    record: RunRecord,
    summary: Mapping[str, Any],
    verdict: BundleVerdict,
    mark: StudyMark | None,
) -> Row:
    system, log, request = bundle.json(SYSTEM), bundle.log(), record.request
    judged_by = judging_round(record.round)
    seeds, used = nonce_kind(record.nonce, judged_by.nonce), read_nonce_use(record.nonce or {})
    return {
        **_identity(record, system),
        NODE_MACHINES: node_machines(system, read_nodes(bundle)),
        ISOLATION: one_line((record.isolation or {}).get("kind", BARE), 40),
        "round": plain_or_none(record.round, 40),
        "suite_version": one_line(record.suite_version),
        "resumed": _resumed(record),
        "seed": int(request["seed"]),
        "nonce_kind": seeds.value,
        "is_nominated": (
            seeds is NonceKind.ROUND and used is not None and judged_by.nominates(used.entry_sha256)
        ),
        "witnessed_by": plain_or_none(verdict.witnessed_by, 40),
        "boot": _boot(log),
        "board": plain_or_none(system.get("board")),
        "epochs": sum(bool(epoch.get("is_whole", True)) for epoch in summary["epochs"]),
        "reached": _reached(request["target_accuracy"], summary["figures"]),
        "trained_s": trained_s(log),
        "started_time_ms": int(record.started_time_ms),
        **_trained(record, log),
        **_studied(
            mark,
            plain_or_none(system.get("storage_medium"), 40),
            plain_or_none(system.get("power_mode")),
        ),
    }


def _reached(target: float | None, figures: Mapping[str, Any]) -> bool | None:
    """Whether an evaluation reached the target, also where it is unknown after which time."""
    if target is None:
        return None
    best = figures["best_accuracy"]["value"]
    is_timed = figures["time_to_target_s"]["value"] is not None
    return is_timed or (best is not None and float(best) >= float(target))


def _boot(log: Log) -> str | None:
    """The boot of the machine of rank 0."""
    start = log.first("run_start")
    return None if start is None else plain_or_none(start.metadata.get("boot"), 40)


def _identity(record: RunRecord, system: Mapping[str, Any]) -> Row:
    request = record.request
    data = one_line(request["data"]["name"])
    return {
        "workload": one_line(request["workload"]),
        "division": one_line(request["division"]),
        "data": data,
        "own_data": data == judging_round(record.round).workload(request["workload"]).data,
        "organization": one_line(request["organization"]),
        "availability": None,
        "device": one_line(request["platform"]),
        "cpu_model": plain_or_none(system.get("cpu_model")),
        "gpu": _gpus(system.get("gpus")),
        "power_mode": plain_or_none(system.get("power_mode")),
        "storage_medium": plain_or_none(system.get("storage_medium"), 40),
        "nodes": int(request["parallel"]["nodes"]),
        "ranks": int(request["parallel"]["ranks"]),
        "collective": _collective(request["parallel"]),
        "normalisation": one_line(request["parallel"].get("normalisation", LOCAL)),
        "shares": one_line(request["parallel"].get("shares", EQUAL)),
        "accumulation": int(request.get("accumulation", 1)),
        "timing": one_line(request.get("timing", WAITING)),
        "recomputation": _recomputation(request.get("recomputation")),
        "framework": one_line(request["framework"]),
        "framework_version": plain_or_none(system.get("framework_version"), 40),
        "accelerator": one_line(request["accelerator"]),
        "threads": int(request["threads"]),
        "workers": int(request["loading"]["workers"]),
        "prefetch": int(request["loading"]["prefetch"]),
        "batch_size": int(request["global_batch_size"]),
        "learning_rate": float(request["optimizer"]["base_learning_rate"]),
        "max_epochs": int(request["epochs"]),
        "short": _short(request),
    }


def _short(request: Mapping[str, Any]) -> int:
    """The epochs after which a closed run was to stop; 0 for one of the whole schedule."""
    if request["division"] != Division.CLOSED.value:
        return 0
    per_epoch = -(-int(request["data"]["train_samples"]) // int(request["global_batch_size"]))
    return load_scoring().short.epochs(request["steps"], per_epoch, int(request["epochs"]))


def node_machines(first: Mapping[str, Any], nodes: Sequence[NodeRecord]) -> str:
    """The machines of other nodes that differ from the ``first`` one, with their number; one that
    was not described is not known to differ."""
    kinds = [_machine(each.system) for each in nodes if each.system is not None]
    others = Counter(kind for kind in kinds if kind != _machine(first))
    names = sorted(
        (" ".join(filter(None, kind)) or "unknown", count) for kind, count in others.items()
    )
    return one_line(", ".join(f"{count} x {name}" for name, count in names) or ALIKE, 200)


def _machine(system: Mapping[str, Any]) -> tuple[str, ...]:
    """Board without its revision, processor, GPUs and power mode of a system description."""
    board = REVISION.sub("", plain_or_none(system.get("board")) or "")
    texts = (plain_or_none(system.get("cpu_model")), _gpus(system.get("gpus")))
    mode = plain_or_none(system.get("power_mode"))
    return (board, *(text or "" for text in texts), f"({mode})" if mode else "")


def _gpus(value: object) -> str | None:
    """Their names; None where there is none, and in bundles of versions that did not record
    them."""
    return (
        ", ".join(one_line(name, 60) for name in value[:MOST_GPUS]) or None
        if isinstance(value, list)
        else None
    )


def _studied(mark: StudyMark | None, medium: str | None, mode: str | None) -> Row:
    """The study's title and the run's varied settings, which are the columns of a frame of their
    own.

    A limited medium says that it is emulated. Where the kernel names no power mode, what the study
    set of one is it.
    """
    if mark is None:
        return {"study": None, SETTINGS: None, "other_settings": WITHOUT}
    settings = {one_line(name, 40): one_line(value) for name, value in mark.settings}
    others = _in_words(settings, OTHER_SETTINGS) or WITHOUT
    row: Row = {"study": one_line(mark.title), SETTINGS: settings, "other_settings": others}
    if (limit := mark.emulated_reads) is not None:
        emulated = f"emulated {one_line(limit, 10)} MB/s"
        row["storage_medium"] = f"{medium or 'unknown medium'}, {emulated}"
    if mode is None and (own := _in_words(settings, OF_MODES)):
        row["power_mode"] = own.replace("cores ", "cores on line ")
    return row


def _in_words(settings: Mapping[str, str], names: Iterable[str]) -> str:
    """The settings of these names: "neighbours 1, page_cache cold"."""
    return ", ".join(f"{name} {settings[name]}" for name in names if name in settings)


def _resumed(record: RunRecord) -> int:
    """Epochs before those of a resumed run."""
    before = read_resumption(record.resumed)
    return 0 if before is None else before.epoch


def _collective(parallel: Mapping[str, Any]) -> str:
    """The all-reduce backend, and the numbers that it sends where they are not those that were
    computed."""
    wire = parallel.get("wire", EXACT)
    return one_line(
        parallel["collective"] if wire == EXACT else f"{parallel['collective']} in {wire}"
    )


def _recomputation(planned: Mapping[str, Any] | None) -> str:
    """The schedule in its budget: "optimal for unequal blocks in 2 GB"."""
    return (
        WITHOUT
        if planned is None
        else one_line(f"{planned['schedule']} in {planned['budget_bytes'] / 1e9:.3g} GB")
    )


def _trained(record: RunRecord, log: Log) -> Row:
    """What was trained, by which code."""
    digest = (record.implementation or {}).get("sha256")
    is_closed = record.request["division"] == Division.CLOSED.value
    precision = record.request.get("precision", FLOAT32) if is_closed else _text(log, "precision")
    return {
        "implementation_name": implementation_name(
            one_line(record.request["framework"]), record.implementation
        ),
        "model_trained": one_line(_text(log, "model_trained") or record.request["model"], 40),
        "parameters": log.trained_parameters,
        "optimizer_used": one_line(
            _text(log, "optimizer_used") or record.request["optimizer"]["name"], 40
        ),
        "precision": plain_or_none(precision, 40),
        "implementation": one_line(digest[:12], 12) if isinstance(digest, str) else None,
    }


def _text(log: Log, key: str) -> str | None:
    value = log.value(key)
    return value if isinstance(value, str) and value else None


def _figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The run's figures, with the disturbances of the node that was disturbed most; unknown where
    none was and one was not watched."""
    figures = dict(summary["figures"])
    for node in summary.get("nodes") or ():
        for name in DISTURBANCES & node["figures"].keys():
            of_nodes = figures[name], node["figures"][name]
            figures[name] = max(
                of_nodes, key=lambda each: (each["value"] or 0, each["value"] is None)
            )
    return figures


def _figure(run_id: str, name: str, values: Mapping[str, Any]) -> Row:
    if (
        not isinstance(values["source"], str)
        or isinstance(values["count"], bool)
        or not isinstance(values["count"], int | float)
    ):
        raise TypeError(f"figure {name} lacks a source or a count")
    numbers = {
        key: None if values.get(key) is None else float(values[key])
        for key in ("value", "count", "period_s", "coverage", "spread", "low", "high")
    }
    texts = {key: plain_or_none(values.get(key)) for key in ("unit", "source", "level")}
    texts |= {
        key: plain_or_none(values.get(key), MAX_REASON_LENGTH) for key in ("reason", "method")
    }
    return {
        "run_id": run_id,
        "figure": one_line(name, 60),
        **numbers,
        **texts,
        **sensor_columns(values),
        "significant": significance(values),
    }


def _epoch(run_id: str, epoch: Mapping[str, Any]) -> Row:
    numbers = {name: epoch.get(name) for name in columns.EPOCHS if name != "run_id"}
    return {
        "run_id": run_id,
        **{name: None if value is None else float(value) for name, value in numbers.items()},
    }
