"""Power over time with the epochs marked, and the machine's load, which is there without any power sensor."""

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
"""Readings further apart than so many usual distances are not joined: nobody saw what was between."""


POWER = Caption(
    "power-time",
    "Power over time",
    "Each shaded band is an epoch; between them lie evaluations. The line is the mean, the band around it what was read at least and at most.",
)
LOAD = Caption(
    "load-time",
    "Load over time",
    "How busy the machine was, which is no power. Each shaded band is an epoch; between them lie evaluations.",
)


def draw_power(timeline: Timeline, baseload_w: float | None) -> Drawing | NotDrawn:
    """Watts against seconds since run_start: mean, and band from smallest to greatest reading, per interval; the dashed line is the baseload."""
    if not timeline.power:
        return NotDrawn("no power sensor was read")
    y = linear([*(value for course in timeline.power for value in course.high), baseload_w or 0.0], *UP)
    drawn = _plane(POWER, "watts", timeline.power, timeline.spans, y)
    names = _names(timeline.power)
    if baseload_w is not None:
        ends = [drawn.at(drawn.x.ticks[0], baseload_w), drawn.at(drawn.x.ticks[-1], baseload_w)]
        drawn.canvas.path(ends, "front", tip=f"baseload: {digits(baseload_w)} W")
        names.append(("idle", f"baseload {digits(baseload_w)} W"))
    legend(drawn.canvas, names, 300)
    return _with_table(drawn, timeline.power, timeline.spans)


def draw_load(timeline: Timeline) -> Drawing | NotDrawn:
    """Percent of a machine's processors that were busy, and of its GPU, against seconds since run_start."""
    if not timeline.load:
        return NotDrawn("neither processor nor GPU utilisation was read")
    drawn = _plane(LOAD, "percent of the time busy", timeline.load, timeline.spans, linear([100.0], *UP))
    legend(drawn.canvas, _names(timeline.load), 300)
    return _with_table(drawn, timeline.load, timeline.spans)


def _plane(caption: Caption, axis: str, courses: Sequence[TimeSeries], spans: Sequence[Span], y: Scale) -> Plane:
    """A plane with the epochs and the courses on it; ``axis`` names the vertical one."""
    times = [
        0.0,
        *(end for course in courses for end in (course.t_s[0], course.t_s[-1])),
        *(end for span in spans for end in (span.start_s, span.stop_s)),
    ]
    drawn = plane(caption.title, caption.about, close(times, *ACROSS, 9), y, ("seconds since run_start", axis))
    _mark_epochs(drawn, spans)
    for index, course in enumerate(courses):
        _line(drawn, course, index)
    return drawn


def _names(courses: Sequence[TimeSeries]) -> list[tuple[str, str]]:
    return [(f"c{index}", course.name) for index, course in enumerate(courses)]


def _with_table(drawn: Plane, courses: Sequence[TimeSeries], spans: Sequence[Span]) -> Drawing:
    whole = [_row("all that was read", course, 0, len(course.t_s), len(courses)) for course in courses]
    of_spans = [
        _row(span.name, course, bisect_left(course.t_s, span.start_s), bisect_right(course.t_s, span.stop_s), len(courses))
        for span in spans
        for course in courses
    ]
    unit = courses[0].unit
    headings = ("when", "readings drawn", f"lowest, {unit}", f"mean, {unit}", f"highest, {unit}")
    return Drawing(drawn.canvas.svg(), headings, (*whole, *of_spans))


def _mark_epochs(drawn: Plane, spans: Sequence[Span]) -> None:
    """A band per epoch, its number above it where there is room; evaluations stay white."""
    for span in spans:
        if span.is_epoch:
            left, right = drawn.x.at(span.start_s), drawn.x.at(span.stop_s)
            drawn.canvas.rect(left, TOP, right - left, HEIGHT - BELOW - TOP, "span", f"{span.name}: {digits(span.stop_s - span.start_s)} s")
            if right - left > 52:
                drawn.canvas.text((left + right) / 2, TOP + 15, span.name, "tick", "middle")


def _line(drawn: Plane, course: TimeSeries, index: int) -> None:
    across = [drawn.x.at(t_s) for t_s in course.t_s]
    mean = [drawn.y.at(value) for value in course.mean]
    high = mean if course.high is course.mean else [drawn.y.at(value) for value in course.high]
    low = mean if course.low is course.mean else [drawn.y.at(value) for value in course.low]
    for first, last in _pieces(course.t_s):
        there = list(zip(across[first:last], high[first:last], strict=True))
        back = list(zip(across[first:last], low[first:last], strict=True))[::-1]
        drawn.canvas.path(there + back, f"c{index} area", closed=True)
        drawn.canvas.path(list(zip(across[first:last], mean[first:last], strict=True)), f"l{index} curve")
        if last - first == 1:
            drawn.canvas.dot(across[first], mean[first], f"c{index}", radius=2)


def _pieces(t_s: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Where the line begins and ends, as indices: it breaks where nobody saw what was between two readings."""
    distances = [after - before for before, after in pairwise(t_s)]
    longest = GAP * statistics.median(distances) if distances else 0.0
    breaks = [index for index, distance in enumerate(distances, start=1) if distance > longest]
    return pairwise([0, *breaks, len(t_s)])


def _row(when: str, course: TimeSeries, first: int, last: int, courses: int) -> tuple[str, ...]:
    name = when if courses == 1 else f"{when}, {course.name}"
    if first >= last:
        return name, "0", *["not read"] * 3
    mean = statistics.fmean(course.mean[first:last])
    return name, str(last - first), digits(min(course.low[first:last])), digits(mean), digits(max(course.high[first:last]))
