"""Scaling over ranks: measured points, perfect scaling, and both models, fitted to the points and drawn beyond them as what they are, projections."""

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

Spot = tuple[float, float]
Way = list[Spot]
"""In coordinates."""

TOUCHES = 0.05
"""What is not written of a coordinate."""

STYLES = {Algorithm.RING: 0, Algorithm.TREE: 1}
HEADINGS = ("ranks", "what", "value", "low", "high", "runs")
HOW = (
    "Dots are measured, with one standard deviation over the runs. Lines are the models fitted to them: whole where it was measured, dashed in the "
    "shaded part, where nothing was and the line is a projection."
)
BANDS = " Their bands hold with 95 % confidence."


@dataclass(frozen=True)
class Quantity:
    """What is drawn over the ranks: how a point and a projection say it, ``factor`` units of ``axis`` being one.

    ``most`` is where the axis ends for what is modelled; what was measured is always within. None: an axis over decades of time, without an end.
    ``of_model`` gives a value without bounds where the model has none. ``perfect`` says, in the axis's unit, what perfect scaling would be at a
    number of ranks, from one rank's value; None where there is no such thing.
    """

    name: str
    title: str
    about: str
    axis: str
    factor: float
    of_point: Callable[[PointFigures], Figure]
    of_model: Callable[[Projection], Interval | float]
    perfect: Callable[[Scaling, int, float], float] | None
    most: float | None

    def modelled(self, projection: Projection) -> Interval:
        """In the axis's unit; of no width where the model has no bounds."""
        said = self.of_model(projection)
        ends = (said.value, said.low, said.high) if isinstance(said, Interval) else (said, said, said)
        return Interval(*(number * self.factor for number in ends))

    def scale(self, values: Sequence[float]) -> Scale:
        """From bottom to top: times over decades, ratios from 0."""
        return logarithmic([value for value in values if value > 0], *UP) if self.most is None else linear([*values, 1.0], *UP)


STEP = Quantity(
    "scaling-step",
    "Time of a step over ranks",
    "The thin line is perfect scaling. " + HOW + BANDS,
    "milliseconds a step",
    1e3,
    lambda figures: figures.step_s,
    lambda projection: projection.step_s,
    lambda scaling, ranks, alone: alone / ranks if scaling is Scaling.STRONG else alone,
    None,
)
EFFICIENCY = Quantity(
    "scaling-efficiency",
    "Efficiency over ranks",
    "How much of n ranks' work arrives; the thin line is perfect scaling. " + HOW + BANDS,
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
    "The share of a step that is communication which no computing hides. " + HOW,
    "share of the step, %",
    100,
    lambda figures: figures.communication_share,
    lambda projection: projection.communication_share,
    None,
    100.0,
)
QUANTITIES = (STEP, EFFICIENCY, SHARE)


@dataclass(frozen=True)
class _Measured:
    """A point, and what of it is drawn, in the axis's unit; ``spread`` is one standard deviation, None where a single run has none."""

    point: StudyPoint
    value: float
    spread: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where the runs spread."""
        return self.value - (self.spread or 0.0), self.value + (self.spread or 0.0)

    @property
    def said(self) -> str:
        """The value in words."""
        return digits(self.value) + ("" if self.spread is None else f" ± {digits(self.spread, 2)}")


def draw(study: Study, quantity: Quantity, context: Context) -> Drawing | NotDrawn:
    """A quantity over the number of ranks (logarithmic), measured and modelled."""
    measured = [
        _Measured(point, figure.value * quantity.factor, None if figure.spread is None else figure.spread * quantity.factor)
        for point in study.points
        if (figure := quantity.of_point(point.figures)).value is not None
    ]
    if not measured:
        return NotDrawn(quantity.of_point(study.points[0].figures).reason or "no point was measured")
    fits = study.model.fits if study.model else ()
    chart = _plane(quantity, measured, fits)
    if study.model:
        _shade_projections(chart, study.model.most_measured)
    _draw_perfect(chart, study, quantity, measured)
    for fit in fits:
        _draw_fit(chart, fit, quantity)
    for one in measured:
        _draw_point(chart, one, context)
    named = [(f"c{STYLES[fit.algorithm]}", f"{fit.algorithm.value} allreduce, fitted") for fit in fits]
    legend(chart.canvas, [("c7", "measured"), *named], x=ACROSS[0] + 190)
    note = "" if study.model else f"No model is drawn: {study.model_reason}"
    rows = (*map(_measured_row, measured), *(row for fit in fits for row in _model_rows(fit, quantity)))
    return Drawing(chart.canvas.svg(), HEADINGS, rows, note)


def evidence(point: StudyPoint, context: Context) -> str:
    """The address of a point's first run."""
    return f"{context.root}runs/{plain(point.runs[0].run_id)}/index.html#time_to_epoch_s"


