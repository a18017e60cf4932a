"""Charts of a memory study: Figure 1 a to d of Kukreja et al. (PAISE 2019), peak memory against the
recompute factor."""

from functools import partial

from reporter.data.text import one_line, significant
from reporter.figures.chart import COLOURS, Chart, StudyCharts
from reporter.figures.model import Dot, LegendEntry, Missing, Plane, Plot, dot, line_through
from reporter.figures.scales import linear_scale_without_zero, logarithmic_scale
from suite.extensions.memory_study.record.study_file import (
    MemoryStudy,
    Panel,
    Point,
    read_memory_study,
)

GB = 1e9
ABOUT = (
    "Solid lines: planned by the suite, framework and optimizer included. Dashed lines: the"
    " paper's model (Revolve on equal layers), which counts weights and checkpoints. Strong"
    " marks: measured. Faint marks at factor 1: the paper's tables. Dashed horizontal line: the"
    " budget."
)


def charts(study: MemoryStudy) -> tuple[Chart, ...]:
    """A chart per panel."""
    return tuple(
        Chart(
            f"memory-{one_line(panel.name, 20)}",
            f"Figure {one_line(panel.name, 20)}: pictures of {panel.image}x{panel.image}, "
            f"mini-batch of {panel.batch}",
            ABOUT,
            partial(_describe, study, panel),
        )
        for panel in study.panels
    )


def _describe(study: MemoryStudy, panel: Panel, *_: object) -> Plot | Missing:
    """Memory in GB, logarithmic, against the recompute factor; a colour per network."""
    every = [*panel.planned, *panel.paper, *panel.published]
    places = [_place(point) for line in every for point in line.points]
    places = [place for place in places if min(place) > 0]
    if not places:
        return Missing("the panel has no points")
    names = dict.fromkeys(line.network for line in every)
    names |= dict.fromkeys(each.network for each in panel.measured)
    styles = {name: index % COLOURS for index, name in enumerate(names)}
    budget = study.budget_bytes / GB
    places += [
        (each.factor, each.measured_bytes / GB)
        for each in panel.measured
        if each.factor is not None
    ]
    x = linear_scale_without_zero([factor for factor, _ in places])
    lines = [line_through([(end, budget) for end in (x.ticks[0], x.ticks[-1])], "front")]
    dots, rows = list[Dot](), list[tuple[str, ...]]()
    for what, drawn, dashes in (
        ("the paper's model", panel.paper, " projected"),
        ("planned", panel.planned, ""),
    ):
        for line in drawn:
            points = [_place(point) for point in line.points]
            lines.append(line_through(points, f"l{styles[line.network]} curve{dashes}"))
            rows += [_row(line.network, what, place) for place in points]
    for line in panel.published:
        name, style = one_line(line.network), f"c{styles[line.network]} faint"
        for place in map(_place, line.points):
            tip = f"{name}, published: {significant(place[1])} GB"
            dots.append(dot(place, style, tip))
            rows.append(_row(name, "published", place))
    for each in panel.measured:
        name, size = one_line(each.network), significant(each.measured_bytes / GB)
        factor = "unknown" if each.factor is None else significant(each.factor)
        rows.append((name, "measured", factor, size))
        if each.factor is not None:
            tip = f"{name}, {one_line(each.schedule)}, measured: {size} GB at {factor}"
            place = each.factor, each.measured_bytes / GB
            dots.append(dot(place, f"c{styles[each.network]}", tip))
    chart = Plane(
        "recompute factor",
        "peak memory, GB",
        x,
        logarithmic_scale([*(size for _, size in places), budget]),
        tuple(lines),
        tuple(dots),
        tuple(LegendEntry(f"c{style}", one_line(name, 30)) for name, style in styles.items()),
    )
    return Plot((chart,), ("network", "line", "recompute factor", "GB"), tuple(rows))


def _place(point: Point) -> tuple[float, float]:
    return point.factor, point.size_bytes / GB


def _row(network: str, what: str, place: tuple[float, float]) -> tuple[str, ...]:
    return one_line(network), what, *map(significant, place)


STUDY_CHART = StudyCharts(
    "memory", lambda study: charts(read_memory_study(study.record.parent)), with_entries=False
)
