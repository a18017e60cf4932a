"""Time against energy with the Pareto front, as in Figure 8 of Prashanthi et al."""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reporter.data.frames import Frames, is_known
from reporter.data.frames import Row as Entry
from reporter.data.instrument_names import sensor_named
from reporter.data.machines import machines_of
from reporter.data.selection import choose_rows
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_of, values_of, why_missing
from reporter.figures.chart import COLOURS, Chart, Context
from reporter.figures.energy import ENERGY, kinds_of, with_instrument
from reporter.figures.entries import entry_estimates
from reporter.figures.for_papers import OVER_RUNS, entry_labels, entry_model
from reporter.figures.model import (
    Dot,
    Estimate,
    Keys,
    LegendEntry,
    Line,
    Missing,
    Panel,
    PaperFigure,
    Plane,
    Plot,
    Point,
    line_through,
)
from reporter.figures.scales import UNITS, fitting_closely, logarithmic_scale, scale_in_units

TIME, POWER = "time_to_epoch_s", "mean_power_w"
AXES = {ENERGY: "energy per epoch, J", POWER: "mean power, W"}
DOTS_A_ROW, MAX_NAMED = 4, 8
"""Dots with a label and a link, for each row that a chart of rows may have on the same page; points
of the front that have a label."""
MAX_KEYS, MAX_FILLS, KEYS = 14, 4, string.ascii_lowercase


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """One dot per entry: seconds and joules per epoch, both logarithmic; only energies of the most
    frequent kind of sensor."""
    found, entries = figures_of(frames, ENERGY), entries_of(frames)
    times, energies = values_of(frames, TIME), values_of(frames, ENERGY)
    kinds = {
        name: (found[name]["covers"], found[name]["tier"])
        for name in sorted(energies)
        if name in times and min(energies[name], times[name]) > 0
    }
    if not kinds:
        return Missing(why_missing(frames, ENERGY))
    kind = max(sorted(set(kinds.values()), key=str), key=list(kinds.values()).count)
    points = {name: (times[name], energies[name]) for name in kinds if kinds[name] == kind}
    measured, front = sensor_named(kind[1], kind[0]), pareto_front(points)
    colours = {name: context.colour(entries[name]["framework"]) for name in points}
    order = {name: times[name] for name in points}
    chosen = choose_rows(
        order, lambda name: str(entries[name]["framework"]), DOTS_A_ROW * context.max_rows
    )
    dots, crowds = list[Dot](), dict[str, list[Point]]()
    for name, place in points.items():
        if name in front or name in chosen.ids:
            found_dot = _dot(entries[name], place, f"c{colours[name]}", name in front, context)
            dots.append(found_dot if name in front[:MAX_NAMED] else replace(found_dot, label=""))
        else:
            crowds.setdefault(f"l{colours[name]}", []).append(place)
    x, y = (
        scale_in_units([point[axis] for point in points.values()], unit, logarithmic_scale)
        for axis, unit in enumerate("sJ")
    )
    steps = staircase([points[name] for name in front])
    to_edges = [(steps[0][0], y.ticks[-1]), *steps, (x.ticks[-1], steps[-1][1])]
    panel = Plane(
        f"{UNITS[x.unit]} per epoch",
        f"{UNITS[y.unit]} per epoch ({measured})",
        x,
        y,
        (line_through(to_edges, "front"),),
        tuple(dots),
        context.frameworks([entries[name] for name in points]),
        tuple((style, tuple(places)) for style, places in sorted(crowds.items())),
    )
    rows = tuple(
        (entries[name]["label"], *map(significant, points[name]), "yes" if name in front else "no")
        for name in sorted(points, key=lambda name: (points[name], name))
    )
    energy = f"joules per epoch ({measured})"
    headings = ("entry", "seconds per epoch", energy, "on the Pareto front")
    return Plot((panel,), headings, rows, _note(len(kinds), len(points), len(dots)))


