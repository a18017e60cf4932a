"""Differential stalls: three runs that differ in where their mini-batches come from tell reading and preprocessing apart.

With one mini-batch in memory an epoch neither reads nor preprocesses; with a warm page cache it preprocesses; with a cold one it reads
too. Reading is cold less warm, preprocessing warm less synthetic. Method: Mohan et al., "Analyzing and Mitigating Data Stalls in DNN
Training" (VLDB 2021), DS-Analyzer; Prashanthi et al. (POMACS 2022), sections 4.5 and 5.1, empty the cache after every epoch likewise.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.bundle.layout import MANIFEST, SCHEMA, SUMMARY
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.json_file import write_json
from suite.metrics.figure import Figure, unknown

RECORD = "stalls.json"
WARM_RATIO = 0.99  # of the data set in memory as an epoch begins
COLD_RATIO = 0.2  # what a look right after an epoch's first fetches may find


class Source(str, enum.Enum):
    """Where a run's mini-batches come from, in the order in which the runs are made."""

    COLD = "cold"
    WARM = "warm"
    SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class SourceRun:
    """One of the three runs: its seal, and its figures over epochs 2..k, in seconds per epoch.

    ``resident_start_ratio`` is the share of the data set in the page cache as those epochs began, None where it was not seen.
    """

    run_id: str
    manifest_sha256: str
    epoch: Figure
    stall: Figure
    copy: Figure
    compute: Figure
    overhead: Figure
    resident_start_ratio: float | None


@dataclass(frozen=True)
class StallAnalysis:
    """``stalls.json``: the three runs, the differences between them, and what to mind about them.

    ``read_stall_s`` and ``preprocessing_stall_s`` are differences of the time that training waits for mini-batches, per epoch;
    ``read_epoch_s`` and ``preprocessing_epoch_s`` those of the whole epoch, which also hold what reading takes from compute.
    """

    schema: int
    workload: str
    framework: str
    device: str
    data: str
    runs: Mapping[str, SourceRun]
    figures: Mapping[str, Figure]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def analyse(directory: Path) -> StallAnalysis:
    """Compare the three sealed bundles below ``directory``; raises SuiteError when they are not there, or not runs of one thing."""
    bundles = {source: Bundle(directory / source.value) for source in Source}
    requests = {source: bundle.run().request for source, bundle in bundles.items()}
    one = requests[Source.COLD]
    same = ("workload", "framework", "platform", "seed", "epochs", "global_batch_size", "threads", "accelerator")
    for source, request in requests.items():
        different = [name for name in same if request[name] != one[name]]
        if different:
            raise SuiteError(f"{directory / source.value} differs from the cold run in {', '.join(different)}; run the analysis again.")
    runs = {source: _run(bundle) for source, bundle in bundles.items()}
    return StallAnalysis(
        schema=SCHEMA,
        workload=one["workload"],
        framework=one["framework"],
        device=one["platform"],
        data=one["data"]["name"],
        runs={source.value: run for source, run in runs.items()},
        figures=differences(runs),
        notes=_notes(runs),
    )


def differences(runs: Mapping[Source, SourceRun]) -> dict[str, Figure]:
    """Reading and preprocessing, of the stall and of the whole epoch, and their shares of the cold run's epoch."""
    cold, warm, synthetic = runs[Source.COLD], runs[Source.WARM], runs[Source.SYNTHETIC]
    parts = {
        "read_stall_s": _less(cold.stall, warm.stall, "stall, cold less warm"),
        "preprocessing_stall_s": _less(warm.stall, synthetic.stall, "stall, warm less synthetic"),
        "read_epoch_s": _less(cold.epoch, warm.epoch, "epoch, cold less warm"),
        "preprocessing_epoch_s": _less(warm.epoch, synthetic.epoch, "epoch, warm less synthetic"),
    }
    shares = {f"{part}_share": _share(parts[f"{part}_s"], cold.epoch) for part in ("read_stall", "preprocessing_stall")}
    return {**parts, **shares}


def write(analysis: StallAnalysis, directory: Path) -> Path:
    """Write ``stalls.json`` beside the bundles and seal it with their manifests; returns its path."""
    path = directory / RECORD
    write_json(path, analysis.to_dict())
    sealed = [path, *(directory / source.value / MANIFEST for source in Source)]
    lines = "".join(f"{sha256(file)}  {file.relative_to(directory).as_posix()}\n" for file in sealed)
    (directory / MANIFEST).write_text(lines, encoding="utf-8")
    return path


def _run(bundle: Bundle) -> SourceRun:
    if not bundle.is_sealed:
        raise SuiteError(f"{bundle.path} is no finished run; run the analysis again.")
    summary = bundle.json(SUMMARY)
    figures = {name: Figure(**summary["figures"][name]) for name in ("time_to_epoch_s", "fetch_stall_s", "copy_s", "compute_s", "overhead_s")}
    seen = [epoch["resident_start_ratio"] for epoch in summary["epochs"] if epoch["epoch"] > 1 and epoch["resident_start_ratio"] is not None]
    return SourceRun(
        run_id=bundle.run().run_id,
        manifest_sha256=sha256(bundle.path / MANIFEST),
        epoch=figures["time_to_epoch_s"],
        stall=figures["fetch_stall_s"],
        copy=figures["copy_s"],
        compute=figures["compute_s"],
        overhead=figures["overhead_s"],
        resident_start_ratio=sum(seen) / len(seen) if seen else None,
    )


def _less(more: Figure, less: Figure, what: str) -> Figure:
    """The difference of two means; its spread is that of independent values, and the method says when it is no more than chance."""
    if more.value is None or less.value is None:
        return unknown("s", SUMMARY, str(more.reason or less.reason))
    value, count = more.value - less.value, min(more.count, less.count)
    if more.spread is None or less.spread is None:
        return Figure(value, "s", SUMMARY, count, method=f"{what}; too few epochs to say how sure")
    error = math.sqrt(more.spread**2 / more.count + less.spread**2 / less.count)
    sure = "" if abs(value) > 2 * error else "; not told apart from 0 (within twice its standard error)"
    return Figure(value, "s", SUMMARY, count, spread=math.hypot(more.spread, less.spread), method=what + sure)


def _share(part: Figure, epoch: Figure) -> Figure:
    if part.value is None or not epoch.value:
        return unknown("ratio", SUMMARY, str(part.reason or epoch.reason))
    return Figure(part.value / epoch.value, "ratio", SUMMARY, part.count, method=f"{part.method}; of the cold run's epoch")


def _notes(runs: Mapping[Source, SourceRun]) -> tuple[str, ...]:
    """What keeps the three runs from being what they are called."""
    warm, cold = runs[Source.WARM].resident_start_ratio, runs[Source.COLD].resident_start_ratio
    notes = []
    if warm is not None and warm < WARM_RATIO:
        notes.append(
            f"the warm run's epochs began with {warm:.0%} of the data set in memory: it does not fit, so preprocessing_stall_s holds reading too"
        )
    if cold is not None and cold > COLD_RATIO:
        notes.append(f"the cold run's epochs began with {cold:.0%} of the data set still in memory: read_stall_s is too small")
    if warm is None or cold is None:
        notes.append("epochs too short to see the page cache as they began: how warm and cold the runs were is not known")
    return tuple(notes)
