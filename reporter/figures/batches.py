"""Throughput, memory and times by batch size, as in Figures 1a and 1b of the Raspberry Pi study and
Figure 4 of Prashanthi et al., POMACS 2022."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import significant
from reporter.data.values import entries_of, values_of
from reporter.figures.chart import Chart, Context
from reporter.figures.entries import entry_estimates, entry_groups, epoch_sums
from reporter.figures.for_papers import (
    OVER_RUNS,
    Curve,
    Notes,
    Varied,
    lines_of,
    lines_panel,
    property_text,
    settings_notes,
    varied_groups,
)
from reporter.figures.model import Estimate, Missing, PaperFigure, Plane, Plot, dot, line_through
from reporter.figures.scales import doubling_scale, linear_scale

PARTS = {
    "fetch stall": ("fetch_stall_s", "copy_s"),
    "compute": ("compute_s",),
    "total": ("end_to_end_s",),
}
VARIED = ("batch_size", "learning_rate")
ALIKE = "differ only in batch size, or in batch size and learning rate"
PER_EPOCH, PER_STEP = "s per epoch", "ms per mini-batch"
MS_PER_S, MIB = 1e3, 2.0**-20
Drawn = Plot | Missing


@dataclass(frozen=True)
class _Quantity:
    """What is drawn over the batch size: the title of its axis, values and tooltips by entry, and
    the figure that its dots link to; ``ticks``: about how many its axis has."""

    axis: str
    values: Mapping[str, float]
    tips: Mapping[str, str]
    figure: str
    ticks: int


def _figure_by_batch_size(
    figure: str, axis: str, factor: float, frames: Frames, context: Context
) -> Drawn:
    """A figure against the global batch size; one line per setting that was run at two or more
    sizes."""
    entries, found = entries_of(frames), values_of(frames, figure)
    if entries and not found:
        return Missing("unknown in every run")
    values = {name: value * factor for name, value in found.items()}
    tips = {
        name: f"{entries[name]['label']}: {significant(value)}" for name, value in values.items()
    }
    lines = _lines(frames, values)
    if not lines:
        return Missing(f"no two entries {ALIKE}")
    quantity = _Quantity(axis, values, tips, figure, 6)
    panel = _plane(frames, context, lines, quantity, "global batch size, samples")
    return Plot((panel,), ("entry", "batch size", axis), _table(frames, lines, [values]))


def times(frames: Frames, context: Context) -> Drawn:
    """Six panels with a line per setting that was run at two or more batch sizes: seconds per epoch
    above, milliseconds per mini-batch below."""
    entries, steps = entries_of(frames), epoch_sums(frames, ("steps",))
    parts = {name: epoch_sums(frames, columns) for name, columns in PARTS.items()}
    ids = [
        name
        for name in steps
        if steps[name].value > 0 and all(name in of_part for of_part in parts.values())
    ]
    lines = _lines(frames, ids)
    if not lines:
        return Missing(f"no two entries with runs of two or more epochs {ALIKE}")
    quantities = []
    for unit in (PER_EPOCH, PER_STEP):
        for part, found in parts.items():
            values = {
                name: found[name].value
                * (1.0 if unit == PER_EPOCH else MS_PER_S / steps[name].value)
                for name in ids
            }
            tips = {
                name: f"{entries[name]['label']}, batch {entries[name]['batch_size']:g}:"
                f" {significant(values[name])} {unit}"
                for name in ids
            }
            quantities.append(_Quantity(f"{part}, {unit}", values, tips, "time_to_epoch_s", 4))
    panels = (_plane(frames, context, lines, one, "global batch size") for one in quantities)
    headings = ("entry", "batch size", *(one.axis for one in quantities))
    rows = _table(frames, lines, [one.values for one in quantities])
    return Plot(tuple(panels), headings, rows, columns=len(PARTS))


def _plane(
    frames: Frames, context: Context, lines: Sequence[Sequence[str]], of: _Quantity, axis: str
) -> Plane:
    entries = entries_of(frames)
    ids = [name for line in lines for name in line]
    sizes = {name: float(entries[name]["batch_size"]) for name in ids}
    colours = {name: context.colour(entries[name]["framework"]) for name in ids}
    return Plane(
        axis,
        of.axis,
        doubling_scale(list(sizes.values())),
        linear_scale([of.values[name] for name in ids], of.ticks),
        tuple(
            line_through(
                [(sizes[name], of.values[name]) for name in line], f"l{colours[line[0]]} curve"
            )
            for line in lines
        ),
        tuple(
            dot(
                (sizes[name], of.values[name]),
                f"c{colours[name]}",
                of.tips[name],
                context.entry(name, of.figure),
                entries[name]["label"],
            )
            for name in ids
        ),
        context.frameworks([entries[name] for name in ids]),
    )


def _table(
    frames: Frames, lines: Sequence[Sequence[str]], columns: Sequence[Mapping[str, float]]
) -> tuple[tuple[str, ...], ...]:
    entries = entries_of(frames)
    return tuple(
        (
            entries[name]["label"],
            f"{entries[name]['batch_size']:g}",
            *(significant(values[name], 4) for values in columns),
        )
        for line in lines
        for name in line
    )


def _lines(frames: Frames, ids: Iterable[str]) -> list[list[str]]:
    """Entries that differ only in batch size and learning rate and have two batch sizes, each by
    batch size."""
    groups = entry_groups(frames, ids, VARIED)
    return [
        [str(entry["entry_id"]) for entry in group]
        for group in groups
        if len({entry["batch_size"] for entry in group}) > 1
    ]


PAPER_PARTS = {
    "stall": ("Fetch stall and host-to-device copy", PARTS["fetch stall"]),
    "compute": ("Time of computing", PARTS["compute"]),
    "total": ("End-to-end time", PARTS["total"]),
}


def throughput(frames: Frames) -> PaperFigure | Missing:
    """Training samples per second."""
    about = "Training samples per second, mean over epochs 2 to last."
    return _of_paper(
        frames, entry_estimates(frames, "samples_per_s"), "throughput, samples/s", about
    )


def memory(frames: Frames) -> PaperFigure | Missing:
    """Peak memory of the training processes, MiB; pages that they share count once."""
    about = "Peak memory of the training processes; pages that they share count once."
    found = entry_estimates(frames, "peak_memory_bytes", MIB)
    return _of_paper(frames, found, "peak memory, MiB", about)


def _of_paper(
    frames: Frames, values: Mapping[str, Estimate], axis: str, about: str
) -> PaperFigure | Missing:
    groups = _groups(frames, values)
    if not groups:
        return Missing(f"no two entries {ALIKE}")
    panel, notes = _panel(frames, groups, values, axis)
    return PaperFigure((panel,), _ids(groups), about, OVER_RUNS, notes)


def per_epoch_and_step(frames: Frames, part: str) -> PaperFigure | Missing:
    """A part of an epoch (of PAPER_PARTS): s per epoch, and ms per mini-batch below."""
    about, columns = PAPER_PARTS[part]
    epochs, steps = epoch_sums(frames, columns), epoch_sums(frames, ("steps",))
    per_step = {
        name: one.times(MS_PER_S / steps[name].value)
        for name, one in epochs.items()
        if name in steps and steps[name].value > 0
    }
    groups = _groups(frames, epochs)
    if not groups:
        return Missing(f"no two entries with runs of two or more epochs {ALIKE}")
    upper, notes = _panel(frames, groups, epochs, f"{part}, {PER_EPOCH}")
    lower, _ = _panel(frames, _groups(frames, per_step), per_step, f"{part}, {PER_STEP}")
    about = f"{about} per epoch and per mini-batch, mean over epochs 2 to last."
    error_bars = "± one standard deviation over runs"
    return PaperFigure((upper, lower), _ids(groups), about, error_bars, notes)


def _groups(frames: Frames, values: Iterable[str]) -> list[Varied]:
    """Settings that were run at two batch sizes."""
    return [
        group
        for group in varied_groups(frames, values, *VARIED)
        if len({entry["batch_size"] for entry in group.entries}) > 1
    ]


def _ids(groups: Sequence[Varied]) -> tuple[str, ...]:
    return tuple(entry["entry_id"] for group in groups for entry in group.entries)


def _panel(
    frames: Frames, groups: Sequence[Varied], values: Mapping[str, Estimate], axis: str
) -> tuple[Plane, Notes]:
    """A line per setting, and a note where settings share one line per framework."""
    curves, order = dict[str, Curve](), dict[str, float]()
    for index, group in enumerate(groups):
        first = group.entries[0]
        points = tuple(
            (float(entry["batch_size"]), values[entry["entry_id"]]) for entry in group.entries
        )
        label = group.heading or property_text(first, "framework")
        curves[str(index)] = Curve(label, str(first["framework"]), points)
        order[str(index)] = points[0][1].value
    lines, notes = lines_of(frames, curves, order)
    panel = lines_panel(("global batch size, samples", axis), lines, doubling_scale)
    return panel, settings_notes(notes)


CHARTS = (
    Chart(
        "batch-throughput",
        "Throughput by batch size",
        "Training samples per second, mean over runs. Entries on a line differ only in batch size"
        " and learning rate.",
        partial(_figure_by_batch_size, "samples_per_s", "samples per second", 1.0),
        frozenset({"figures", "study"}),
        position=90,
    ),
    Chart(
        "batch-memory",
        "Memory by batch size",
        "Peak memory of the training processes, MiB, mean over runs. Entries on a line differ only"
        " in batch size and learning rate.",
        partial(_figure_by_batch_size, "peak_memory_bytes", "peak memory, MiB", MIB),
        frozenset({"figures", "study"}),
        position=100,
    ),
    Chart(
        "batch-times",
        "Stall, compute and total time by batch size",
        "Means of epochs 2 to last: seconds per epoch above, milliseconds per mini-batch below. The"
        " stall includes the host-to-device copy.",
        times,
        frozenset({"figures", "study"}),
        position=110,
    ),
)
