"""Radar chart of frameworks along several figures, as in Figure 1d of the Raspberry Pi study."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reporter.data.frames import Frames, Row
from reporter.data.selection import ascending
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_of, values_of
from reporter.figures.chart import Chart, Context
from reporter.figures.for_papers import Notes, context_of
from reporter.figures.model import LegendEntry, Missing, PaperFigure, Plot, Polygon, Radar

MAX_SERIES, MIN_AXES = 4, 3
ALIKE = (
    *("workload", "data", "model_trained", "precision", "device", "cpu_model", "gpu"),
    *("node_machines", "power_mode", "nodes", "accelerator"),
)
"""What frameworks trained, and on what: they are compared where it is the same."""


@dataclass(frozen=True)
class RadarAxis:
    """A figure as an axis; the rim is the best value shown. ``better``: 1 if more is better, -1 if
    less is."""

    figure: str
    title: str
    better: int
    factor: float = 1.0
    is_energy: bool = False


AXES = (
    RadarAxis("samples_per_s", "samples per second", 1),
    RadarAxis("time_to_target_s", "time to target, s", -1),
    RadarAxis("best_accuracy", "accuracy, %", 1, 100.0),
    RadarAxis("peak_memory_bytes", "peak memory, MiB", -1, 2.0**-20),
    RadarAxis("energy_per_epoch_j", "energy per epoch, J", -1, is_energy=True),
    RadarAxis("compute_share", "share of an epoch spent computing, %", 1, 100.0),
    RadarAxis("first_epoch_s", "epoch 1, s", -1),
    RadarAxis("ipc", "instructions per cycle", 1),
    RadarAxis("l1d_miss_ratio", "L1 data miss ratio, %", -1, 100.0),
    RadarAxis("branch_mispredict_ratio", "branch mispredict ratio, %", -1, 100.0),
)


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """One polygon per framework (its fastest entry), at most MAX_SERIES; along each axis
    value/best, or best/value where less is better."""
    found, entries = shares_of(frames), entries_of(frames)
    if isinstance(found, Missing):
        return found
    axes, shares = found
    polygons, rows = list[Polygon](), list[tuple[str, ...]]()
    for name, of_entry in _values(frames, axes, shares).items():
        label, style = entries[name]["label"], context.colour(entries[name]["framework"])
        texts = [
            significant(value * axis.factor) for axis, value in zip(axes, of_entry, strict=True)
        ]
        tips = (f"{label}, {axis.title}: {text}" for axis, text in zip(axes, texts, strict=True))
        link = context.entry(name)
        polygons.append(Polygon(label, style, tuple(shares[name]), tuple(tips), link))
        rows.append((label, *texts))
    better = {1: "more", -1: "less"}
    titles = tuple(f"{axis.title}\n({better[axis.better]} is better)" for axis in axes)
    legend = tuple(LegendEntry(f"c{one.style}", one.label) for one in polygons)
    panel = Radar(titles, tuple(polygons), legend)
    headings, notes = ("entry", *(axis.title for axis in axes)), [*_left_out(frames, axes)]
    if omitted := len(entries) - len(fastest(frames)):
        notes.append(
            "Not drawn, because trained otherwise or not the fastest of their framework:"
            f" {omitted} of {len(entries)} entries."
        )
    return Plot((panel,), headings, tuple(rows), " ".join(notes))


def for_paper(frames: Frames) -> PaperFigure | Missing:
    """The fastest entry of each framework on axes from 0 to the best drawn value."""
    found, entries, context = shares_of(frames), entries_of(frames), context_of(frames)
    if isinstance(found, Missing):
        return found
    axes, shares = found
    titles = tuple(f"{axis.title}\u00a0{'↑' if axis.better > 0 else '↓'}" for axis in axes)
    polygons = tuple(
        Polygon(
            str(entries[name]["implementation_name"]),
            context.colour(entries[name]["framework"]),
            tuple(shares[name]),
            ("",) * len(axes),
        )
        for name in shares
    )
    legend = tuple(LegendEntry(f"c{one.style}", one.label, is_mark=True) for one in polygons)
    about = (
        "The fastest entry of each framework. On each axis: value / best value shown, or best /"
        " value where less is better. ↑: more is better, ↓: less is better. Areas have no meaning."
    )
    panel = Radar(titles, polygons, legend)
    return PaperFigure((panel,), tuple(shares), about, "", _left_out(frames, axes))


def shares_of(frames: Frames) -> tuple[list[RadarAxis], dict[str, list[float]]] | Missing:
    """The axes whose figures are known and comparable for the fastest entries of the frameworks,
    and each entry's distances from the centre along them."""
    entries = fastest(frames)[:MAX_SERIES]
    if len(entries) < 2:
        return Missing("fewer than two frameworks trained the same on one machine")
    found = {axis: figures_of(frames, axis.figure) for axis in AXES}
    axes = [
        axis
        for axis in AXES
        if all(name in found[axis] for name in entries)
        and (not axis.is_energy or _share_a_sensor(found[axis], entries))
    ]
    if len(axes) < MIN_AXES:
        return Missing(f"fewer than {MIN_AXES} figures are known for all of the frameworks")
    values = _values(frames, axes, entries)
    return axes, {
        name: [
            share_of_axis(axis, [values[other][index] for other in entries], values[name][index])
            for index, axis in enumerate(axes)
        ]
        for name in entries
    }


def _values(
    frames: Frames, axes: Sequence[RadarAxis], entries: Iterable[str]
) -> dict[str, list[float]]:
    found = {axis: figures_of(frames, axis.figure) for axis in axes}
    return {name: [float(found[axis][name]["value"]) for axis in axes] for name in entries}


def _share_a_sensor(energies: Mapping[str, Row], entries: list[str]) -> bool:
    return len({(energies[name]["covers"], energies[name]["tier"]) for name in entries}) == 1


def share_of_axis(axis: RadarAxis, values: list[float], value: float) -> float:
    """Distance from the centre, 0 to 1: value over the best of ``values``, or best over value where
    less is better."""
    best = max(values) if axis.better > 0 else min(values)
    if value == best:
        return 1.0
    above, below = (value, best) if axis.better > 0 else (best, value)
    return min(max(above / below, 0.0), 1.0) if below > 0 else 0.0


def fastest(frames: Frames) -> list[str]:
    """The fastest entry of each framework, the fastest first, of those that are alike in ALIKE:
    where most frameworks are."""
    entries, best = entries_of(frames), dict[tuple[str, ...], dict[str, str]]()
    for name in ascending(values_of(frames, "time_to_epoch_s")):
        alike = tuple(str(entries[name][column]) for column in ALIKE)
        best.setdefault(alike, {}).setdefault(str(entries[name]["framework"]), name)
    return list(max(best.values(), key=len, default={}).values())


def _left_out(frames: Frames, axes: Sequence[RadarAxis]) -> Notes:
    missing, notes = ", ".join(axis.title for axis in AXES if axis not in axes), list[str]()
    if missing:
        notes.append(
            "These figures have no axis, because they are unknown or not comparable for some"
            f" entries: {missing}."
        )
    if len(fastest(frames)) > MAX_SERIES:
        notes.append(f"Only the {MAX_SERIES} fastest frameworks are drawn.")
    return tuple(notes)


CHART = Chart(
    "radar",
    "Framework overview",
    "The fastest entry of each framework. On each axis: value / best value shown (rim = 1), or best"
    " / value where less is better. Areas have no meaning.",
    describe,
    frozenset({"comparison", "study"}),
    position=140,
)
