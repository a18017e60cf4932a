"""Power and load of a run over time, with its epochs marked."""

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from reporter.data.frames import Row
from reporter.data.text import significant
from reporter.data.timeline import Timeline, TimeSeries
from reporter.data.timeline import TimelineSpan as TimeSpan
from reporter.figures.chart import Caption, Described
from reporter.figures.model import (
    Estimate,
    LegendEntry,
    Line,
    Missing,
    Plane,
    Plot,
    Span,
    line_through,
)
from reporter.figures.scales import Scale, linear_scale, linear_scale_without_zero

GAP = 4.0
"""Readings further apart than GAP times the median distance are not connected."""


def described(timeline: Timeline, baseload_w: float | None) -> tuple[Described, Described]:
    """Power and load of a run; ``baseload_w`` is that of its idle machine."""
    return (
        (
            Caption(
                "power-time",
                "Power over time",
                "Watts. Line: mean, band: lowest to highest reading per interval; dashed: baseload."
                " Shaded columns are epochs, with evaluations between them.",
            ),
            lambda _: _power(timeline, baseload_w),
        ),
        (
            Caption(
                "load-time",
                "Load over time",
                "Utilisation of CPU and GPU in percent (load, not power). Shaded columns are"
                " epochs, with evaluations between them.",
            ),
            lambda _: _load(timeline),
        ),
    )


def _power(timeline: Timeline, baseload_w: float | None) -> Plot | Missing:
    """Watts against seconds since run_start: mean and range of the readings per interval; the
    dashed line is the baseload."""
    if not timeline.power:
        return Missing("no power sensor was read")
    x = _axis(timeline.power, timeline.spans)
    y = linear_scale(
        [*(value for line in timeline.power for value in line.high), baseload_w or 0.0]
    )
    lines, names = list[Line](), list[LegendEntry]()
    if baseload_w is not None:
        ends, text = (x.ticks[0], x.ticks[-1]), f"{significant(baseload_w)} W"
        lines.append(
            line_through([(end, baseload_w) for end in ends], "front", f"baseload: {text}")
        )
        names.append(LegendEntry("idle", f"baseload {text}"))
    return _figure("watts", timeline.power, timeline.spans, (x, y), lines, names)


def _load(timeline: Timeline) -> Plot | Missing:
    """CPU and GPU utilisation, percent, against seconds since run_start."""
    if not timeline.load:
        return Missing("neither CPU nor GPU utilisation was read")
    scales = _axis(timeline.load, timeline.spans), linear_scale([100.0])
    return _figure("utilisation, %", timeline.load, timeline.spans, scales)


def epochs_accuracy(epochs: Sequence[Row]) -> Described:
    """The accuracy of a run's evaluations, percent, against its epochs."""
    caption = Caption(
        "accuracy-epochs", "Accuracy by epoch", "Percent of test samples correct, after each epoch."
    )
    found = [
        (float(epoch["epoch"]), 100 * float(epoch["eval_accuracy"]))
        for epoch in epochs
        if epoch["eval_accuracy"] is not None
    ]
    return caption, lambda _: _accuracy(found)


def _accuracy(found: Sequence[tuple[float, float]]) -> Plot | Missing:
    if len(found) < 2:
        return Missing("the run has fewer than two evaluations")
    numbers, values = zip(*found, strict=True)
    line = line_through(found, "l0 curve", "accuracy")
    panel = Plane(
        "epoch",
        "accuracy, %",
        linear_scale_without_zero(numbers, about=min(6, max(1, round(numbers[-1] - numbers[0])))),
        linear_scale_without_zero(values),
        (line,),
    )
    rows = tuple((f"{number:g}", f"{value:.2f}") for number, value in found)
    return Plot((panel,), ("epoch", "accuracy, %"), rows)


def _axis(series: Sequence[TimeSeries], spans: Sequence[TimeSpan]) -> Scale:
    times_s = [
        0.0,
        *(end for line in series for end in (line.t_s[0], line.t_s[-1])),
        *(end for span in spans for end in (span.start_s, span.stop_s)),
    ]
    return linear_scale_without_zero(times_s, 9)


def _figure(
    axis: str,
    series: Sequence[TimeSeries],
    spans: Sequence[TimeSpan],
    scales: tuple[Scale, Scale],
    lines: Sequence[Line] = (),
    names: Sequence[LegendEntry] = (),
) -> Plot:
    """Time series with epochs and more lines; ``axis`` is the title of the vertical axis."""
    drawn = [line for index, one in enumerate(series) for line in _lines(one, index)]
    of_series = [LegendEntry(f"c{index}", one.name) for index, one in enumerate(series)]
    panel = Plane(
        "seconds since run_start",
        axis,
        *scales,
        (*drawn, *lines),
        legend=(*of_series, *names),
        spans=tuple(_epoch(span) for span in spans if span.is_epoch),
    )
    rows = list[tuple[str, ...]]()
    for span in spans:
        for line in series:
            ends = bisect_left(line.t_s, span.start_s), bisect_right(line.t_s, span.stop_s)
            rows.append(_row(span.name, line, *ends, len(series)))
    unit = series[0].unit
    headings = ("when", "points", f"lowest, {unit}", f"mean, {unit}", f"highest, {unit}")
    return Plot((panel,), headings, tuple(rows))


def _epoch(span: TimeSpan) -> Span:
    tip = f"{span.name}: {significant(span.stop_s - span.start_s)} s"
    return Span(span.start_s, span.stop_s, span.name, tip)


def _lines(series: TimeSeries, index: int) -> Iterator[Line]:
    """The connected pieces of a series; their bands go from the lowest to the highest reading."""
    has_range = any(low < high for low, high in zip(series.low, series.high, strict=True))
    points = [
        (t_s, Estimate(mean, low, high) if has_range else Estimate(mean))
        for t_s, mean, low, high in zip(
            series.t_s, series.mean, series.low, series.high, strict=True
        )
    ]
    distances = [after - before for before, after in pairwise(series.t_s)]
    max_distance = GAP * statistics.median(distances) if distances else 0.0
    breaks = [place for place, distance in enumerate(distances, start=1) if distance > max_distance]
    for first, last in pairwise([0, *breaks, len(points)]):
        yield Line(tuple(points[first:last]), f"l{index} curve", is_band=has_range)


def _row(when: str, line: TimeSeries, first: int, last: int, lines: int) -> tuple[str, ...]:
    name = when if lines == 1 else f"{when}, {line.name}"
    if first >= last:
        return name, "0", *["no reading"] * 3
    mean = statistics.fmean(line.mean[first:last])
    return (
        name,
        str(last - first),
        significant(min(line.low[first:last])),
        significant(mean),
        significant(max(line.high[first:last])),
    )
