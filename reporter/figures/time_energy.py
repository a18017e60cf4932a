"""Time against energy with the Pareto front, as in Figure 8 of Prashanthi et al."""

from collections.abc import Mapping

from reporter.data.frames import Frames, known
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.plane import ACROSS, LEFT, TOP, UP, WIDTH, Plane, plane, staircase
from reporter.figures.svg import logarithmic

MAX_DOTS = 150
LETTER_WIDTH, MAX_LABEL_LENGTH = 6.6, 44


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One dot per entry: seconds and joules per epoch, both logarithmic; only energies of the most frequent kind of sensor."""
    energies, times, all_entries = figures_of(frames, "energy_per_epoch_j"), figures_of(frames, "time_to_epoch_s"), entries_of(frames)
    points = {
        name: (float(times[name]["value"]), float(energies[name]["value"]))
        for name in all_entries
        if name in energies and name in times and min(energies[name]["value"], times[name]["value"]) > 0
    }
    if not points:
        return NotDrawn(why_missing(frames, "energy_per_epoch_j"))
    kinds = {name: (energies[name]["covers"], energies[name]["tier"]) for name in points}
    kind = max(sorted(set(kinds.values()), key=str), key=list(kinds.values()).count)
    ids = sorted(name for name in points if kinds[name] == kind)
    measured = f"{kind[0]}, {kind[1]}" if known(kind[0]) else "mixed sensors"
    x, y = logarithmic([points[name][0] for name in ids], *ACROSS), logarithmic([points[name][1] for name in ids], *UP)
    chart = plane(CHART.title, CHART.about, x, y, ("seconds per epoch", f"joules per epoch ({measured})"))
    frameworks_legend(chart.canvas, [all_entries[name] for name in ids], context)
    front = pareto_front({name: points[name] for name in ids})
    chart.canvas.path(staircase([chart.at(*points[name]) for name in front], WIDTH - 30, TOP), "front")
    chosen = choose({name: points[name][0] for name in ids}, lambda name: str(all_entries[name]["framework"]), MAX_DOTS)
    named = {*front, *chosen.ids}
    for name in (name for name in ids if name not in named):
        chart.canvas.dot(*chart.at(*points[name]), f"c{context.colour(all_entries[name]['framework'])} faint", radius=3)
    for name in (name for name in ids if name in named):
        label = all_entries[name]["label"]
        with chart.canvas.group(entry=name, x=repr(points[name][0]), y=repr(points[name][1])), chart.canvas.link(context.entry(name), label):
            tip = f"{label}: {digits(points[name][0])} s, {digits(points[name][1])} J" + (", on the Pareto front" if name in front else "")
            chart.canvas.dot(*chart.at(*points[name]), f"c{context.colour(all_entries[name]['framework'])}", tip, 6 if name in front else 4.5)
            if name in front[:8]:
                _write(chart, chart.at(*points[name]), label)
    rows = tuple(
        (all_entries[name]["label"], *map(digits, points[name]), "yes" if name in front else "no")
        for name in sorted(ids, key=lambda name: (points[name], name))
    )
    others = len(points) - len(ids)
    notes = [f"{others} entries with another kind of sensor are not drawn: their energies do not compare."] if others else []
    faint = len(ids) - len(named)
    notes += [f"{faint} of {len(ids)} entries are faint dots without a label: the table has them."] if faint else []
    return Drawing(chart.canvas.svg(), ("entry", "seconds per epoch", f"joules per epoch ({measured})", "on the Pareto front"), rows, " ".join(notes))


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The points that no other point dominates, by ascending first coordinate; smaller is better."""
    front: list[str] = []
    lowest = float("inf")
    for name, (_, y) in sorted(points.items(), key=lambda item: (item[1], item[0])):
        if y < lowest:
            front.append(name)
            lowest = y
    return front


def _write(chart: Plane, place: tuple[float, float], label: str) -> None:
    """The label of a point of the front, below left of it, where no other entry can lie; it stays within the chart."""
    (x, y), width = place, LETTER_WIDTH * min(len(label), MAX_LABEL_LENGTH)
    left_of = x - 9 - width > LEFT
    below = y + 20 < UP[0]
    chart.canvas.text(x - 9 if left_of else x + 9, y + 17 if below else y - 9, label, "name", "end" if left_of else "start", MAX_LABEL_LENGTH)


CHART = Chart(
    "time-energy",
    "Time against energy",
    "Seconds and joules per epoch, means over runs, logarithmic; lower left is better. Stepped line: Pareto front.",
    frozenset({"board", "figures", "machine", "study"}),
    draw,
    position=70,
)