def _dot(entry: Entry, place: Point, style: str, is_best: bool, context: Context) -> Dot:
    (time_s, energy_j), label, name = place, entry["label"], entry["entry_id"]
    best = ", on the Pareto front" if is_best else ""
    return Dot(
        Estimate(time_s),
        Estimate(energy_j),
        style,
        label,
        f"{label}: {significant(time_s)} s, {significant(energy_j)} J{best}",
        context.entry(name),
        label,
        6.0 if is_best else 4.5,
        (("entry", name), ("x", f"{time_s:.9g}"), ("y", f"{energy_j:.9g}")),
    )


def _note(every: int, drawn: int, named: int) -> str:
    others, notes = every - drawn, list[str]()
    if others:
        words = "1 entry" if others == 1 else f"{others} entries"
        notes.append(
            f"Not drawn: {words} with another kind of sensor (energies of different kinds of"
            " sensor are not comparable)."
        )
    if drawn > named:
        notes.append(
            "Drawn as a faint dot without a label:"
            f" {drawn - named} of {drawn} entries; the table lists all."
        )
    return " ".join(notes)


def pareto_front(points: Mapping[str, Point]) -> list[str]:
    """The points that no other point dominates, by ascending first coordinate; smaller is
    better."""
    front: list[str] = []
    lowest = float("inf")
    for name, (_, y) in sorted(points.items(), key=lambda item: (item[1], item[0])):
        if y < lowest:
            front.append(name)
            lowest = y
    return front


def staircase(front: Sequence[Point]) -> list[Point]:
    """A Pareto front as steps: straight lines would suggest points that were not measured."""
    steps = [front[0]]
    for (_, y), following in pairwise(front):
        steps += [(following[0], y), following]
    return steps


@dataclass(frozen=True)
class Highlight:
    """A property of the machine that the fill of marks shows: its name, its unit with a space
    before it (empty for a count), and the machine's field that has it."""

    name: str
    unit: str
    field: str


HIGHLIGHTS = {
    "cores": Highlight("cores", "", "cores"),
    "cpu": Highlight("CPU clock", " MHz", "cpu_mhz"),
    "gpu": Highlight("GPU clock", " MHz", "gpu_mhz"),
    "memory": Highlight("memory clock", " MHz", "memory_mhz"),
}
"""Numbers of cores online, and upper limits of clocks."""


def against_time(frames: Frames, figure: str, highlighted: str = "") -> PaperFigure | Missing:
    """Time per epoch, s, against a figure of AXES; an energy has the Pareto front of each model or
    framework. The fill of a mark is a property of HIGHLIGHTS."""
    axis, entries, quantity = AXES[figure], entries_of(frames), AXES[figure].partition(",")[0]
    found, times = entry_estimates(frames, figure), entry_estimates(frames, TIME)
    known_ones = (
        name for name in found if name in times and min(found[name].value, times[name].value) > 0
    )
    ids = sorted(known_ones, key=lambda name: (times[name].value, name))
    if not ids:
        return Missing(f"no entry has a known time and {quantity}: {why_missing(frames, figure)}")
    fills, legend = dict[str, int](), list[LegendEntry]()
    if highlighted:
        highlight = HIGHLIGHTS[highlighted]
        levels = _levels(frames, ids, highlight.field)
        if len(set(levels.values())) < 2:
            return Missing(
                f"the entries with a known {quantity} do not differ in {highlight.name}, as far as"
                " this is known"
            )
        (fills, legend), ids = _fills(levels, highlight), list(levels)
    keys, panels = _keys([entries[name] for name in ids]), list[Panel]()
    styles, of_styles = _styles([entries[name] for name in ids])
    for kind, names in kinds_of(frames, figure, ids).items():
        dots = tuple(
            Dot(
                times[name],
                found[name],
                f"c{styles[name]} f{fills.get(name, 0)}",
                keys.get(str(entries[name]["power_mode"]), ""),
            )
            for name in names
        )
        axes = "time per epoch, s", with_instrument(axis, kind)
        fronts = tuple(_fronts(dots)) if figure == ENERGY else ()
        panels.append(_plane(axes, fronts, dots, (*of_styles, *legend)))
    if keys:
        panels.append(
            Keys(tuple((key, mode.replace(" up to ", " ")) for mode, key in keys.items()))
        )
    front = " Stepped line: Pareto front (points that no other point beats on both axes)."
    about = "Mean over epochs 2 to last; lower left is better." + front * (figure == ENERGY)
    return PaperFigure(tuple(panels), tuple(ids), about, OVER_RUNS, sensor_of=figure)


