"""Charts of a scaling sweep over ranks: measured points, perfect scaling, and two fitted models
with projections."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reporter.data.text import digits, plain
from reporter.figures.chart import Context, Drawing, NotDrawn, legend
from reporter.figures.plane import ACROSS, UP, Plane, plane
from reporter.figures.svg import Scale, linear, logarithmic
from suite.metrics.figure import Figure
from suite.metrics.linear_fit import Interval
from suite.metrics.scaling_model import Algorithm, AllreduceModel, Projection, Scaling
from suite.metrics.study import PointFigures, Study, StudyPoint

Point = tuple[float, float]
Path = list[Point]
"""In coordinates."""

ROUNDING = 0.05
"""Coordinates are rounded to one decimal."""

STYLES = {Algorithm.RING: 0, Algorithm.TREE: 1}
HEADINGS = ("ranks", "series", "value", "low", "high", "runs")
HOW = (
    "Dots: measured, with one standard deviation over runs. Lines: models fitted to the dots;"
    " dashed in the shaded range, which was not measured: projection."
)
BANDS = " Bands: 95 % confidence."


@dataclass(frozen=True)
class Quantity:
    """A quantity against the number of ranks: value * ``factor`` in the unit of ``axis``.

    ``max_modelled`` limits the axis for modelled values (measured values always fit); None: a
    logarithmic axis without a limit. ``of_model`` returns a number instead of an interval where the
    model has no bounds. ``perfect`` is perfect scaling, in the axis's unit, from (scaling, ranks,
    value of one rank); None if it is not defined.
    """

    name: str
    title: str
    about: str
    axis: str
    factor: float
    of_point: Callable[[PointFigures], Figure]
    of_model: Callable[[Projection], Interval | float]
    perfect: Callable[[Scaling, int, float], float] | None
    max_modelled: float | None

    def modelled(self, projection: Projection) -> Interval:
        """The model's interval in the axis's unit; of zero width if the model has no bounds."""
        modelled = self.of_model(projection)
        ends = (
            (modelled.value, modelled.low, modelled.high)
            if isinstance(modelled, Interval)
            else (modelled, modelled, modelled)
        )
        return Interval(*(number * self.factor for number in ends))

    def scale(self, values: Sequence[float]) -> Scale:
        """The vertical scale: logarithmic for times, from 0 for ratios."""
        return (
            logarithmic([value for value in values if value > 0], *UP)
            if self.max_modelled is None
            else linear([*values, 1.0], *UP)
        )


STEP = Quantity(
    "scaling-step",
    "Time of a step over ranks",
    "Mean step in milliseconds; thin line: perfect scaling. " + HOW + BANDS,
    "milliseconds per step",
    1e3,
    lambda figures: figures.step_s,
    lambda projection: projection.step_s,
    lambda scaling, ranks, alone: alone / ranks if scaling is Scaling.STRONG else alone,
    None,
)
EFFICIENCY = Quantity(
    "scaling-efficiency",
    "Efficiency over ranks",
    "Parallel efficiency; thin line: perfect scaling. " + HOW + BANDS,
    "efficiency, %",
    100,
    lambda figures: figures.efficiency,
    lambda projection: projection.efficiency,
    lambda scaling, ranks, alone: 100.0,
    120.0,
)
SHARE = Quantity(
    "scaling-communication",
    "Communication over ranks",
    "Exposed (non-overlapped) communication as a share of the step. " + HOW,
    "share of the step, %",
    100,
    lambda figures: figures.exchange_share,
    lambda projection: projection.exchange_share,
    None,
    100.0,
)
QUANTITIES = (STEP, EFFICIENCY, SHARE)


@dataclass(frozen=True)
class _Measured:
    """A point with its value in the axis's unit; ``spread`` is one standard deviation, None for a
    single run."""

    point: StudyPoint
    value: float
    spread: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """The value ± one standard deviation."""
        return self.value - (self.spread or 0.0), self.value + (self.spread or 0.0)

    @property
    def label(self) -> str:
        """The value with its spread as text."""
        return digits(self.value) + ("" if self.spread is None else f" ± {digits(self.spread, 2)}")


def draw(study: Study, quantity: Quantity, context: Context) -> Drawing | NotDrawn:
    """A quantity, measured and modelled, against the number of ranks (logarithmic)."""
    measured = [
        _Measured(
            point,
            figure.value * quantity.factor,
            None if figure.spread is None else figure.spread * quantity.factor,
        )
        for point in study.points
        if (figure := quantity.of_point(point.figures)).value is not None
    ]
    if not measured:
        return NotDrawn(
            quantity.of_point(study.points[0].figures).reason or "no point was measured"
        )
    fits = study.model.fits if study.model else ()
    chart = _plane(quantity, measured, fits)
    if study.model:
        _shade_projections(chart, study.model.most_measured)
    _draw_perfect(chart, study, quantity, measured)
    for fit in fits:
        _draw_fit(chart, fit, quantity)
    for one in measured:
        _draw_point(chart, one, context)
    named = [
        (f"c{STYLES[fit.algorithm]}", f"{fit.algorithm.value} all-reduce, fitted") for fit in fits
    ]
    legend(chart.canvas, [("c7", "measured"), *named], x=ACROSS[0] + 190)
    note = "" if study.model else f"No model: {study.model_reason}"
    rows = (
        *map(_measured_row, measured),
        *(row for fit in fits for row in _model_rows(fit, quantity)),
    )
    return Drawing(chart.canvas, HEADINGS, rows, note)


def evidence(point: StudyPoint, context: Context) -> str:
    """The relative address of the page of a point's first run."""
    return f"{context.root}runs/{plain(point.runs[0].run_id)}/index.html#time_to_epoch_s"


