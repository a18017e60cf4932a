"""Charts of a scaling sweep over ranks: measured points, perfect scaling, and two fitted models
with projections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import one_line, significant
from reporter.figures.chart import Chart, Context
from reporter.figures.model import (
    Dot,
    Estimate,
    LegendEntry,
    Line,
    Missing,
    Plane,
    Plot,
    Span,
    line_through,
)
from reporter.figures.scales import Scale, linear_scale, logarithmic_scale
from suite.metrics.figure import Figure as Measured
from suite.metrics.linear_fit import FittedValue
from suite.metrics.scaling_model import Algorithm, AllreduceModel, Scaling, ScalingProjection
from suite.metrics.study import PointFigures, Study, StudyPoint

STYLES = {Algorithm.RING: 0, Algorithm.TREE: 1}
HEADINGS = ("ranks", "series", "value", "low", "high", "runs")
HOW = (
    "Dots: measured, with one standard deviation over runs. Lines: models fitted to the dots;"
    " dashed: projection to the shaded range, which was not measured."
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
    of_point: Callable[[PointFigures], Measured]
    of_model: Callable[[ScalingProjection], FittedValue | float]
    perfect: Callable[[Scaling, int, float], float] | None
    max_modelled: float | None

    def modelled(self, projection: ScalingProjection) -> Estimate:
        """The model's value in the axis's unit; without ends if the model has no bounds."""
        modelled = self.of_model(projection)
        found = (
            Estimate(modelled.value, modelled.low, modelled.high)
            if isinstance(modelled, FittedValue)
            else Estimate(modelled)
        )
        return found.times(self.factor)

    def scale(self, values: Sequence[float]) -> Scale:
        """The vertical scale: logarithmic for times, from 0 for ratios."""
        return (
            logarithmic_scale([value for value in values if value > 0])
            if self.max_modelled is None
            else linear_scale([*values, 1.0])
        )


STEP = Quantity(
    "scaling-step",
    "Time of a step by number of ranks",
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
    "Efficiency by number of ranks",
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
    "Communication by number of ranks",
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
class _Seen:
    """A point with its value in the axis's unit; ``spread`` is one standard deviation, None for a
    single run."""

    point: StudyPoint
    value: float
    spread: float | None

    @property
    def estimate(self) -> Estimate:
        """The value ± one standard deviation."""
        return Estimate.around(self.value, self.spread)


def charts(study: Study) -> tuple[Chart, ...]:
    """The charts of one sweep over nodes."""
    scaling = study.plan.scaling
    assert scaling is not None
    return tuple(
        Chart(
            quantity.name,
            f"{quantity.title} ({scaling.value} scaling)",
            quantity.about,
            partial(_describe, study, quantity),
        )
        for quantity in QUANTITIES
    )


def _describe(study: Study, quantity: Quantity, _: Frames, context: Context) -> Plot | Missing:
    """A quantity, measured and modelled, against the number of ranks (logarithmic)."""
    seen = _measured_points(study, quantity)
    if not seen:
        return Missing(quantity.of_point(study.points[0].figures).reason or "no point was measured")
    fits = study.model.fits if study.model else ()
    modelled = [(one, quantity.modelled(one)) for fit in fits for one in fit.projections]
    ranks = [2, *(one.point.ranks for one in seen), *(one.ranks for one, _ in modelled)]
    x = Scale(tuple(2.0**power for power in range((max(ranks) - 1).bit_length() + 1)), True)
    limit = float("inf") if quantity.max_modelled is None else quantity.max_modelled
    heights = [max(0.0, end) for one in seen for end in one.estimate.ends]
    heights += [one.value for one in seen]
    heights += [min(value.value, limit) for _, value in modelled]
    fitted = (
        LegendEntry(f"c{STYLES[fit.algorithm]}", f"{fit.algorithm.value} all-reduce, fitted")
        for fit in fits
    )
    panel = Plane(
        "ranks",
        quantity.axis,
        x,
        quantity.scale(heights),
        (
            *_perfect(study, quantity, seen, x),
            *(each for fit in fits for each in _fit(fit, quantity)),
        ),
        tuple(_dot(one, context) for one in seen),
        (LegendEntry("c7", "measured"), *fitted),
    )
    if study.model:
        beyond = Span(study.model.most_measured, x.ticks[-1], "projection (not measured)")
        panel = replace(panel, spans=(beyond,))
    rows = (*map(_row, seen), *(row for fit in fits for row in _model_rows(fit, quantity)))
    note = "" if study.model else f"No model: {study.model_reason}"
    return Plot((panel,), HEADINGS, rows, note)


def _measured_points(study: Study, quantity: Quantity) -> list[_Seen]:
    """The points that have the quantity."""
    found = [(point, quantity.of_point(point.figures)) for point in study.points]
    return [
        _Seen(
            point,
            figure.value * quantity.factor,
            None if figure.spread is None else figure.spread * quantity.factor,
        )
        for point, figure in found
        if figure.value is not None
    ]


def evidence(point: StudyPoint, context: Context) -> str:
    """The relative address of the page of a point's first run."""
    return f"{context.root}runs/{one_line(point.runs[0].run_id)}/index.html#time_to_epoch_s"


def _perfect(study: Study, quantity: Quantity, seen: Sequence[_Seen], x: Scale) -> list[Line]:
    alone = next((one.value for one in seen if one.point.ranks == 1), None)
    if quantity.perfect is None or study.plan.scaling is None or alone is None:
        return []
    ends = (x.ticks[0], x.ticks[-1])
    perfect = quantity.perfect
    return [line_through([(n, perfect(study.plan.scaling, int(n), alone)) for n in ends], "join")]


def _fit(fit: AllreduceModel, quantity: Quantity) -> list[Line]:
    """The confidence band, a line over the measured ranks, and a dashed line beyond them."""
    style = f"l{STYLES[fit.algorithm]} curve"
    points = [(float(one.ranks), quantity.modelled(one)) for one in fit.projections]
    count = sum(one.is_measured for one in fit.projections)
    lines = (
        Line(tuple(points[:count]), style, is_band=True),
        Line(tuple(points[max(count - 1, 0) :]), f"{style} projected", is_band=True),
    )
    return [line for line in lines if len(line.points) > 1]


def _dot(one: _Seen, context: Context) -> Dot:
    ranks, text = one.point.ranks, significant(one.value)
    text += "" if one.spread is None else f" ± {significant(one.spread, 2)}"
    return Dot(
        Estimate(ranks),
        one.estimate,
        "c7",
        tip=f"{ranks} ranks, measured: {text}",
        link=evidence(one.point, context),
        name=f"{ranks} ranks",
    )


def _row(one: _Seen) -> tuple[str, ...]:
    what = "measured" if one.spread is None else "measured, ± standard deviation"
    runs = str(len(one.point.runs))
    return str(one.point.ranks), what, significant(one.value), *_bounds(one.estimate), runs


def _model_rows(fit: AllreduceModel, quantity: Quantity) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for projection in fit.projections:
        modelled = quantity.modelled(projection)
        bounds = _bounds(modelled)
        what = f"{fit.algorithm.value}, {'fitted' if projection.is_measured else 'projection'}"
        what += ", 95 %" if bounds[0] else ""
        rows.append((str(projection.ranks), what, significant(modelled.value), *bounds, ""))
    return rows


def _bounds(one: Estimate) -> tuple[str, str]:
    return (
        ("", "")
        if one.low is None or one.high is None
        else (significant(one.low), significant(one.high))
    )
