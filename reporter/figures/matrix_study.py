"""The charts of a matrix: throughput of every point, and the mean step by part."""

from collections.abc import Callable
from functools import partial

from reporter.data.frames import Frames
from reporter.data.quantities import quantity
from reporter.data.text import digits, plain
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    UNITS,
    WIDTH,
    Caption,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    Rows,
    StudyCharts,
    legend,
    rows_chart,
)
from reporter.figures.svg import in_units, linear
from suite.metrics.figure import Figure
from suite.metrics.matrix_record import Matrix, MatrixPoint, read_matrix, words_of

MAX_POINTS = 40
THROUGHPUT = Caption(
    "matrix-throughput",
    "Throughput of every point",
    "Samples per second, mean over the runs of a point; line: ± one standard deviation. Warm-up"
    " steps are excluded.",
)
STEP = Caption(
    "matrix-step",
    "Mean step by part",
    "Waiting for a mini-batch, compute, and the rest (host-to-device copy, communication), mean"
    " over the runs of a point. Number: time of a step. Warm-up steps are excluded.",
)
PARTS = ("fetch stall", "compute", "the rest")
STYLES = ("p0", "p2", "p3")
"""Colours of these parts in every figure."""


def charts(matrix: Matrix) -> tuple[Chart, ...]:
    """The charts of one matrix."""
    return (
        _chart(THROUGHPUT, partial(draw, matrix), 1),
        _chart(STEP, partial(draw_step, matrix), 2),
    )


def _chart(
    caption: Caption, draw_it: Callable[[Context], Drawing | NotDrawn], position: int
) -> Chart:
    def on_page(_: Frames, context: Context) -> Drawing | NotDrawn:
        return draw_it(context)

    return Chart(
        caption.name, caption.title, caption.about, frozenset({"matrix"}), on_page, position
    )


def draw(matrix: Matrix, context: Context) -> Drawing | NotDrawn:
    """A bar per point, samples per second, in the plan's order; of many points, the fastest."""
    found = _fastest(matrix)
    if not found:
        return NotDrawn("no run has a known throughput")
    scale = linear([value + (rate.spread or 0.0) for _, rate, value in found], LEFT, WIDTH - RIGHT)
    chart = rows_chart(THROUGHPUT.title, THROUGHPUT.about, len(found), scale, "samples per second")
    rows = []
    for index, (point, rate, value) in enumerate(found):
        y, spread = chart.y(index), rate.spread or 0.0
        said = digits(value) + (f" ± {digits(spread, 2)}" if spread else "")
        label = _name(chart, index, matrix, point, context)
        chart.canvas.rect(
            scale.at(0),
            y - 9,
            scale.at(value) - scale.at(0),
            18,
            "p2",
            f"{label}: {said} samples/s",
        )
        chart.canvas.line(
            scale.at(max(0.0, value - spread)), y, scale.at(value + spread), y, "join"
        )
        chart.canvas.text(scale.at(value + spread) + 8, y + 4.5, said, "tick")
        rows.append(
            (label, digits(value), digits(spread, 2) if spread else "unknown", str(rate.count))
        )
    return Drawing(
        chart.canvas,
        (_heading(matrix), "samples per second", "standard deviation", "runs"),
        tuple(rows),
    )


def draw_step(matrix: Matrix, context: Context) -> Drawing | NotDrawn:
    """A stacked bar per point, in the plan's order; of many points, the fastest."""
    found = _fastest(matrix)
    parts = {point.name: _parts(point) for point, _, _ in found}
    if not found:
        return NotDrawn("no run has a known throughput")
    scale = in_units(
        [sum(parts[point.name]) for point, _, _ in found], "s", LEFT, WIDTH - RIGHT, linear
    )
    chart = rows_chart(
        STEP.title, STEP.about, len(found), scale, f"{UNITS.get(scale.unit, scale.unit)} per step"
    )
    legend(chart.canvas, list(zip(STYLES, PARTS, strict=True)))
    rows = []
    for index, (point, _, _) in enumerate(found):
        x, values = scale.at(0), parts[point.name]
        label = _name(chart, index, matrix, point, context)
        for style, name, value in zip(STYLES, PARTS, values, strict=True):
            width = scale.at(value) - scale.at(0)
            chart.canvas.rect(
                x, chart.y(index) - 11, width, 22, style, f"{label}, {name}: {digits(value)} s"
            )
            x += width
        chart.canvas.text(x + 6, chart.y(index) + 4.5, quantity(sum(values), "s")[0], "tick")
        rows.append((label, *(digits(value) for value in values), digits(sum(values))))
    return Drawing(
        chart.canvas, (_heading(matrix), *(f"{name}, s" for name in PARTS), "step, s"), tuple(rows)
    )


def _fastest(matrix: Matrix) -> list[tuple[MatrixPoint, Figure, float]]:
    """All points whose throughput is known, with it, in their order; of more than MAX_POINTS, the
    fastest."""
    found = [
        (point, rate, rate.value)
        for point in matrix.points
        if (rate := point.figures.samples_per_s).value is not None
    ]
    if len(found) <= MAX_POINTS:
        return found
    slowest = sorted((value for _, _, value in found), reverse=True)[MAX_POINTS - 1]
    return [each for each in found if each[2] >= slowest][:MAX_POINTS]


def _parts(point: MatrixPoint) -> tuple[float, float, float]:
    figures = point.figures
    whole, fetch, compute = (
        figure.value or 0.0
        for figure in (figures.step_s, figures.step_fetch_stall_s, figures.step_compute_s)
    )
    return fetch, compute, max(0.0, whole - fetch - compute)


def _name(chart: Rows, index: int, matrix: Matrix, point: MatrixPoint, context: Context) -> str:
    """Write the point's settings as the label of a row; returns them as a sentence has them."""
    words = next(plain(plan.words) for plan in matrix.plan.points if plan.name == point.name)
    chart.name(
        index, words.replace(", ", " · "), f"{context.root}runs/{point.runs[0].run_id}/index.html"
    )
    return words


def _heading(matrix: Matrix) -> str:
    return ", ".join(map(words_of, matrix.plan.variables))


STUDY_CHART = StudyCharts(
    "matrix", lambda study: charts(read_matrix(study.record.parent)), with_entries=True
)
