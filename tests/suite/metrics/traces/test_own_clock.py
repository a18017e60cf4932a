"""A file whose times are absolute: the clock's place counts, and a fit that moves it is asked
for."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter  # type: ignore[import-untyped]

from suite.bundle.arrays import Values
from suite.errors import SuiteError
from suite.metrics.traces.clock_fit import ClockFit, NoFit, fit_clock, given_clock
from suite.metrics.traces.own_clock import moved_s, refuse_moved
from suite.metrics.traces.trace_format import Trace
from tests.suite.metrics.traces.test_clock_fit import EPOCH, made, plain_course

COURSE = plain_course(60.0)


def read(t_s: Values, power_w: Values, begins_s: float) -> tuple[Trace, ClockFit]:
    """A trace whose first row is ``begins_s`` after run_start by its clock, and its fit."""
    own_s = t_s + COURSE.wall_s + begins_s
    trace = Trace(own_s, power_w, len(t_s), 0, 0, 1, is_absolute=True)
    return trace, fit_clock(own_s, power_w, COURSE, is_absolute=True)


@pytest.mark.parametrize(
    ("by_s", "said"),
    [
        (23.2, r"wrong by \+23\.2 s\..*--offset -1699999976\.800.*power fell 37 s after run_start"),
        (-22.0, r"wrong by -22\.0 s\..*--offset -1700000022\.000.*power rose 22 s after run_start"),
    ],
)
def test_a_place_away_from_the_own_times_of_a_trace_that_hold_the_run_is_asked_for(
    by_s: float, said: str
) -> None:
    trace, _ = read(*made([(60, 3.0), *EPOCH * 3, (60, 3.0)]), begins_s=-60.0)
    fit = given_clock(trace.t_s, trace.power_w, COURSE, by_s - COURSE.wall_s)
    with pytest.raises(SuiteError, match=said):
        refuse_moved(trace, fit, COURSE)
    refuse_moved(replace(trace, is_absolute=False), fit, COURSE)


@pytest.mark.parametrize(
    ("wrong_s", "margin_s"),
    [(1.5, 60.0), (3600.0, 60.0), (-1800.4, 60.0), (23.0, 12.0), (-8e8, 60.0)],
    ids=["two clocks", "time zone", "half an hour", "short margins", "never set"],
)
def test_an_honest_logger_whose_clock_cannot_be_right_is_placed_by_the_run(
    wrong_s: float, margin_s: float
) -> None:
    t_s, power_w = made([(margin_s, 3.0), *EPOCH * 3, (margin_s, 3.0)])
    trace, fit = read(t_s, power_w, begins_s=wrong_s - margin_s)
    refuse_moved(trace, fit, COURSE)
    assert fit.offset_s + COURSE.wall_s == pytest.approx(-wrong_s, abs=0.2)
    assert moved_s(trace, fit, COURSE) == pytest.approx(
        -wrong_s if abs(wrong_s) > 2 else 0, abs=0.2
    )


def test_a_restless_trace_at_its_own_clocks_place_is_no_chance() -> None:
    """Slow swings of another load leave few independent readings."""
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    drawn_w = np.random.default_rng(2).normal(0, 2.0 * np.sqrt(1 - 0.99**2), len(t_s) + 500)
    restless_w = power_w + lfilter([1], [1, -0.99], drawn_w)[500:]
    with pytest.raises(NoFit, match="does not follow the run"):
        fit_clock(t_s, restless_w, COURSE)
    _, fit = read(t_s, restless_w, begins_s=-20.0)
    assert fit.offset_s + COURSE.wall_s == pytest.approx(0, abs=0.3)


def test_a_gap_that_may_hide_the_run_is_named() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    kept = (t_s < 50) | (t_s > 62)
    with pytest.raises(NoFit, match=r"a gap of 12.*, 49\.9 s after its first row"):
        fit_clock(t_s[kept], power_w[kept], COURSE)
