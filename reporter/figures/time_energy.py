"""Time against energy with the Pareto front, as in Figure 8 of Prashanthi et al."""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reporter.data.frames import Frames, known
from reporter.data.frames import Row as Entry
from reporter.data.instrument_names import sensor_named
from reporter.data.machines import machines_of
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import Chart, Context
from reporter.figures.energy import ENERGY, kinds_of, with_instrument
from reporter.figures.entries import estimates
from reporter.figures.for_papers import OVER_RUNS, labels_of, model_title
from reporter.figures.model import (
    Dot,
    Estimate,
    Figure,
    Keys,
    Line,
    Missing,
    Named,
    Panel,
    PaperFigure,
    Plane,
    Point,
    through,
)
from reporter.figures.scales import UNITS, Scale, fitting_closely, in_units, logarithmic

TIME, POWER = "time_to_epoch_s", "mean_power_w"
AXES = {ENERGY: "energy per epoch, J", POWER: "mean power, W"}
DOTS_A_ROW, MAX_NAMED = 4, 8
"""Dots with a label and a link, for each row that a chart of rows may have on the same page; points
of the front that have a label."""
MAX_KEYS = 14
MAX_FILLS = 4
MAX_STYLES = 8
KEYS = string.ascii_lowercase


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One dot per entry: seconds and joules per epoch, both logarithmic; only energies of the most
    frequent kind of sensor."""
    energies, times, entries = (
        figures_of(frames, ENERGY),
        figures_of(frames, TIME),
        entries_of(frames),
    )
    every = {
        name: (float(times[name]["value"]), float(energies[name]["value"]))
        for name in entries
        if name in energies
        and name in times
        and min(energies[name]["value"], times[name]["value"]) > 0
    }
    if not every:
        return Missing(why_missing(frames, ENERGY))
    kinds = {name: (energies[name]["covers"], energies[name]["tier"]) for name in every}
    kind = max(sorted(set(kinds.values()), key=str), key=list(kinds.values()).count)
    points = {name: every[name] for name in sorted(every) if kinds[name] == kind}
    measured, front = sensor_named(kind[1], kind[0]), pareto_front(points)
    chosen = choose(
        {name: points[name][0] for name in points},
        lambda name: str(entries[name]["framework"]),
        DOTS_A_ROW * context.max_rows,
    )
    named = {*front, *chosen.ids}
    colours = {name: context.colour(entries[name]["framework"]) for name in points}
    crowds: dict[int, list[Point]] = {}
    for name in (name for name in points if name not in named):
        crowds.setdefault(colours[name], []).append(points[name])

    def dot(name: str) -> Dot:
        (time_s, energy_j), label = points[name], entries[name]["label"]
        is_best = ", on the Pareto front" if name in front else ""
        return Dot(
            Estimate(time_s),
            Estimate(energy_j),
            f"c{colours[name]}",
            label if name in front[:MAX_NAMED] else "",
            f"{label}: {digits(time_s)} s, {digits(energy_j)} J{is_best}",
            context.entry(name),
            label,
            6.0 if is_best else 4.5,
            (("entry", name), ("x", f"{time_s:.9g}"), ("y", f"{energy_j:.9g}")),
        )

    x, y = (
        in_units([point[axis] for point in points.values()], unit, logarithmic)
        for axis, unit in enumerate("sJ")
    )
    panel = Plane(
        f"{UNITS[x.unit]} per epoch",
        f"{UNITS[y.unit]} per epoch ({measured})",
        x,
        y,
        (through(_to_edges([points[name] for name in front], x, y), "front"),),
        tuple(dot(name) for name in points if name in named),
        context.frameworks([entries[name] for name in points]),
        tuple((f"l{style}", tuple(places)) for style, places in sorted(crowds.items())),
    )
    rows = tuple(
        (entries[name]["label"], *map(digits, points[name]), "yes" if name in front else "no")
        for name in sorted(points, key=lambda name: (points[name], name))
    )
    headings = (
        "entry",
        "seconds per epoch",
        f"joules per epoch ({measured})",
        "on the Pareto front",
    )
    return Figure((panel,), headings, rows, _note(len(every), len(points), len(named)))


def _note(every: int, drawn: int, named: int) -> str:
    others, faint = every - drawn, drawn - named
    words = "1 entry" if others == 1 else f"{others} entries"
    notes = (
        [f"Not drawn: {words} with another kind of sensor, whose energies do not compare."]
        if others
        else []
    )
    notes += (
        [f"{faint} of {drawn} entries have faint dots without a label: the table has them."]
        if faint
        else []
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


def _to_edges(front: Sequence[Point], x: Scale, y: Scale) -> list[Point]:
    """The steps of a front, from the top edge to the right one."""
    return [(front[0][0], y.ticks[-1]), *staircase(front), (x.ticks[-1], front[-1][1])]


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


@dataclass(frozen=True)
class Values:
    """Time per epoch and the figure against it, by entry id, and the levels of a highlighted
    property."""

    times: Mapping[str, Estimate]
    figures: Mapping[str, Estimate]
    levels: Mapping[str, float]


def against_time(frames: Frames, figure: str, highlighted: str = "") -> PaperFigure | Missing:
    """Time per epoch, s, against a figure of AXES; an energy has the Pareto front of each model or
    framework. The fill of a mark is a property of HIGHLIGHTS."""
    axis, highlight = AXES[figure], HIGHLIGHTS.get(highlighted)
    found, times = estimates(frames, figure), estimates(frames, TIME)
    ids = [
        name for name in found if name in times and min(found[name].value, times[name].value) > 0
    ]
    if not ids:
        return Missing(
            f"no entry has a known time and {axis.partition(',')[0]}: {why_missing(frames, figure)}"
        )
    levels = _levels(frames, ids, highlight) if highlight else {}
    if highlight is not None and len(set(levels.values())) < 2:
        return Missing(
            f"no two entries with a known {axis.partition(',')[0]} have different known values of"
            f" the {highlight.name}"
        )
    ids = [name for name in ids if highlight is None or name in levels]
    entries = entries_of(frames)
    values, keys = Values(times, found, levels), _keys([entries[name] for name in ids])
    fills = _fills(levels, highlight) if highlight else ()
    panels: list[Panel] = []
    for kind, names in kinds_of(frames, figure, ids).items():
        panel = _plane([entries[name] for name in names], values, keys, figure == ENERGY)
        panels.append(
            replace(panel, y_axis=with_instrument(axis, kind), legend=(*panel.legend, *fills))
        )
    if keys:
        panels.append(
            Keys(tuple((key, mode.replace(" up to ", " ")) for mode, key in keys.items()))
        )
    front = (
        " Stepped line: Pareto front, of the points that no other one beats in both."
        if figure == ENERGY
        else ""
    )
    about = f"Mean over epochs 2 to last; lower left is better.{front}"
    return PaperFigure(tuple(panels), tuple(ids), about, OVER_RUNS, sensor_of=figure)


def _levels(frames: Frames, ids: list[str], highlight: Highlight) -> dict[str, float]:
    """The level of each entry's machine, where all its runs agree."""
    machines, found = machines_of(frames), dict[str, set[float | None]]()
    for run, entry in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        found.setdefault(entry, set()).add(getattr(machines[run], highlight.field))
    return {
        name: value
        for name in ids
        for value in found[name]
        if len(found[name]) == 1 and value is not None
    }


