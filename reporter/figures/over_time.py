"""Power and load of a run over time, with its epochs marked."""

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from reporter.data.text import digits
from reporter.data.timeline import Span, Timeline, TimeSeries
from reporter.figures.chart import Caption, Drawing, NotDrawn, legend
from reporter.figures.plane import ACROSS, HEIGHT, TOP, UP, Plane, plane
from reporter.figures.plane import BOTTOM as BELOW
from reporter.figures.svg import Scale, close, linear

GAP = 4.0
"""Readings further apart than GAP times the median distance are not connected."""


POWER = Caption(
    "power-time",
    "Power over time",
    "Watts. Line: mean, band: lowest to highest reading per interval; dashed: baseload. Shaded"
    " columns are epochs, with evaluations between them.",
)
LOAD = Caption(
    "load-time",
    "Load over time",
    "Utilisation of CPU and GPU in percent (load, not power). Shaded columns are epochs, with"
    " evaluations between them.",
)


def draw_power(timeline: Timeline, baseload_w: float | None) -> Drawing | NotDrawn:
    """Watts against seconds since run_start: mean and range of the readings per interval; the
    dashed line is the baseload."""
    if not timeline.power:
        return NotDrawn("no power sensor was read")
    y = linear([*(value for line in timeline.power for value in line.high), baseload_w or 0.0], *UP)
    drawn = _plane(POWER, "watts", timeline.power, timeline.spans, y)
    names = _names(timeline.power)
    if baseload_w is not None:
        ends = [drawn.at(drawn.x.ticks[0], baseload_w), drawn.at(drawn.x.ticks[-1], baseload_w)]
        drawn.canvas.path(ends, "front", tip=f"baseload: {digits(baseload_w)} W")
        names.append(("idle", f"baseload {digits(baseload_w)} W"))
    legend(drawn.canvas, names, 300)
    return _with_table(drawn, timeline.power, timeline.spans)


def draw_load(timeline: Timeline) -> Drawing | NotDrawn:
    """CPU and GPU utilisation, percent, against seconds since run_start."""
    if not timeline.load:
        return NotDrawn("neither CPU nor GPU utilisation was read")
    drawn = _plane(LOAD, "utilisation, %", timeline.load, timeline.spans, linear([100.0], *UP))
    legend(drawn.canvas, _names(timeline.load), 300)
    return _with_table(drawn, timeline.load, timeline.spans)


def _plane(
    caption: Caption, axis: str, lines: Sequence[TimeSeries], spans: Sequence[Span], y: Scale
) -> Plane:
    """A chart with epochs and time series; ``axis`` is the title of the vertical axis."""
    times = [
        0.0,
        *(end for line in lines for end in (line.t_s[0], line.t_s[-1])),
        *(end for span in spans for end in (span.start_s, span.stop_s)),
    ]
    drawn = plane(
        caption.title, caption.about, close(times, *ACROSS, 9), y, ("seconds since run_start", axis)
    )
    _mark_epochs(drawn, spans)
    for index, line in enumerate(lines):
        _line(drawn, line, index)
    return drawn


def _names(lines: Sequence[TimeSeries]) -> list[tuple[str, str]]:
    return [(f"c{index}", line.name) for index, line in enumerate(lines)]


def _with_table(drawn: Plane, lines: Sequence[TimeSeries], spans: Sequence[Span]) -> Drawing:
    whole = [_row("whole run", line, 0, len(line.t_s), len(lines)) for line in lines]
    of_spans = [
        _row(
            span.name,
            line,
            bisect_left(line.t_s, span.start_s),
            bisect_right(line.t_s, span.stop_s),
            len(lines),
        )
        for span in spans
        for line in lines
    ]
    unit = lines[0].unit
    headings = ("when", "points", f"lowest, {unit}", f"mean, {unit}", f"highest, {unit}")
    return Drawing(drawn.canvas, headings, (*whole, *of_spans))


def _mark_epochs(drawn: Plane, spans: Sequence[Span]) -> None:
    """Shades every epoch and labels it if there is room."""
    for span in spans:
        if span.is_epoch:
            left, right = drawn.x.at(span.start_s), drawn.x.at(span.stop_s)
            drawn.canvas.rect(
                left,
                TOP,
                right - left,
                HEIGHT - BELOW - TOP,
                "span",
                f"{span.name}: {digits(span.stop_s - span.start_s)} s",
            )
            if right - left > 52:
                drawn.canvas.text((left + right) / 2, TOP + 15, span.name, "tick", "middle")


def _line(drawn: Plane, line: TimeSeries, index: int) -> None:
    across = [drawn.x.at(t_s) for t_s in line.t_s]
    mean = [drawn.y.at(value) for value in line.mean]
    high = mean if line.high is line.mean else [drawn.y.at(value) for value in line.high]
    low = mean if line.low is line.mean else [drawn.y.at(value) for value in line.low]
    for first, last in _pieces(line.t_s):
        forth = list(zip(across[first:last], high[first:last], strict=True))
        back = list(zip(across[first:last], low[first:last], strict=True))[::-1]
        drawn.canvas.path(forth + back, f"c{index} area", closed=True)
        drawn.canvas.path(
            list(zip(across[first:last], mean[first:last], strict=True)), f"l{index} curve"
        )
        if last - first == 1:
            drawn.canvas.dot(across[first], mean[first], f"c{index}", radius=2)


def _pieces(t_s: Sequence[float]) -> Iterator[tuple[int, int]]:
    """(start, stop) indices of the connected pieces of a line."""
    distances = [after - before for before, after in pairwise(t_s)]
    max_distance = GAP * statistics.median(distances) if distances else 0.0
    breaks = [index for index, distance in enumerate(distances, start=1) if distance > max_distance]
    return pairwise([0, *breaks, len(t_s)])


def _row(when: str, line: TimeSeries, first: int, last: int, lines: int) -> tuple[str, ...]:
    name = when if lines == 1 else f"{when}, {line.name}"
    if first >= last:
        return name, "0", *["no reading"] * 3
    mean = statistics.fmean(line.mean[first:last])
    return (
        name,
        str(last - first),
        digits(min(line.low[first:last])),
        digits(mean),
        digits(max(line.high[first:last])),
    )
