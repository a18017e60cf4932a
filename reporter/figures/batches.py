"""Throughput, memory and times by batch size, as in Figures 1a and 1b of the Raspberry Pi study and
Figure 4 of Prashanthi et al., POMACS 2022."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context
from reporter.figures.entries import alike, of_epochs
from reporter.figures.model import Figure, Missing, Plane, dot, through
from reporter.figures.scales import doubling, linear

PARTS = {
    "fetch stall": ("fetch_stall_s", "copy_s"),
    "compute": ("compute_s",),
    "total": ("end_to_end_s",),
}
PER_EPOCH, PER_STEP = "s per epoch", "ms per mini-batch"
MS_PER_S, MIB = 1e3, 2.0**-20
Drawn = Figure | Missing


@dataclass(frozen=True)
class _Quantity:
    """What is drawn over the batch size: the title of its axis, values and tooltips by entry, and
    the figure that its dots link to; ``ticks``: about how many its axis has."""

    axis: str
    values: Mapping[str, float]
    tips: Mapping[str, str]
    figure: str
    ticks: int


def _one(figure: str, axis: str, factor: float, frames: Frames, context: Context) -> Drawn:
    """A figure against the global batch size; one line per setting that was run at two or more
    sizes."""
    entries, found = entries_of(frames), figures_of(frames, figure)
    if entries and not found:
        return Missing("it is unknown in every run")
    values = {name: float(found[name]["value"]) * factor for name in found}
    tips = {name: f"{entries[name]['label']}: {digits(value)}" for name, value in values.items()}
    lines = lines_of(frames, values)
    if not lines:
        return Missing("no setting was run at two batch sizes with all else equal")
    quantity = _Quantity(axis, values, tips, figure, 6)
    panel = _plane(frames, context, lines, quantity, "global batch size, samples")
    return Figure((panel,), ("entry", "batch size", axis), _table(frames, lines, [values]))


def times(frames: Frames, context: Context) -> Drawn:
    """Six panels with a line per setting that was run at two or more batch sizes: seconds per epoch
    above, milliseconds per mini-batch below."""
    entries, steps = entries_of(frames), of_epochs(frames, ("steps",))
    parts = {name: of_epochs(frames, columns) for name, columns in PARTS.items()}
    ids = [
        name
        for name in steps
        if steps[name].value > 0 and all(name in of_part for of_part in parts.values())
    ]
    lines = lines_of(frames, ids)
    if not lines:
        return Missing("no setting was run at two batch sizes for two epochs with all else equal")
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
                f" {digits(values[name])} {unit}"
                for name in ids
            }
            quantities.append(_Quantity(f"{part}, {unit}", values, tips, "time_to_epoch_s", 4))
    panels = (_plane(frames, context, lines, one, "global batch size") for one in quantities)
    headings = ("entry", "batch size", *(one.axis for one in quantities))
    rows = _table(frames, lines, [one.values for one in quantities])
    return Figure(tuple(panels), headings, rows, columns=len(PARTS))


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
        doubling(list(sizes.values())),
        linear([of.values[name] for name in ids], of.ticks),
        tuple(
            through([(sizes[name], of.values[name]) for name in line], f"l{colours[line[0]]} curve")
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
            *(digits(values[name], 4) for values in columns),
        )
        for line in lines
        for name in line
    )


def lines_of(frames: Frames, ids: Iterable[str]) -> list[list[str]]:
    """Entries that differ only in batch size and learning rate and have two batch sizes, each by
    batch size."""
    groups = alike(frames, ids, ("batch_size", "learning_rate"))
    return [
        [str(entry["entry_id"]) for entry in group]
        for group in groups
        if len({entry["batch_size"] for entry in group}) > 1
    ]


CHARTS = (
    Chart(
        "batch-throughput",
        "Throughput by batch size",
        "Training samples per second, mean over runs. Entries of a line differ only in batch size"
        " and learning rate.",
        partial(_one, "samples_per_s", "samples per second", 1.0),
        frozenset({"figures", "study"}),
        position=90,
    ),
    Chart(
        "batch-memory",
        "Memory by batch size",
        "Peak memory of the training processes, MiB, mean over runs. Entries of a line differ only"
        " in batch size and learning rate.",
        partial(_one, "peak_memory_bytes", "peak memory, MiB", MIB),
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