def _plane(
    quantity: Quantity, measured: Sequence[_Measured], fits: Sequence[AllreduceModel]
) -> Plane:
    modelled = [
        (projection.ranks, quantity.modelled(projection).value)
        for fit in fits
        for projection in fit.projections
    ]
    max_ranks = max([2, *(one.point.ranks for one in measured), *(ranks for ranks, _ in modelled)])
    x = Scale(
        tuple(float(2**power) for power in range((max_ranks - 1).bit_length() + 1)), *ACROSS, True
    )
    heights = [max(0.0, end) for one in measured for end in (*one.ends, one.value)]
    heights += [
        value if quantity.max_modelled is None else min(value, quantity.max_modelled)
        for _, value in modelled
    ]
    y = quantity.scale(heights)
    return plane(quantity.title, quantity.about, x, y, ("ranks", quantity.axis))


def _shade_projections(chart: Plane, max_measured: int) -> None:
    x, right = chart.x.at(max_measured), ACROSS[1]
    if right - x > 1:
        chart.canvas.rect(x, UP[1], right - x, UP[0] - UP[1], "span")
        chart.canvas.text(right - 6, UP[1] + 16, "projection (not measured)", "tick", "end")


def _draw_perfect(
    chart: Plane, study: Study, quantity: Quantity, measured: Sequence[_Measured]
) -> None:
    alone = next((one.value for one in measured if one.point.ranks == 1), None)
    if quantity.perfect is None or study.plan.scaling is None or alone is None:
        return
    ends = [
        _at(chart, ranks, quantity.perfect(study.plan.scaling, int(ranks), alone))
        for ranks in (chart.x.ticks[0], chart.x.ticks[-1])
    ]
    chart.canvas.path(_inside(ends), "join")


def _draw_fit(chart: Plane, fit: AllreduceModel, quantity: Quantity) -> None:
    """Draws the confidence band, a line over the measured ranks, and a dashed line beyond them."""
    style = STYLES[fit.algorithm]

    def path(projections: Sequence[Projection], end: Callable[[Interval], float]) -> Path:
        return [_at(chart, one.ranks, end(quantity.modelled(one))) for one in projections]

    inside = [projection for projection in fit.projections if projection.is_measured]
    beyond = [
        *inside[-1:],
        *(projection for projection in fit.projections if not projection.is_measured),
    ]
    upper, lower = (
        path(fit.projections, lambda one: one.high),
        path(fit.projections, lambda one: one.low),
    )
    if upper != lower:
        chart.canvas.path(
            [*_clamped(upper), *reversed(_clamped(lower))], f"c{style} area", closed=True
        )
    for part, dashes in ((inside, ""), (beyond, " projected")):
        if len(drawn := _inside(path(part, lambda one: one.value))) > 1:
            chart.canvas.path(drawn, f"l{style} curve{dashes}")


def _at(chart: Plane, ranks: float, value: float) -> Point:
    """Coordinates of a point, also below the end of a logarithmic axis, where the scale itself
    would clip."""
    x, y = chart.at(ranks, value)
    low, high = chart.y.ticks[0], chart.y.ticks[-1]
    if chart.y.logarithmic and value < low:
        y = UP[0] + (UP[1] - UP[0]) * math.log(max(value, low * 1e-9) / low) / math.log(high / low)
    return x, y


def _with_crossings(path: Path) -> Path:
    """The path with additional points where it crosses the top or the bottom edge of the chart."""
    found = list(path[:1])
    for (x, y), (next_x, next_y) in itertools.pairwise(path):
        crossed = sorted(
            (edge - y) / (next_y - y) for edge in UP if min(y, next_y) < edge < max(y, next_y)
        )
        found += [
            *((x + share * (next_x - x), y + share * (next_y - y)) for share in crossed),
            (next_x, next_y),
        ]
    return found


def _inside(path: Path) -> Path:
    """The points of a path that lie in the chart."""
    return [(x, y) for x, y in _with_crossings(path) if UP[1] - ROUNDING <= y <= UP[0] + ROUNDING]


def _clamped(path: Path) -> Path:
    """The path clamped to the top and bottom edges of the chart."""
    return [(x, max(UP[1], min(y, UP[0]))) for x, y in _with_crossings(path)]


def _draw_point(chart: Plane, one: _Measured, context: Context) -> None:
    ranks = one.point.ranks
    if one.spread is not None:
        path = _clamped([_at(chart, ranks, end) for end in one.ends])
        chart.canvas.line(*path[0], *path[-1], "l7 curve")
    with chart.canvas.link(evidence(one.point, context), f"{ranks} ranks"):
        chart.canvas.dot(*chart.at(ranks, one.value), "c7", f"{ranks} ranks, measured: {one.label}")


def _measured_row(one: _Measured) -> tuple[str, ...]:
    what, ends = (
        ("measured", ("", ""))
        if one.spread is None
        else ("measured, ± standard deviation", tuple(map(digits, one.ends)))
    )
    return str(one.point.ranks), what, digits(one.value), *ends, str(len(one.point.runs))


def _model_rows(fit: AllreduceModel, quantity: Quantity) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for projection in fit.projections:
        modelled = quantity.modelled(projection)
        bounds = (
            (digits(modelled.low), digits(modelled.high))
            if isinstance(quantity.of_model(projection), Interval)
            else ("", "")
        )
        what = f"{fit.algorithm.value}, {'fitted' if projection.is_measured else 'projection'}"
        rows.append(
            (
                str(projection.ranks),
                f"{what}, 95 %" if bounds[0] else what,
                digits(modelled.value),
                *bounds,
                "",
            )
        )
    return rows