def _plane(
    axes: tuple[str, str],
    fronts: tuple[Line, ...],
    dots: tuple[Dot, ...],
    legend: tuple[LegendEntry, ...],
) -> Plane:
    """Dots and fronts with scales that suit them."""
    x, y = (
        fitting_closely([end for one in of_axis for end in one.ends])
        for of_axis in ([dot.x for dot in dots], [dot.y for dot in dots])
    )
    return Plane(*axes, x, y, fronts, dots, legend)


def _levels(frames: Frames, ids: Sequence[str], field: str) -> dict[str, float]:
    """A field of each entry's machine, where all its runs agree."""
    machines, found = machines_of(frames), dict[str, set[float | None]]()
    for run, entry in frames.entry_of.items():
        found.setdefault(entry, set()).add(getattr(machines[run], field))
    return {
        name: value
        for name in ids
        for value in found[name]
        if len(found[name]) == 1 and value is not None
    }


def _fronts(dots: Sequence[Dot]) -> Iterator[Line]:
    """The Pareto front of each style as steps, within what was measured."""
    by_style: dict[str, dict[str, Point]] = {}
    for index, dot in enumerate(dots):
        place = dot.x.value, dot.y.value
        by_style.setdefault(dot.style[1], {})[str(index)] = place
    for style, points in sorted(by_style.items()):
        front = [points[name] for name in pareto_front(points)]
        if len(front) > 1:
            yield line_through(staircase(front), f"l{style} front")


def _fills(
    levels: Mapping[str, float], highlight: Highlight
) -> tuple[dict[str, int], list[LegendEntry]]:
    """The number of each entry's fill and their names, the highest level first; the last one stands
    for all lower levels, too."""
    order, unit = sorted(set(levels.values()), reverse=True), highlight.unit or f" {highlight.name}"
    numbers = {name: min(order.index(level), MAX_FILLS - 1) for name, level in levels.items()}
    names = [f"{value:.0f}{unit}" for value in order[:MAX_FILLS]]
    if len(order) > MAX_FILLS:
        names[-1] += " and less"
    return numbers, [
        LegendEntry(f"c6 f{place} round", name, True) for place, name in enumerate(names)
    ]


def _keys(entries: Sequence[Entry]) -> dict[str, str]:
    """A letter for each known power mode, if there are several and at most MAX_KEYS."""
    modes = sorted({str(entry["power_mode"]) for entry in entries if is_known(entry["power_mode"])})
    return dict(zip(modes, KEYS, strict=False)) if 1 < len(modes) <= MAX_KEYS else {}


def _styles(entries: Sequence[Entry]) -> tuple[dict[str, int], list[LegendEntry]]:
    """The number of each entry's mark, and what marks stand for where they differ: the model where
    there are several, else device and framework. The last number is that of all beyond it."""
    names = entry_labels(entries, ("power_mode", *_LESS))
    if len({entry["workload"] for entry in entries}) > 1:
        names = {entry["entry_id"]: entry_model(entry) for entry in entries}
    order = sorted(set(names.values()))
    numbers = {name: min(order.index(text), COLOURS - 1) for name, text in names.items()}
    shown = order
    if len(order) > COLOURS:
        shown = [*order[: COLOURS - 1], f"{len(order) - COLOURS + 1} others"]
    legend = [LegendEntry(f"c{style}", name, True) for style, name in enumerate(shown)]
    return numbers, legend if len(order) > 1 else []


_LESS = (
    "framework_version",
    "organization",
    "round",
    "suite_version",
    "max_epochs",
    "learning_rate",
    "availability",
    "storage_medium",
    "cpu_model",
    "threads",
    "workers",
    "prefetch",
    "batch_size",
)
"""Properties that a mark does not tell apart."""


CHART = Chart(
    "time-energy",
    "Time against energy",
    "Means over runs, both axes logarithmic; lower left is better. Stepped line: Pareto front.",
    describe,
    frozenset({"board", "figures", "machine", "study"}),
    position=70,
)
