"""The logger's own clock against the place that was fitted, for a file with absolute times."""

import numpy as np

from suite.bundle.arrays import median
from suite.errors import SuiteError
from suite.metrics.traces.clock_fit import MIN_COVERED, ClockFit
from suite.metrics.traces.course import Course
from suite.metrics.traces.trace_format import Trace

LARGE_S = 2.0
"""A difference of two clocks that are both set, which is worth a sentence."""
ZONE_S, NEAR_ZONE_S = 900.0, 5.0
"""Time zones differ by multiples of a quarter of an hour: a clock that is set lies this near to
one."""


def moved_s(trace: Trace, fit: ClockFit, course: Course) -> float:
    """How far the fit moves the trace from its own absolute times, s; 0 for what the clocks of two
    machines differ by, and for a trace without absolute times."""
    apart_s = fit.offset_s + course.wall_s
    is_large = trace.is_absolute and abs(apart_s) > max(LARGE_S, fit.half_width_s)
    return apart_s if is_large else 0.0


def refuse_moved(trace: Trace, fit: ClockFit, course: Course) -> None:
    """Raise SuiteError where the trace holds the whole run by its own times, and the fit moves it
    by what is no time zone: either the clock was wrong, or the power rose or fell within the
    run."""
    by_s = moved_s(trace, fit, course)
    zones_s = ZONE_S * round(by_s / ZONE_S)
    if not by_s or (zones_s and abs(by_s - zones_s) <= NEAR_ZONE_S):
        return
    own_s = trace.t_s - course.wall_s
    inside = np.count_nonzero((own_s >= 0) & (own_s <= course.run_s))
    if inside * median(np.diff(trace.t_s)) < MIN_COVERED * course.run_s:
        return
    change, at_s = ("fell", course.run_s - by_s) if by_s > 0 else ("rose", -by_s)
    raise SuiteError(
        f"The logged power follows the run only if the logger's clock was wrong by {by_s:+.1f} s."
        f" If it was wrong, add --offset {fit.offset_s:.3f}. If it was right, the power"
        f" {change} {at_s:.0f} s after run_start while the run went on: at that moment, look"
        " for a change of unit or range, or for a sensor that stopped."
    )
