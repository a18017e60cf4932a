"""Time against energy with the Pareto front, as in Figure 8 of Prashanthi et al."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from reporter.data.frames import Frames
from reporter.data.instrument_names import sensor_named
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Dot, Estimate, Figure, Missing, Plane, Point, through
from reporter.figures.scales import UNITS, Scale, in_units, logarithmic

DOTS_A_ROW, MAX_NAMED = 4, 8
"""Dots with a label and a link, for each row that a chart of rows may have on the same page; points
of the front that have a label."""


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One dot per entry: seconds and joules per epoch, both logarithmic; only energies of the most
    frequent kind of sensor."""
    energies, times, entries = (
        figures_of(frames, "energy_per_epoch_j"),
        figures_of(frames, "time_to_epoch_s"),
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
        return Missing(why_missing(frames, "energy_per_epoch_j"))
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


CHART = Chart(
    "time-energy",
    "Time against energy",
    "Means over runs, both axes logarithmic; lower left is better. Stepped line: Pareto front.",
    describe,
    frozenset({"board", "figures", "machine", "study"}),
    position=70,
)
