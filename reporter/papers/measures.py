"""What is held against a published value: figures of runs, all else equal, and named measures."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, variance
from typing import Any

from reporter.data.frames import IDENTITY, Frames, Row, grouped
from reporter.data.values import entries_of, values_of_runs
from reporter.figures.entries import means_of_runs
from suite.catalog.devices import load_device
from suite.catalog.papers import EntrySelection, Measure
from suite.files.counted import counted
from suite.metrics.comparisons import student_t_quantile

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
class FoundValue:
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
class ComparedCell:
    """A cell of a published table beside ours, both as text."""

    quantity: str
    published: str
    ours: str
    agrees: bool


@dataclass(frozen=True)
class MeasureSource:
    """What a measure reads: frames of bundles, or the record of an extension and how it measures
    it."""

    frames: Frames | None = None
    record: Any = None
    of_record: "Callable[[Measure, Any], FoundValue | Unknown] | None" = None


def measure_value(wanted: Measure, source: MeasureSource) -> FoundValue | Unknown:
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
            f"no runs have {wanted.figure} for {selection_in_words(wanted.of)}"
            + (f" and {selection_in_words(wanted.over)}, all else equal" if wanted.over else "")
        )
    return ratio_of_means(pairs)


def of_entries(frames: Frames, figure: str) -> dict[str, list[float]]:
    """Values of the runs, by entry. A figure that ends in _per_step_s is that column of the epochs
    after the first, over their steps."""
    if not figure.endswith(PER_STEP):
        return values_of_runs(frames, figure)
    spent, steps = (
        means_of_runs(frames, (column,))
        for column in (f"{figure.removesuffix(PER_STEP)}_s", "steps")
    )
    return {
        name: [a / b for a, b in zip(found, steps[name], strict=True)]
        for name, found in spent.items()
    }


def _pairs(
    frames: Frames, values: Mapping[str, Sequence[float]], wanted: Measure
) -> "list[tuple[Sequence[float], Sequence[float]]]":
    entries = [
        entry
        for name, entry in entries_of(frames).items()
        if name in values and min(values[name], default=1.0) > 0
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


def _set(selection: EntrySelection) -> dict[str, object]:
    return {name: value for name, value in asdict(selection).items() if value is not None}


def _matches(entry: Row, selection: EntrySelection) -> bool:
    return all(entry[name] == value for name, value in _set(selection).items())


def selection_in_words(selection: EntrySelection) -> str:
    return ", ".join(f"{name} {value}" for name, value in _set(selection).items()) or "any setting"


def ratio_of_means(pairs: "Sequence[tuple[Sequence[float], Sequence[float]]]") -> FoundValue:
    """The geometric mean over pairs of the ratio of their geometric means; interval by Welch's t on
    logarithms, where every side has two runs."""
    sides = [[math.log(value) for value in side] for pair in pairs for side in pair if side]
    logs = [
        fmean(map(math.log, mine)) - (fmean(map(math.log, other)) if other else 0.0)
        for mine, other in pairs
    ]
    centre, runs = fmean(logs), sum(map(len, sides))
    of = f"{counted(len(pairs), 'setting')}, {counted(runs, 'run')}"
    if min(map(len, sides)) < 2:
        return FoundValue(math.exp(centre), of=of)
    variances = [variance(side) / len(side) for side in sides]
    total = sum(variances)
    if total == 0:
        return FoundValue(math.exp(centre), math.exp(centre), math.exp(centre), of)
    freedom = total**2 / sum(
        each**2 / (len(side) - 1) for each, side in zip(variances, sides, strict=True)
    )
    half = (
        student_t_quantile(max(1, math.floor(freedom)), CONFIDENCE) * math.sqrt(total) / len(pairs)
    )
    return FoundValue(math.exp(centre), math.exp(centre - half), math.exp(centre + half), of)


def _later_stall_over_first(wanted: Measure, source: MeasureSource) -> FoundValue | Unknown:
    at_first, at_last = _stalls(source.frames, is_first=True), _stalls(source.frames)
    pairs = [(at_last[name], at_first[name]) for name in at_last if name in at_first]
    return ratio_of_means(pairs) if pairs else Unknown("no run finished two epochs")


def _stalls(frames: Frames | None, is_first: bool = False) -> dict[str, list[float]]:
    """Means of the runs, by entry; entries whose runs all waited."""
    assert frames is not None
    values = means_of_runs(frames, ("fetch_stall_s",), is_first)
    return {name: found for name, found in values.items() if min(found) > 0}


def _extremes(frames: Frames | None, figure: str, varied: str) -> FoundValue | Unknown:
    """The highest mean over the lowest of entries that are alike but for a property."""
    assert frames is not None
    values = of_entries(frames, figure)
    known = (
        entry
        for name, entry in entries_of(frames).items()
        if name in values and min(values[name], default=0.0) > 0
    )
    pairs = []
    for alike in grouped(known, lambda entry: _rest(entry, {varied, *FOLLOWS})).values():
        if len({entry[varied] for entry in alike}) > 1:
            ordered = sorted((values[entry["entry_id"]] for entry in alike), key=fmean)
            pairs.append((ordered[-1], ordered[0]))
    if not pairs:
        return Unknown(f"no runs that have {figure} differ only in {varied}")
    return ratio_of_means(pairs)


def _device(wanted: Measure, source: MeasureSource) -> FoundValue | Unknown:
    device = load_device(wanted.device or "")
    of_gpu = (
        {}
        if device.gpu is None
        else {"cuda_cores": device.gpu.cuda_cores, "tensor_cores": device.gpu.tensor_cores}
    )
    of_cpu = {} if device.cpu is None else {"cpu_cores": device.cpu.cores}
    value = {**of_gpu, **of_cpu}.get(wanted.figure or "")
    return (
        Unknown(f"the device profile does not state {wanted.figure}")
        if value is None
        else FoundValue(float(value), of="device profile")
    )


NAMED: Mapping[str, Callable[[Measure, MeasureSource], FoundValue | Unknown]] = {
    "later-stall-over-first": _later_stall_over_first,
    "largest-over-smallest": (
        lambda wanted, source: _extremes(source.frames, wanted.figure or "", "framework")
    ),
    "slowest-over-fastest": (
        lambda _, source: _extremes(source.frames, "time_to_epoch_s", "storage_medium")
    ),
    "device": _device,
}
"""Measures by the name that the registry uses."""
