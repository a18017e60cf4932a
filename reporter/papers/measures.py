"""What is held against a published value: figures of runs, all else equal, and named measures."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reporter.data.frames import IDENTITY, Frames, Row, known, rows_of
from reporter.data.values import entries_of, values_of_runs
from suite.catalog.devices import load_device
from suite.catalog.papers import Measure, Selection
from suite.metrics.comparisons import quantile

CONFIDENCE = 0.95
PER_STEP = "_per_step_s"
FOLLOWS = (
    "framework_version",
    "implementation",
    "optimizer_used",
    "parameters",
    "model_trained",
    "precision",
    "learning_rate",
    "suite_version",
    "round",
)
"""Properties that follow from framework or mini-batch, or that say nothing of the setting."""


@dataclass(frozen=True)
class Found:
    """Our value with the ends of its 95 % interval, where repetitions give one, and what it is
    of."""

    value: float
    low: float | None = None
    high: float | None = None
    of: str = ""


@dataclass(frozen=True)
class Unknown:
    """Why there is no value of ours."""

    reason: str


@dataclass(frozen=True)
class Cell:
    """A cell of a published table beside ours, both as text."""

    quantity: str
    published: str
    ours: str
    agrees: bool


@dataclass(frozen=True)
class Source:
    """What a measure reads: frames of bundles, or the record of an extension and how it measures
    it."""

    frames: Frames | None = None
    record: Any = None
    of_record: "Callable[[Measure, Any], Found | Unknown] | None" = None


def measure(wanted: Measure, source: Source) -> Found | Unknown:
    """Our value of a measure."""
    if source.of_record is not None:
        return source.of_record(wanted, source.record)
    if wanted.measure is not None:
        return NAMED[wanted.measure](wanted, source)
    assert wanted.figure is not None and source.frames is not None
    values = of_entries(source.frames, wanted.figure)
    pairs = list(_pairs(source.frames, values, wanted))
    if not pairs:
        return Unknown(
            f"no runs have {wanted.figure} for {in_words(wanted.of)}"
            + (f" and {in_words(wanted.over)}, all else equal" if wanted.over else "")
        )
    return ratio(pairs)


def of_entries(frames: Frames, figure: str) -> dict[str, list[float]]:
    """Values of the runs, by entry. A figure that ends in _per_step_s is that column of the epochs
    after the first, over their steps."""
    if not figure.endswith(PER_STEP):
        return values_of_runs(frames, figure)
    column, entry_of = (
        f"{figure.removesuffix(PER_STEP)}_s",
        dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True)),
    )
    sums: dict[str, tuple[float, float]] = {}
    for row in rows_of(frames.epochs):
        if row["epoch"] > 1 and known(row[column]):
            spent, steps = sums.get(row["run_id"], (0.0, 0.0))
            sums[row["run_id"]] = spent + float(row[column]), steps + float(row["steps"])
    values: dict[str, list[float]] = {}
    for run, (spent, steps) in sorted(sums.items()):
        values.setdefault(entry_of[run], []).append(spent / steps)
    return values


def _pairs(
    frames: Frames, values: Mapping[str, Sequence[float]], wanted: Measure
) -> "list[tuple[Sequence[float], Sequence[float]]]":
    entries = [
        entry
        for entry in entries_of(frames).values()
        if all(value > 0 for value in values.get(entry["entry_id"], ()))
        and entry["entry_id"] in values
    ]
    chosen = [entry for entry in entries if _matches(entry, wanted.of)]
    if wanted.over is None:
        return [(values[entry["entry_id"]], ()) for entry in chosen]
    varied = {*_set(wanted.of), *_set(wanted.over), *FOLLOWS}
    others = {
        _rest(entry, varied): entry["entry_id"] for entry in entries if _matches(entry, wanted.over)
    }
    found = [(values[entry["entry_id"]], others.get(_rest(entry, varied))) for entry in chosen]
    return [(mine, values[other]) for mine, other in found if other is not None]


def _rest(entry: Row, varied: set[str]) -> tuple[str, ...]:
    return tuple(str(entry[name]) for name in IDENTITY if name not in varied)


def _set(selection: Selection) -> dict[str, object]:
    return {name: value for name, value in asdict(selection).items() if value is not None}


def _matches(entry: Row, selection: Selection) -> bool:
    return all(entry[name] == value for name, value in _set(selection).items())


def in_words(selection: Selection) -> str:
    return ", ".join(f"{name} {value}" for name, value in _set(selection).items()) or "any setting"


def ratio(pairs: "Sequence[tuple[Sequence[float], Sequence[float]]]") -> Found:
    """The geometric mean over pairs of the ratio of their geometric means; interval by Welch's t on
    logarithms, where every side has two runs."""
    sides = [[math.log(value) for value in side] for pair in pairs for side in pair if side]
    logs = [
        sum(map(math.log, mine)) / len(mine)
        - (sum(map(math.log, other)) / len(other) if other else 0.0)
        for mine, other in pairs
    ]
    centre, runs = sum(logs) / len(logs), sum(map(len, sides))
    of = f"{len(pairs)} setting{'' if len(pairs) == 1 else 's'}, {runs} runs"
    if min(map(len, sides)) < 2:
        return Found(math.exp(centre), of=of)
    variances = [
        sum((value - sum(side) / len(side)) ** 2 for value in side) / (len(side) - 1) / len(side)
        for side in sides
    ]
    total = sum(variances)
    if total == 0:
        return Found(math.exp(centre), math.exp(centre), math.exp(centre), of)
    freedom = total**2 / sum(
        variance**2 / (len(side) - 1) for variance, side in zip(variances, sides, strict=True)
    )
    half = quantile(max(1, math.floor(freedom)), CONFIDENCE) * math.sqrt(total) / len(pairs)
    return Found(math.exp(centre), math.exp(centre - half), math.exp(centre + half), of)


def _later_stall_over_first(wanted: Measure, source: Source) -> Found | Unknown:
    first, later = _stalls(source.frames, is_first=True), _stalls(source.frames, is_first=False)
    pairs = [(later[name], first[name]) for name in later if name in first]
    return ratio(pairs) if pairs else Unknown("no run finished two epochs")


def _stalls(frames: Frames | None, is_first: bool) -> dict[str, list[float]]:
    assert frames is not None
    entry_of = dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True))
    of_run: dict[str, list[float]] = {}
    for row in rows_of(frames.epochs):
        if (row["epoch"] == 1) is is_first and known(row["fetch_stall_s"]):
            of_run.setdefault(row["run_id"], []).append(float(row["fetch_stall_s"]))
    values: dict[str, list[float]] = {}
    for run, stalls in sorted(of_run.items()):
        values.setdefault(entry_of[run], []).append(sum(stalls) / len(stalls))
    return {name: found for name, found in values.items() if min(found) > 0}


def _largest_over_smallest(wanted: Measure, source: Source) -> Found | Unknown:
    assert source.frames is not None and wanted.figure is not None
    values = of_entries(source.frames, wanted.figure)
    found = sorted(
        (found for found in values.values() if found), key=lambda each: sum(each) / len(each)
    )
    return (
        ratio([(found[-1], found[0])])
        if len(found) > 1
        else Unknown(f"fewer than two entries have {wanted.figure}")
    )


def _slowest_over_fastest(wanted: Measure, source: Source) -> Found | Unknown:
    assert source.frames is not None
    media = {entry["storage_medium"] for entry in entries_of(source.frames).values()}
    if len(media) < 2:
        return Unknown("the runs are of one storage medium")
    values = of_entries(source.frames, "time_to_epoch_s")
    found = sorted(
        (found for found in values.values() if found), key=lambda each: sum(each) / len(each)
    )
    return ratio([(found[-1], found[0])])


def _device(wanted: Measure, source: Source) -> Found | Unknown:
    device = load_device(wanted.device or "")
    of_gpu = (
        {}
        if device.gpu is None
        else {"cuda_cores": device.gpu.cuda_cores, "tensor_cores": device.gpu.tensor_cores}
    )
    of_cpu = {} if device.cpu is None else {"cpu_cores": device.cpu.cores}
    value = {**of_gpu, **of_cpu}.get(wanted.figure or "")
    return (
        Unknown("the profile does not say")
        if value is None
        else Found(float(value), of="device profile")
    )


NAMED: Mapping[str, Callable[[Measure, Source], Found | Unknown]] = {
    "later-stall-over-first": _later_stall_over_first,
    "largest-over-smallest": _largest_over_smallest,
    "slowest-over-fastest": _slowest_over_fastest,
    "device": _device,
}
"""Measures by the name that the registry uses."""
