"""Time against energy with the Pareto front, as in Figure 8 of Prashanthi et al."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from reporter.data.frames import Frames
from reporter.data.instrument_names import sensor_named
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import (
    LETTER,
    UNITS,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    frameworks_legend,
)
from reporter.figures.narrow import Box, covers, distance
from reporter.figures.plane import ACROSS, LEFT, TOP, UP, WIDTH, Plane, plane, staircase
from reporter.figures.svg import Point, in_units, logarithmic, number

DOTS_A_ROW = 4
"""Dots with a label and a link, for each row that a chart of rows may have on the same page."""
MAX_LABEL_LENGTH, LINE, MAX_NAMED = 44, 15, 8
"""Letters of a label, height of a line of text, and the points of the front that have a label."""


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One dot per entry: seconds and joules per epoch, both logarithmic; only energies of the most
    frequent kind of sensor."""
    energies, times, all_entries = (
        figures_of(frames, "energy_per_epoch_j"),
        figures_of(frames, "time_to_epoch_s"),
        entries_of(frames),
    )
    points = {
        name: (float(times[name]["value"]), float(energies[name]["value"]))
        for name in all_entries
        if name in energies
        and name in times
        and min(energies[name]["value"], times[name]["value"]) > 0
    }
    if not points:
        return NotDrawn(why_missing(frames, "energy_per_epoch_j"))
    kinds = {name: (energies[name]["covers"], energies[name]["tier"]) for name in points}
    kind = max(sorted(set(kinds.values()), key=str), key=list(kinds.values()).count)
    ids = sorted(name for name in points if kinds[name] == kind)
    measured = sensor_named(kind[1], kind[0])
    x = in_units([points[name][0] for name in ids], "s", *ACROSS, logarithmic)
    y = in_units([points[name][1] for name in ids], "J", *UP, logarithmic)
    chart = plane(
        CHART.title,
        CHART.about,
        x,
        y,
        (f"{UNITS[x.unit]} per epoch", f"{UNITS[y.unit]} per epoch ({measured})"),
    )
    frameworks_legend(chart.canvas, [all_entries[name] for name in ids], context, 400)
    front = pareto_front({name: points[name] for name in ids})
    chart.canvas.path(
        staircase([chart.at(*points[name]) for name in front], WIDTH - 30, TOP), "front"
    )
    labels = [all_entries[name]["label"] for name in front[:MAX_NAMED]]
    chosen = choose(
        {name: points[name][0] for name in ids},
        lambda name: str(all_entries[name]["framework"]),
        DOTS_A_ROW * context.max_rows,
    )
    named = {*front, *chosen.ids}
    unnamed: dict[int, list[Point]] = {}
    for name in (name for name in ids if name not in named):
        unnamed.setdefault(context.colour(all_entries[name]["framework"]), []).append(
            chart.at(*points[name])
        )
    for style, places in sorted(unnamed.items()):
        chart.canvas.dots(places, f"l{style}")
    for name in (name for name in ids if name in named):
        label = all_entries[name]["label"]
        across, down = (number(each) for each in chart.at(*points[name]))
        values = {
            "x": f"{points[name][0]:.9g}",
            "y": f"{points[name][1]:.9g}",
            "across": across,
            "down": down,
        }
        with (
            chart.canvas.group(entry=name, **values),
            chart.canvas.link(context.entry(name), label),
        ):
            tip = f"{label}: {digits(points[name][0])} s, {digits(points[name][1])} J" + (
                ", on the Pareto front" if name in front else ""
            )
            chart.canvas.dot(
                *chart.at(*points[name]),
                f"c{context.colour(all_entries[name]['framework'])}",
                tip,
                6 if name in front else 4.5,
            )
    _name_front(
        chart,
        [chart.at(*points[name]) for name in front[:MAX_NAMED]],
        [chart.at(*points[name]) for name in ids],
        labels,
    )
    rows = tuple(
        (all_entries[name]["label"], *map(digits, points[name]), "yes" if name in front else "no")
        for name in sorted(ids, key=lambda name: (points[name], name))
    )
    others = len(points) - len(ids)
    words = "1 entry" if others == 1 else f"{others} entries"
    notes = (
        [f"Not drawn: {words} with another kind of sensor, whose energies do not compare."]
        if others
        else []
    )
    faint = len(ids) - len(named)
    notes += (
        [f"{faint} of {len(ids)} entries have faint dots without a label: the table has them."]
        if faint
        else []
    )
    return Drawing(
        chart.canvas,
        ("entry", "seconds per epoch", f"joules per epoch ({measured})", "on the Pareto front"),
        rows,
        " ".join(notes),
    )


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The points that no other point dominates, by ascending first coordinate; smaller is
    better."""
    front: list[str] = []
    lowest = float("inf")
    for name, (_, y) in sorted(points.items(), key=lambda item: (item[1], item[0])):
        if y < lowest:
            front.append(name)
            lowest = y
    return front


def _name_front(
    chart: Plane, front: Sequence[Point], points: Sequence[Point], labels: Sequence[str]
) -> None:
    """Writes the labels of the front's points where they cover no point, no other label and no step
    of the front, with a line to their points."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    steps = staircase(front, WIDTH - 30, TOP)
    taken += map(_around, pairwise(steps))
    texts: list[Box] = []
    for point, label in zip(front, labels, strict=True):
        text = label if len(label) <= MAX_LABEL_LENGTH else label[: MAX_LABEL_LENGTH - 1] + "…"
        places = (
            box
            for box in _places(*point, LETTER * len(text))
            if not covers(box, taken) and not covers(_around(_join(point, box, points)), texts)
        )
        box = next(places, None)
        if box is None:
            continue
        texts.append(box)
        taken.append(box)
        if (join := _join(point, box, points)) != (point, point):
            taken.append(_around(join))
            chart.canvas.line(*join[0], *join[1], "join")
        chart.canvas.text(box[0], box[3] - 4, text, "name", max_length=MAX_LABEL_LENGTH)


def _join(point: Point, box: Box, points: Sequence[Point]) -> tuple[Point, Point]:
    """The line from a point to its label; of no length where the label is beside the point and no
    other point is nearer."""
    x, y = point
    corner = (min(max(x, box[0]), box[2]), box[3] if box[3] < y else box[1])
    is_beside = abs(corner[1] - y) <= LINE and distance(point, box) <= min(
        distance(each, box) for each in points
    )
    return (point, point) if is_beside else (point, corner)


def _places(x: float, y: float, width: float) -> Iterator[Box]:
    """Boxes for a label of that width beside a point, the nearest first, that are within the
    chart."""
    for away in range(0, 12 * LINE, LINE):
        for top in (y + 8 + away, y - 8 - LINE - away):
            for left in (x - 9 - width, x + 9, x - width / 2):
                if left > LEFT and left + width < WIDTH - 30 and top > TOP and top + LINE < UP[0]:
                    yield left, top, left + width, top + LINE


def _around(line: tuple[Point, Point]) -> Box:
    (x1, y1), (x2, y2) = line
    return min(x1, x2) - 2, min(y1, y2) - 2, max(x1, x2) + 2, max(y1, y2) + 2


CHART = Chart(
    "time-energy",
    "Time against energy",
    "Means over runs, both axes logarithmic; lower left is better. Stepped line: Pareto front.",
    frozenset({"board", "figures", "machine", "study"}),
    draw,
    position=70,
)
