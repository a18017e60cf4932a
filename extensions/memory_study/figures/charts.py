"""Charts of a memory study: Figure 1 a to d of Kukreja et al. (PAISE 2019), peak memory against the
recompute factor."""

from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import digits, plain
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, StudyCharts, legend
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import close, logarithmic
from suite.extensions.memory_study.record.study_file import (
    Line,
    MemoryStudy,
    Panel,
    read_memory_study,
)

GB = 1e9
ABOUT = (
    "Solid: planned by the suite, framework and optimizer included. Dashed: the paper's model,"
    " Revolve on equal layers, weights and checkpoints. Marks on lines of their colour: measured."
    " Marks at 1 on the left edge: the paper's tables. Dashed across: the budget."
)


def charts(study: MemoryStudy) -> tuple[Chart, ...]:
    """A chart per panel."""

    def on_page(
        draw_it: partial[Drawing | NotDrawn], _: Frames, context: Context
    ) -> Drawing | NotDrawn:
        return draw_it()

    return tuple(
        Chart(
            f"memory-{plain(panel.name, 20)}",
            title_of(panel),
            ABOUT,
            frozenset({"memory"}),
            partial(on_page, partial(draw, study, panel)),
            place,
        )
        for place, panel in enumerate(study.panels, start=1)
    )


def title_of(panel: Panel) -> str:
    """The title of a panel's chart."""
    return (
        f"Figure {plain(panel.name, 20)}: pictures of {panel.image}x{panel.image}, mini-batch of"
        f" {panel.batch}"
    )


def draw(study: MemoryStudy, panel: Panel) -> Drawing | NotDrawn:
    """Memory in GB, logarithmic, against the recompute factor; a colour per network."""
    lines = [*panel.planned, *panel.paper, *panel.published]
    points = [
        point
        for line in lines
        for point in line.points
        if point.factor > 0 and point.size_bytes > 0
    ]
    if not points:
        return NotDrawn("the panel has no points")
    networks = list(dict.fromkeys(line.network for line in lines))
    factors = [
        *(point.factor for point in points),
        *(each.factor or 1.0 for each in panel.measured),
    ]
    sizes = [
        *(point.size_bytes / GB for point in points),
        *(each.measured_bytes / GB for each in panel.measured),
        study.budget_bytes / GB,
    ]
    chart = plane(
        title_of(panel),
        ABOUT,
        close(factors, *ACROSS),
        logarithmic(sizes, *UP),
        ("recompute factor", "peak memory, GB"),
    )
    legend(chart.canvas, [(f"c{networks.index(name) % 8}", plain(name, 30)) for name in networks])
    budget = chart.y.at(study.budget_bytes / GB)
    chart.canvas.path([(ACROSS[0], budget), (ACROSS[1], budget)], "front")
    rows = []
    for line in panel.paper:
        chart.canvas.path(
            [chart.at(point.factor, point.size_bytes / GB) for point in line.points],
            f"l{networks.index(line.network) % 8} curve projected",
        )
        rows += _rows(line, "the paper's model")
    for line in panel.planned:
        chart.canvas.path(
            [chart.at(point.factor, point.size_bytes / GB) for point in line.points],
            f"l{networks.index(line.network) % 8} curve",
        )
        rows += _rows(line, "planned")
    for line in panel.published:
        for point in line.points:
            tip = f"{plain(line.network)}, published: {digits(point.size_bytes / GB)} GB"
            chart.canvas.dot(
                *chart.at(point.factor, point.size_bytes / GB),
                f"c{networks.index(line.network) % 8} faint",
                tip,
            )
        rows += _rows(line, "published")
    for each in panel.measured:
        factor = each.factor or 1.0
        tip = (
            f"{plain(each.network)}, {plain(each.schedule)}, measured:"
            f" {digits(each.measured_bytes / GB)} GB at {digits(factor)}"
        )
        chart.canvas.dot(
            *chart.at(factor, each.measured_bytes / GB), f"c{networks.index(each.network) % 8}", tip
        )
        rows.append(
            (plain(each.network), "measured", digits(factor), digits(each.measured_bytes / GB))
        )
    return Drawing(chart.canvas, ("network", "line", "recompute factor", "GB"), tuple(rows))


def _rows(line: Line, what: str) -> list[tuple[str, ...]]:
    return [
        (plain(line.network), what, digits(point.factor), digits(point.size_bytes / GB))
        for point in line.points
    ]


STUDY_CHART = StudyCharts(
    "memory", lambda study: charts(read_memory_study(study.record.parent)), with_entries=False
)
