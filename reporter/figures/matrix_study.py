"""The chart of a matrix: throughput of every point."""

from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import digits, plain
from reporter.figures.chart import LEFT, RIGHT, WIDTH, Chart, Context, Drawing, NotDrawn, StudyCharts, rows_chart
from reporter.figures.svg import linear
from suite.metrics.matrix import Matrix, read_matrix

MAX_POINTS = 40
ABOUT = "Samples per second, mean over the runs of a point; line: ± one standard deviation. Warm-up steps are excluded."
NAME, TITLE = "matrix-throughput", "Throughput of every point"


def charts(matrix: Matrix) -> tuple[Chart, ...]:
    """The chart of one matrix."""

    def on_page(draw_it: partial[Drawing | NotDrawn], _: Frames, context: Context) -> Drawing | NotDrawn:
        return draw_it(context)

    return (Chart(NAME, TITLE, ABOUT, frozenset({"matrix"}), partial(on_page, partial(draw, matrix)), 1),)


def draw(matrix: Matrix, context: Context) -> Drawing | NotDrawn:
    """A bar per point, samples per second, in the plan's order; of many points, the fastest."""
    labels = {plan.name: plain(", ".join(setting.value for setting in plan.settings)) for plan in matrix.plan.points}
    found = [(point, rate, rate.value) for point in matrix.points if (rate := point.figures.samples_per_s).value is not None]
    if not found:
        return NotDrawn("no run has a known throughput")
    if len(found) > MAX_POINTS:
        fastest = sorted((value for _, _, value in found), reverse=True)[MAX_POINTS - 1]
        found = [each for each in found if each[2] >= fastest][:MAX_POINTS]
    scale = linear([value + (rate.spread or 0.0) for _, rate, value in found], LEFT, WIDTH - RIGHT)
    chart = rows_chart(TITLE, ABOUT, len(found), scale, "samples per second")
    rows = []
    for index, (point, rate, value) in enumerate(found):
        y, spread, label = chart.y(index), rate.spread or 0.0, labels[point.name]
        said = digits(value) + (f" ± {digits(spread, 2)}" if spread else "")
        chart.name(index, label, f"{context.root}runs/{point.runs[0].run_id}/index.html")
        chart.canvas.rect(scale.at(0), y - 9, scale.at(value) - scale.at(0), 18, "p2", f"{label}: {said} samples/s")
        chart.canvas.line(scale.at(max(0.0, value - spread)), y, scale.at(value + spread), y, "join")
        chart.canvas.text(scale.at(value + spread) + 8, y + 4.5, said, "tick")
        rows.append((label, digits(value), digits(spread, 2) if spread else "unknown", str(rate.count)))
    heads = (", ".join(matrix.plan.variables).replace("_", " "), "samples per second", "standard deviation", "runs")
    return Drawing(chart.canvas, heads, tuple(rows))


STUDY_CHART = StudyCharts("matrix", lambda study: charts(read_matrix(study.record.parent)), with_entries=True)