def _plane(
    entries: list[Entry], values: Values, keys: Mapping[str, str], has_fronts: bool
) -> Plane:
    """A dot per entry, and the front of each style."""
    names = _styles(entries)
    order = sorted(set(names.values()))
    last = MAX_STYLES - 1 if len(order) > MAX_STYLES else len(order) - 1
    others = order[last] if last == len(order) - 1 else f"{len(order) - last} others"
    levels = sorted(set(values.levels.values()), reverse=True)
    dots = []
    for entry in sorted(
        entries, key=lambda one: (values.times[one["entry_id"]].value, one["entry_id"])
    ):
        name, style = entry["entry_id"], min(order.index(names[entry["entry_id"]]), last)
        fill = min(levels.index(values.levels[name]), MAX_FILLS - 1) if levels else 0
        key = keys.get(str(entry["power_mode"]), "")
        dots.append(Dot(values.times[name], values.figures[name], f"c{style} f{fill}", key))
    named = [Named(f"c{style}", name, True) for style, name in enumerate([*order[:last], others])]
    x, y = (
        [end for one in ends for end in one.ends]
        for ends in zip(*((dot.x, dot.y) for dot in dots), strict=True)
    )
    return Plane(
        "time per epoch, s",
        "",
        fitting_closely(x),
        fitting_closely(y),
        tuple(_fronts(dots)) if has_fronts else (),
        tuple(dots),
        tuple(named) if len(order) > 1 else (),
    )


def _fronts(dots: Sequence[Dot]) -> Iterator[Line]:
    """The Pareto front of each style as steps, within what was measured."""
    for style in sorted({dot.style[1] for dot in dots}):
        points = {
            str(index): (dot.x.value, dot.y.value)
            for index, dot in enumerate(dots)
            if dot.style[1] == style
        }
        front = [points[name] for name in pareto_front(points)]
        if len(front) > 1:
            yield through(staircase(front), f"l{style} front")


def _fills(levels: Mapping[str, float], highlight: Highlight) -> tuple[Named, ...]:
    """The names of the fills, the highest level first; the last one stands for all lower levels,
    too."""
    found, ordered = [], sorted(set(levels.values()), reverse=True)
    for place, value in enumerate(ordered[:MAX_FILLS]):
        lower = " and less" if place == MAX_FILLS - 1 and len(ordered) > MAX_FILLS else ""
        name = f"{value:.0f}{highlight.unit or f' {highlight.name}'}{lower}"
        found.append(Named(f"c6 f{place} round", name, True))
    return tuple(found)


def _keys(entries: list[Entry]) -> dict[str, str]:
    """A letter for each known power mode, if there are several and at most MAX_KEYS."""
    modes = sorted({str(entry["power_mode"]) for entry in entries if known(entry["power_mode"])})
    return dict(zip(modes, KEYS, strict=False)) if 1 < len(modes) <= MAX_KEYS else {}


def _styles(entries: list[Entry]) -> dict[str, str]:
    """What an entry's mark stands for: the model where there are several, else device and framework
    where they differ."""
    if len({entry["workload"] for entry in entries}) > 1:
        return {entry["entry_id"]: model_title(str(entry["workload"])) for entry in entries}
    return labels_of(entries, ("power_mode", *_LESS))


_LESS = (
    "framework_version",
    "organization",
    "round",
    "suite_version",
    "epoch_budget",
    "learning_rate",
    "availability",
    "storage_medium",
    "cpu_model",
    "threads",
    "workers",
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
