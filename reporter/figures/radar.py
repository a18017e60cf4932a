"""Radar chart of frameworks along several figures, as in Figure 1d of the Raspberry Pi study."""

from collections.abc import Mapping
from dataclasses import dataclass

from reporter.data.frames import Frames, Row
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Figure, Missing, Named, Polygon, Radar

MAX_SERIES, MIN_AXES = 4, 3


@dataclass(frozen=True)
class Axis:
    """A figure as an axis; the rim is the best drawn value. ``better``: 1 if more is better, -1 if
    less is."""

    figure: str
    title: str
    better: int
    factor: float = 1.0
    is_energy: bool = False


AXES = (
    Axis("samples_per_s", "samples per second", 1),
    Axis("time_to_target_s", "time to target, s", -1),
    Axis("best_accuracy", "accuracy, %", 1, 100.0),
    Axis("peak_memory_bytes", "peak memory, MiB", -1, 2.0**-20),
    Axis("energy_per_epoch_j", "energy per epoch, J", -1, is_energy=True),
    Axis("compute_share", "share of an epoch computing, %", 1, 100.0),
    Axis("first_epoch_s", "epoch 1, s", -1),
    Axis("ipc", "instructions per cycle", 1),
    Axis("l1d_miss_ratio", "L1 data miss ratio, %", -1, 100.0),
    Axis("branch_mispredict_ratio", "branch mispredict ratio, %", -1, 100.0),
)


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One polygon per framework (its fastest entry), at most MAX_SERIES; along each axis
    value/best, or best/value where less is better."""
    chosen, entries = series(frames), entries_of(frames)
    if len(chosen) < 2:
        return Missing("fewer than two frameworks have finished two epochs")
    axes, shares = shares_of(frames, chosen)
    if len(axes) < MIN_AXES:
        return Missing(f"fewer than {MIN_AXES} figures are known for all of the frameworks")
    values = {
        name: [digits(value * axis.factor) for axis, value in zip(axes, of_entry, strict=True)]
        for name, of_entry in _values(frames, axes, chosen).items()
    }
    polygons = tuple(
        Polygon(
            entries[name]["label"],
            context.colour(entries[name]["framework"]),
            tuple(shares[name]),
            tuple(
                f"{entries[name]['label']}, {axis.title}: {value}"
                for axis, value in zip(axes, values[name], strict=True)
            ),
            context.entry(name),
        )
        for name in chosen
    )
    legend = tuple(Named(f"c{one.style}", one.label) for one in polygons)
    better = {1: "more", -1: "less"}
    titles = tuple(f"{axis.title}\n({better[axis.better]} is better)" for axis in axes)
    rows = tuple((entries[name]["label"], *values[name]) for name in chosen)
    headings = ("entry", *(axis.title for axis in axes))
    note = _note(axes, entries.keys() - set(chosen))
    return Figure((Radar(titles, polygons, legend),), headings, rows, note)


def shares_of(frames: Frames, entries: list[str]) -> tuple[list[Axis], dict[str, list[float]]]:
    """The axes whose figures are known and comparable for all the entries, and each entry's
    distances from the centre along them."""
    found = {axis: figures_of(frames, axis.figure) for axis in AXES}
    axes = [
        axis
        for axis in AXES
        if all(name in found[axis] for name in entries)
        and (not axis.is_energy or _share_a_sensor(found[axis], entries))
    ]
    values = _values(frames, axes, entries)
    return axes, {
        name: [
            share(axis, [values[other][index] for other in entries], values[name][index])
            for index, axis in enumerate(axes)
        ]
        for name in entries
    }


def _values(frames: Frames, axes: list[Axis], entries: list[str]) -> dict[str, list[float]]:
    found = {axis: figures_of(frames, axis.figure) for axis in axes}
    return {name: [float(found[axis][name]["value"]) for axis in axes] for name in entries}


def _share_a_sensor(energies: Mapping[str, Row], entries: list[str]) -> bool:
    return len({(energies[name]["covers"], energies[name]["tier"]) for name in entries}) == 1


def share(axis: Axis, values: list[float], value: float) -> float:
    """Distance from the centre, 0 to 1: value over the best of ``values``, or best over value where
    less is better."""
    best = max(values) if axis.better > 0 else min(values)
    if value == best:
        return 1.0
    above, below = (value, best) if axis.better > 0 else (best, value)
    return min(max(above / below, 0.0), 1.0) if below > 0 else 0.0


def series(frames: Frames) -> list[str]:
    """The fastest entry of each framework, at most MAX_SERIES, the fastest first."""
    times, entries = figures_of(frames, "time_to_epoch_s"), entries_of(frames)
    best: dict[str, str] = {}
    for name in sorted(
        (name for name in entries if name in times),
        key=lambda name: (float(times[name]["value"]), name),
    ):
        best.setdefault(str(entries[name]["framework"]), name)
    return list(best.values())[:MAX_SERIES]


def _note(axes: list[Axis], omitted: set[str]) -> str:
    missing = [axis.title for axis in AXES if axis not in axes]
    note = (
        f"No axis, because unknown or not comparable for some: {', '.join(missing)}. "
        if missing
        else ""
    )
    return note + (
        f"{len(omitted)} entries that are not the fastest of their framework are not drawn."
        if omitted
        else ""
    )


CHART = Chart(
    "radar",
    "Framework overview",
    "Per axis, value relative to the best drawn one (rim = 1; inverted where less is better);"
    " fastest entry per framework. Areas have no meaning.",
    describe,
    frozenset({"comparison", "study"}),
    position=140,
)
