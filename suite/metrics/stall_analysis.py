"""``stalls.json``: differential stall analysis. Three runs with different sources of mini-batches
separate reading from preprocessing.

With one mini-batch in memory an epoch neither reads nor preprocesses; with a warm page cache it
preprocesses; with a cold page cache it also reads. Reading = cold - warm, preprocessing = warm -
synthetic. Method: Mohan et al., "Analyzing and Mitigating Data Stalls in DNN Training" (VLDB 2021),
DS-Analyzer; Prashanthi et al. (POMACS 2022), sections 4.5 and 5.1, empty the cache after every
epoch likewise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.layout import MANIFEST, SCHEMA, SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import RECORD, BatchSource, sealed_files
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.schema import from_plain
from suite.metrics.figure import Figure, unknown_figure
from suite.metrics.sealed_record import SealedRecord
from suite.metrics.summary import read_summary

FIGURES = ("time_to_epoch_s", "fetch_stall_s", "copy_s", "compute_s", "overhead_s")
WARM_RATIO = 0.99  # of the data set in memory as an epoch begins
COLD_RATIO = 0.2  # maximum right after an epoch's first fetches


@dataclass(frozen=True)
class SourceRun:
    """One of the three runs: its seal, and its figures over epochs 2..k, in seconds per epoch.

    ``resident_start_ratio`` is the share of the data set in the page cache as those epochs began;
    None if it was not read.
    """

    run_id: str
    manifest_sha256: str
    time_to_epoch_s: Figure
    fetch_stall_s: Figure
    copy_s: Figure
    compute_s: Figure
    overhead_s: Figure
    resident_start_ratio: float | None


@dataclass(frozen=True)
class StallAnalysis:
    """The three runs, the differences between them, and notes on their validity.

    ``read_stall_s`` and ``preprocessing_stall_s`` are differences of the fetch stall per epoch;
    ``read_epoch_s`` and ``preprocessing_epoch_s`` those of the whole epoch, which also include the
    compute time that reading takes away.
    """

    schema: int
    workload: str
    framework: str
    device: str
    data: str
    runs: Mapping[str, SourceRun]
    figures: Mapping[str, Figure]
    notes: tuple[str, ...]


def analyse_stalls(directory: Path) -> StallAnalysis:
    """Compare the three sealed bundles below ``directory``; raises SuiteError if one is missing,
    unsealed, or of a different request."""
    bundles = {source: Bundle(directory / source.value) for source in BatchSource}
    requests = {source: bundle.run().request for source, bundle in bundles.items()}
    reference = requests[BatchSource.COLD]
    same = (
        "workload",
        "framework",
        "platform",
        "seed",
        "epochs",
        "global_batch_size",
        "threads",
        "accelerator",
    )
    for source, request in requests.items():
        different = [name for name in same if request[name] != reference[name]]
        if different:
            raise SuiteError(
                f"{directory / source.value} differs from the cold run in {', '.join(different)};"
                " run the analysis again."
            )
    runs = {source: _run(bundle) for source, bundle in bundles.items()}
    return StallAnalysis(
        schema=SCHEMA,
        workload=reference["workload"],
        framework=reference["framework"],
        device=reference["platform"],
        data=reference["data"]["name"],
        runs={source.value: run for source, run in runs.items()},
        figures=stall_differences(runs),
        notes=_notes(runs),
    )


def stall_differences(runs: Mapping[BatchSource, SourceRun]) -> dict[str, Figure]:
    """Reading and preprocessing, in the fetch stall and in the whole epoch, and their shares of the
    cold run's epoch."""
    cold, warm, synthetic = (
        runs[BatchSource.COLD],
        runs[BatchSource.WARM],
        runs[BatchSource.SYNTHETIC],
    )
    parts = {
        "read_stall_s": _difference(
            cold.fetch_stall_s, warm.fetch_stall_s, "fetch stall, cold - warm"
        ),
        "preprocessing_stall_s": _difference(
            warm.fetch_stall_s, synthetic.fetch_stall_s, "fetch stall, warm - synthetic"
        ),
        "read_epoch_s": _difference(
            cold.time_to_epoch_s, warm.time_to_epoch_s, "epoch, cold - warm"
        ),
        "preprocessing_epoch_s": _difference(
            warm.time_to_epoch_s, synthetic.time_to_epoch_s, "epoch, warm - synthetic"
        ),
    }
    shares = {
        f"{part}_share": _share(parts[f"{part}_s"], cold.time_to_epoch_s)
        for part in ("read_stall", "preprocessing_stall")
    }
    return {**parts, **shares}


def _run(bundle: Bundle) -> SourceRun:
    if not bundle.is_sealed:
        raise SuiteError(f"{bundle.path} is not a finished run; run the analysis again.")
    summary = read_summary(bundle)
    figures = {
        name: from_plain(summary["figures"][name], Figure, f"{bundle.path}: {name}: ")
        for name in FIGURES
    }
    seen = [
        epoch["resident_start_ratio"]
        for epoch in summary["epochs"]
        if epoch["epoch"] > 1 and epoch["resident_start_ratio"] is not None
    ]
    return SourceRun(
        run_id=bundle.run().run_id,
        manifest_sha256=sha256(bundle.path / MANIFEST),
        **figures,
        resident_start_ratio=sum(seen) / len(seen) if seen else None,
    )


def _difference(more: Figure, less: Figure, what: str) -> Figure:
    """Difference of two means; its spread is that of independent values. It is significant beyond
    twice its standard error."""
    if more.value is None or less.value is None:
        return unknown_figure("s", SUMMARY, str(more.reason or less.reason))
    value, count = more.value - less.value, min(more.count, less.count)
    if more.spread is None or less.spread is None:
        return Figure(value, "s", SUMMARY, count, method=what)
    error = math.sqrt(more.spread**2 / more.count + less.spread**2 / less.count)
    spread = math.hypot(more.spread, less.spread)
    return Figure(
        value,
        "s",
        SUMMARY,
        count,
        spread=spread,
        method=what,
        is_significant=abs(value) > 2 * error,
    )


def _share(part: Figure, epoch: Figure) -> Figure:
    if part.value is None or not epoch.value:
        return unknown_figure("ratio", SUMMARY, str(part.reason or epoch.reason))
    method = f"{part.method}; share of the cold run's epoch"
    return Figure(
        part.value / epoch.value,
        "ratio",
        SUMMARY,
        part.count,
        method=method,
        is_significant=part.is_significant,
    )


def _notes(runs: Mapping[BatchSource, SourceRun]) -> tuple[str, ...]:
    """Reasons why the warm run was not warm or the cold run not cold."""
    warm, cold = (
        runs[BatchSource.WARM].resident_start_ratio,
        runs[BatchSource.COLD].resident_start_ratio,
    )
    notes = []
    if warm is not None and warm < WARM_RATIO:
        notes.append(
            f"the warm run's epochs began with {warm:.0%} of the data set in memory, so"
            " preprocessing_stall_s includes reading"
        )
    if cold is not None and cold > COLD_RATIO:
        notes.append(
            f"the cold run's epochs began with {cold:.0%} of the data set still in memory, so"
            " read_stall_s is too small"
        )
    if warm is None or cold is None:
        notes.append(
            "in the warm or the cold run, the page cache was not read near the start of any epoch"
            " after the first: whether the runs were warm and cold is unknown"
        )
    return tuple(notes)


STALLS = SealedRecord(
    RECORD,
    "run the analysis again (`suite run --stall-analysis`); its records are never edited",
    sealed_files,
    analyse_stalls,
)