def _plane(quantity: Quantity, measured: Sequence[_Measured], fits: Sequence[AllreduceModel]) -> Plane:
    modelled = [(projection.ranks, quantity.modelled(projection).value) for fit in fits for projection in fit.projections]
    most = max([2, *(one.point.ranks for one in measured), *(ranks for ranks, _ in modelled)])
    x = Scale(tuple(float(2**power) for power in range((most - 1).bit_length() + 1)), *ACROSS, True)
    heights = [max(0.0, end) for one in measured for end in (*one.ends, one.value)]
    heights += [value if quantity.most is None else min(value, quantity.most) for _, value in modelled]
    y = quantity.scale(heights)
    return plane(quantity.title, quantity.about, x, y, ("ranks", quantity.axis))


def _shade_projections(chart: Plane, most_measured: int) -> None:
    x, right = chart.x.at(most_measured), ACROSS[1]
    if right - x > 1:
        chart.canvas.rect(x, UP[1], right - x, UP[0] - UP[1], "span")
        chart.canvas.text(right - 6, UP[1] + 16, "projection: nothing was measured here", "tick", "end")


def _draw_perfect(chart: Plane, study: Study, quantity: Quantity, measured: Sequence[_Measured]) -> None:
    alone = next((one.value for one in measured if one.point.ranks == 1), None)
    if quantity.perfect is None or study.plan.scaling is None or alone is None:
        return
    ends = [_at(chart, ranks, quantity.perfect(study.plan.scaling, int(ranks), alone)) for ranks in (chart.x.ticks[0], chart.x.ticks[-1])]
    chart.canvas.path(_inside(ends), "join")


def _draw_fit(chart: Plane, fit: AllreduceModel, quantity: Quantity) -> None:
    """A band from low to high, a line over the measured ranks, and from its end a dashed one."""
    style = STYLES[fit.algorithm]

    def way(projections: Sequence[Projection], end: Callable[[Interval], float]) -> Way:
        return [_at(chart, one.ranks, end(quantity.modelled(one))) for one in projections]

    inside = [projection for projection in fit.projections if projection.is_measured]
    beyond = [*inside[-1:], *(projection for projection in fit.projections if not projection.is_measured)]
    upper, lower = way(fit.projections, lambda one: one.high), way(fit.projections, lambda one: one.low)
    if upper != lower:
        chart.canvas.path([*_cut_off(upper), *reversed(_cut_off(lower))], f"c{style} area", closed=True)
    for part, dashes in ((inside, ""), (beyond, " projected")):
        if len(drawn := _inside(way(part, lambda one: one.value))) > 1:
            chart.canvas.path(drawn, f"l{style} curve{dashes}")


def _at(chart: Plane, ranks: float, value: float) -> Spot:
    """Coordinates, also of what lies below an axis over decades, which ends above nothing."""
    x, y = chart.at(ranks, value)
    low, high = chart.y.ticks[0], chart.y.ticks[-1]
    if chart.y.logarithmic and value < low:
        y = UP[0] + (UP[1] - UP[0]) * math.log(max(value, low * 1e-9) / low) / math.log(high / low)
    return x, y


def _with_crossings(way: Way) -> Way:
    """The way with a point more wherever it crosses the top or the bottom of the plane."""
    found = list(way[:1])
    for (x, y), (next_x, next_y) in itertools.pairwise(way):
        crossed = sorted((edge - y) / (next_y - y) for edge in UP if min(y, next_y) < edge < max(y, next_y))
        found += [*((x + share * (next_x - x), y + share * (next_y - y)) for share in crossed), (next_x, next_y)]
    return found


def _inside(way: Way) -> Way:
    """What of a way lies in the plane."""
    return [(x, y) for x, y in _with_crossings(way) if UP[1] - TOUCHES <= y <= UP[0] + TOUCHES]


def _cut_off(way: Way) -> Way:
    """A way that runs along the edges of the plane where it lies beyond them."""
    return [(x, max(UP[1], min(y, UP[0]))) for x, y in _with_crossings(way)]


def _draw_point(chart: Plane, one: _Measured, context: Context) -> None:
    ranks = one.point.ranks
    if one.spread is not None:
        way = _cut_off([_at(chart, ranks, end) for end in one.ends])
        chart.canvas.line(*way[0], *way[-1], "l7 curve")
    with chart.canvas.link(evidence(one.point, context), f"{ranks} ranks"):
        chart.canvas.dot(*chart.at(ranks, one.value), "c7", f"{ranks} ranks, measured: {one.said}")


def _measured_row(one: _Measured) -> tuple[str, ...]:
    what, ends = ("measured", ("", "")) if one.spread is None else ("measured, ± standard deviation", tuple(map(digits, one.ends)))
    return str(one.point.ranks), what, digits(one.value), *ends, str(len(one.point.runs))


def _model_rows(fit: AllreduceModel, quantity: Quantity) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for projection in fit.projections:
        said = quantity.modelled(projection)
        bounds = (digits(said.low), digits(said.high)) if isinstance(quantity.of_model(projection), Interval) else ("", "")
        what = f"{fit.algorithm.value}, {'fitted' if projection.is_measured else 'projection'}"
        rows.append((str(projection.ranks), f"{what}, 95 %" if bounds[0] else what, digits(said.value), *bounds, ""))
    return rows
