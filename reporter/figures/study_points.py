"""The charts of a matrix and of a sweep: throughput of every point, and the mean step by part. A
LINPACK study has no charts: its numbers are a table of a few rows."""

from collections.abc import Iterable
from dataclasses import dataclass

from reporter.data.text import one_line, significant
from reporter.figures import sweep_scaling
from reporter.figures.adaptation import trained_parts_chart
from reporter.figures.chart import Chart, Context, StudyCharts
from reporter.figures.model import Estimate, LegendEntry, Marks, Missing, Plot, PlotRow, Rows
from reporter.figures.scales import UNITS, linear_scale, scale_in_units
from suite.metrics.figure import Figure as Measured
from suite.metrics.matrix_record import Matrix, MatrixFigures, read_matrix, setting_words
from suite.metrics.study import Study, read_study

MAX_POINTS = 40
SPREAD = "line: ± one standard deviation. Warm-up steps are excluded."
PARTS = (
    LegendEntry("p0", "fetch stall"),
    LegendEntry("p2", "compute"),
    LegendEntry("p3", "the rest"),
)


@dataclass(frozen=True)
class _Point:
    """A point of a study: its name in the table, its row's label, the page of its first run, and
    its throughput."""

    name: str
    label: str
    link: str
    rate: Measured

    @property
    def value(self) -> float:
        """Samples per second; 0 where that is unknown."""
        return self.rate.value or 0.0


def of_matrix(matrix: Matrix) -> tuple[Chart, ...]:
    """The charts of one matrix."""
    heading = ", ".join(map(setting_words, matrix.plan.variables))
    every = len(matrix.points)
    return (
        Chart(
            "matrix-throughput",
            "Throughput of every point",
            f"Samples per second, mean over the runs of a point; {SPREAD}",
            lambda _, context: _throughput(heading, _fastest(matrix, context).values(), every),
        ),
        Chart(
            "matrix-step",
            "Mean step by part",
            "Waiting for a mini-batch, compute, and the rest (host-to-device copy, communication),"
            " mean over the runs of a point. Number: time of a step. Warm-up steps are excluded.",
            lambda _, context: _steps(heading, matrix, context),
        ),
        *((trained_parts_chart(),) if "trains" in matrix.plan.variables else ()),
    )


def of_sweep(study: Study) -> tuple[Chart, ...]:
    """The charts of one sweep: throughput by value, or scaling charts if it varies nodes."""
    if study.plan.scaling is not None:
        return sweep_scaling.charts(study)
    varied = study.plan.varied

    def describe(_: object, context: Context) -> Plot | Missing:
        points = (
            _Point(
                point.value,
                f"{varied} {point.value}",
                sweep_scaling.evidence(point, context),
                point.figures.samples_per_s,
            )
            for point in study.points
        )
        return _throughput(varied, points, len(study.points))

    about = f"Samples per second, mean over the runs at each value; {SPREAD}"
    return (Chart("sweep-throughput", f"Throughput over {varied}", about, describe),)


def _throughput(heading: str, points: Iterable[_Point], every: int) -> Plot | Missing:
    """A bar per point, samples per second, in the plan's order, and a note where they are not
    ``every`` one."""
    rows, table = list[PlotRow](), list[tuple[str, ...]]()
    for point in points:
        if point.rate.value is not None:
            spread, value = point.rate.spread or None, significant(point.value)
            written = significant(spread, 2) if spread else "unknown"
            text = f"{value} ± {written}" if spread else value
            bar, tip = Estimate.around(point.value, spread), f"{point.name}: {text} samples/s"
            rows.append(PlotRow(point.label, (bar,), link=point.link, texts=(text,), tips=(tip,)))
            table.append((point.name, value, written, str(point.rate.count)))
    if not rows:
        return Missing("no run has a known throughput")
    scale = linear_scale([row.values[0].ends[1] for row in rows])
    headings = (heading, "samples per second", "standard deviation", "runs")
    panel, note = Rows("samples per second", scale, tuple(rows)), _note(len(rows), every)
    return Plot((panel,), headings, tuple(table), note)


def _steps(heading: str, matrix: Matrix, context: Context) -> Plot | Missing:
    """A stacked bar per point, in the plan's order; of many points, the fastest."""
    points = _fastest(matrix, context)
    if not points:
        return Missing("no run has a known throughput")
    parts = {point.name: _parts(point.figures) for point in matrix.points if point.name in points}
    rows = tuple(
        PlotRow(point.label, tuple(map(Estimate, parts[name])), link=point.link)
        for name, point in points.items()
    )
    scale = scale_in_units([row.total for row in rows], "s", linear_scale)
    axis = f"{UNITS.get(scale.unit, scale.unit)} per step"
    table = tuple(
        (point.name, *map(significant, parts[name]), significant(sum(parts[name])))
        for name, point in points.items()
    )
    headings = (heading, *(f"{part.name}, s" for part in PARTS), "step, s")
    panel = Rows(axis, scale, rows, PARTS, Marks.STACKED, "s")
    return Plot((panel,), headings, table, _note(len(rows), len(matrix.points)))


def _note(shown: int, every: int) -> str:
    if shown == every:
        return ""
    return f"{shown} of {every} points are drawn: the fastest ones whose throughput is known."


def _fastest(matrix: Matrix, context: Context) -> dict[str, _Point]:
    """The points whose throughput is known, by name, in their order; of more than MAX_POINTS, the
    fastest."""
    words = {plan.name: one_line(plan.words) for plan in matrix.plan.points}
    points = {
        point.name: _Point(
            words[point.name],
            words[point.name].replace(", ", " · "),
            f"{context.root}runs/{point.runs[0].run_id}/index.html",
            point.figures.samples_per_s,
        )
        for point in matrix.points
        if point.figures.samples_per_s.value is not None
    }
    fastest = sorted(points, key=lambda name: -points[name].value)[:MAX_POINTS]
    return {name: point for name, point in points.items() if name in fastest}


def _parts(figures: MatrixFigures) -> tuple[float, float, float]:
    whole, fetch, compute = (
        figure.value or 0.0
        for figure in (figures.step_s, figures.step_fetch_stall_s, figures.step_compute_s)
    )
    return fetch, compute, max(0.0, whole - fetch - compute)


STUDY_CHARTS = (
    StudyCharts("linpack", lambda _: (), with_entries=False),
    StudyCharts("matrix", lambda study: of_matrix(read_matrix(study.record.parent)), True),
    StudyCharts("sweep", lambda study: of_sweep(read_study(study.record.parent)), True),
)
