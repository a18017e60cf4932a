"""Fits the clock of a logger to a run: at which offset the trace's power follows the course of the
run's activity best.

At each offset, power is explained by one level per phase of the run (least squares). The share of
its variance that the levels explain is the squared correlation of the trace with the course. All
offsets are searched on a grid, by Fourier transforms of sums over the readings that overlap
(Padfield, Masked Object Registration in the Fourier Domain, IEEE Transactions on Image Processing
21, 2012); the best one is refined on the readings, with the rate of the logger's clock. The
standard errors come from leaving out one twentieth of the time after the other (delete-a-group
jackknife: Shao and Wu, A General Theory for Jackknife Variance Estimation, Annals of Statistics 17,
1989).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.bundle.arrays import Mask, Values, median
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.metrics.traces.course import MARGIN_S, Course
from suite.metrics.uncertainty import CONFIDENCE, NORMAL

MIN_COVERED = 0.9
"""Of the run: offsets at which the trace covers less are not searched (also `min_coverage` of the
power rules)."""
MIN_CORRELATION = 0.3
MAX_SECOND_RATIO, MIN_UNEXPLAINED_RATIO = 0.9, 1.5
"""A second place is refused where it correlates nearly as well, and leaves hardly more
unexplained."""
SAME_PERIODS, SAME_S = 3.0, 1.0
"""Places nearer to each other than this are one."""
MAX_RATE = 500e-6
"""Largest rate error of a logger's clock that is searched; a quartz has less than 100 ppm."""
QUARTZ = 100e-6
WALL_CLOCK_S = 120.0
"""A logger whose times are absolute is searched near them first."""
MAX_GRID, MAX_COURSE, MAX_FINE = 2**17, 2**12, 5_000
MIN_STEP_SHARE = 0.2
"""Of the power's standard deviation: where the run draws less than this above the times before and
after it, it is not the run that is fitted."""
MIN_SIDE = 4
"""Places of the grid on one side of the run from which its power is judged."""
OTHER_REACH_S, OTHER_SHARE = 30.0, 0.1
"""Where power near the run, this long and as long as the run, is as high as in it for more than
this share of it, another load may be fitted."""
MIN_PULSE_SHARE = 0.1
"""Of the step from idle to computing: where power rises less in the pulse that the suite made, the
run is elsewhere."""
RATE_FACTORS = np.geomspace(0.4, 2.5, 93)
"""Of a rate that somebody states, tried in steps of 2 %."""
MIN_EXPLAINED, MIN_RATE_ERROR = 0.5, 0.03
BLOCKS = 20
DRAWS, PROFILE = 100, 40
MAX_RESAMPLED = 1000
MAX_CHANCE = 5e-3
MAX_HALF_SHARE = 0.05
"""Of the run: a fit that is less certain is refused."""
REACH_SHARE = 0.1
"""Of the run with the harness's own work: another place within it widens the error of the offset,
one beyond is another place."""
MAX_REFINED = 4
POWER_LAG_S = 0.1
"""How far the power may be late behind the activity that draws it (95 %): capacitors, filters of
the sensor, a process that starts."""
MAX_END_SHARE = 0.01
RIDGE = 1e-9
MIN_READINGS = 8
MEDIAN_OF, BEYOND = 7, 0.25
"""Readings of the running median, and how far beyond its range power may lie, in shares of it."""
USUAL_PERIODS = 1.5
"""A longer time between two readings is a pause."""


@dataclass(frozen=True)
class ClockFit:
    """``t_run = t_trace + offset_s + rate * (t_trace - centre_s)``, in s since run_start; the
    standard errors are of both.

    ``method`` is "correlation", or "by hand" for an offset that somebody gave. ``correlation`` is
    that of the trace with the course of the run, ``chance`` how probable noise is to do so there,
    and as near to the trace's own absolute times, ``second_ratio`` that of the second-best place
    ``second_offset_s`` divided by it; None where there is no other place. ``near_wall_clock``: only
    places near the trace's own absolute times were compared. ``half_width_s`` bounds the error of a
    moment in the run, with 95 % confidence. ``is_robust``: outliers were clipped, and a pause in
    the trace counts as a possible step of the logger's clock; not so in earlier versions.
    """

    method: str
    offset_s: float
    offset_error_s: float
    rate: float
    rate_error: float
    centre_s: float
    correlation: float
    chance: float
    ends_differ_s: float | None
    second_ratio: float | None
    second_offset_s: float | None
    near_wall_clock: bool
    readings: int
    half_width_s: float
    is_robust: bool = False

    def to_run_s(self, t_s: Values) -> Values:
        """Times of the trace in s since run_start."""
        return t_s + self.offset_s + self.rate * (t_s - self.centre_s)


class NoFit(SuiteError):
    """The trace's clock cannot be fitted; the message says why and what to do."""


def fit_clock(
    t_s: Values,
    power_w: Values,
    course: Course,
    *,
    is_absolute: bool = False,
    is_robust: bool = True,
) -> ClockFit:
    """Fit the clock of a trace (times increasing); raises NoFit where it does not follow the run,
    or follows it at several places.

    ``is_absolute``: the trace's times are seconds since 1970.
    """
    try:
        return _fitted(t_s, power_w, course, is_absolute, is_robust)
    except NoFit as error:
        raise NoFit(_gap_text(t_s, course) + str(error)) from error


def _gap_text(t_s: Values, course: Course) -> str:
    """Says the longest gap, where the run may hide in it or a clock may have been set."""
    pauses_s = np.diff(t_s)
    place = int(np.argmax(pauses_s)) if len(pauses_s) else 0
    limit_s = MAX_HALF_SHARE * course.run_s
    if not len(pauses_s) or pauses_s[place] - USUAL_PERIODS * median(pauses_s) <= limit_s:
        return ""
    return (
        f"The power trace has a gap of {pauses_s[place]:.3g} s, {t_s[place] - t_s[0]:.3g} s after"
        " its first row. If the gap lies in the run, attach a trace without a gap, or give"
        " --offset. If it does not, this is the reason: "
    )


def _fitted(
    t_s: Values, power_w: Values, course: Course, is_absolute: bool, is_robust: bool
) -> ClockFit:
    period_s = _period_s(t_s)
    _refuse_slow(period_s, course)
    if is_robust:
        power_w = _clipped(power_w)
    grid = _Grid.of(t_s, power_w, course, period_s)
    places = _places(grid, course)
    if places is None:
        raise NoFit(
            f"The power trace is {t_s[-1] - t_s[0]:.1f} s long and the run {course.run_s:.1f} s: it"
            " does not cover nine tenths of the run. Attach the trace of this run, from before its"
            " start to after its end."
        )
    beside = _beside_wall_clock(places, course) if is_absolute else None
    near, places = beside is not None, beside or places
    best, fine, fit = _refined(t_s, power_w, course, period_s, grid, places)
    fit = replace(fit, near_wall_clock=near, is_robust=is_robust)
    if near:
        beside_s = abs(fit.offset_s + course.wall_s) + period_s
        fit = replace(fit, chance=fit.chance * min(1.0, beside_s / WALL_CLOCK_S))
    _refuse_unrelated(fit)
    _refuse_falling(fit, t_s, power_w, course)
    fit = _with_ends(fit, fine, course, period_s)
    # Where others took CPU time, power rises and falls within the run's phases: without it
    # such fits were beyond the bound (docs/loggers.md).
    fit = replace(fit, half_width_s=fit.half_width_s * (1 + course.foreign_share))
    if is_robust:
        step_s = _possible_step_s(fit, t_s, course, period_s)
        fit = replace(fit, half_width_s=math.hypot(fit.half_width_s, step_s))
    _refuse_undetermined(fit, course, t_s)
    fit = _with_second(
        fit, places, best, max(SAME_S, SAME_PERIODS * period_s, REACH_SHARE * course.active_s)
    )
    _refuse_other_activity(fit, t_s, power_w, course, period_s)
    return fit


def _beside_wall_clock(places: "_Places", course: Course) -> "_Places | None":
    """The places at which both clocks are about right, if power follows the run at one of them: the
    offset of a trace whose times are seconds since 1970 is then -wall_s."""
    chosen = np.abs(places.offsets_s + course.wall_s) <= WALL_CLOCK_S
    least = (MAX_SECOND_RATIO * MIN_CORRELATION) ** 2
    if not places.explained[chosen].max(initial=-1.0) >= least:
        return None
    return replace(places, explained=np.where(chosen, places.explained, 0.0))


def _clipped(power_w: Values) -> Values:
    """Power without what lies far outside its running median: single readings move no fit."""
    from scipy.ndimage import median_filter  # type: ignore[import-untyped]  # start-up: loads SciPy

    smooth_w = median_filter(power_w, MEDIAN_OF, mode="nearest")
    beyond_w = BEYOND * float(np.ptp(smooth_w))
    clipped: Values = np.clip(power_w, smooth_w.min() - beyond_w, smooth_w.max() + beyond_w)
    return clipped


def _possible_step_s(fit: ClockFit, t_s: Values, course: Course, period_s: float) -> float:
    """The longest pause of the trace around the run beyond the usual: rows were lost, or the
    logger's clock was set forward."""
    run_s = fit.to_run_s(t_s)
    near = (run_s[1:] >= course.begin_s) & (run_s[:-1] <= course.end_s)
    return max(0.0, float(np.diff(t_s)[near].max(initial=0.0)) - USUAL_PERIODS * period_s)


def _with_second(fit: ClockFit, places: "_Places", best: int, apart_s: float) -> ClockFit:
    """The fit with the second-best place, further than ``apart_s`` away; raises NoFit where it fits
    nearly as well."""
    distances_s = np.abs(places.offsets_s - places.offsets_s[best])
    second = next((peak for peak in _peaks(places) if distances_s[peak] > apart_s), None)
    if second is None:
        return fit
    ratio = math.sqrt(max(0.0, places.explained[second]) / places.explained[best])
    left = (1 - places.explained[second]) / max(1 - places.explained[best], 1e-12)
    second_s = float(places.offsets_s[second])
    if ratio > MAX_SECOND_RATIO and left < MIN_UNEXPLAINED_RATIO:
        raise NoFit(
            f"The power trace follows the run at several places: correlation {fit.correlation:.3f}"
            f" at the offset {fit.offset_s:.2f} s, {fit.correlation * ratio:.3f} at {second_s:.2f}"
            " s. Cut the trace to this run, give --offset, or run again with --power-pulse."
        )
    return replace(fit, second_ratio=ratio, second_offset_s=second_s)


def _refined(
    t_s: Values, power_w: Values, course: Course, period_s: float, grid: "_Grid", places: "_Places"
) -> tuple[int, "_Fine", ClockFit]:
    """The best of the grid's best places, refined on the readings."""
    refined = []
    for place in _peaks(places)[:MAX_REFINED]:
        fine = _Fine.at(t_s, power_w, course, period_s, places.offsets_s[place])
        refined.append(
            (place, fine, *fine.refine(places.offsets_s[place], places.rates[place], grid.step_s))
        )
    place, fine, offset_s, rate = min(refined, key=lambda one: one[1].unexplained(one[2], one[3]))
    others_s = [one[2] for one in refined]
    return place, fine, fine.described(offset_s, rate, others_s)


def _refuse_slow(period_s: float, course: Course) -> None:
    """Two places within three periods are not distinguished: these must be less than what widens
    the error of the offset."""
    if _is_slow(period_s, course):
        needed = math.ceil(SAME_PERIODS / REACH_SHARE)
        raise NoFit(
            f"The power trace has a reading every {period_s:.3g} s, too few for a run of"
            f" {course.run_s:.1f} s: {needed} readings in the run are needed. Use a faster logger,"
            " or give --offset."
        )


def _is_slow(period_s: float, course: Course) -> bool:
    return SAME_PERIODS * period_s > max(SAME_S, REACH_SHARE * course.run_s)


def _refuse_unrelated(fit: ClockFit) -> None:
    if fit.correlation < MIN_CORRELATION or fit.chance > MAX_CHANCE:
        raise NoFit(
            "The power trace does not follow the run: the best correlation is"
            f" {fit.correlation:.2f}, at the offset {fit.offset_s:.2f} s, and noise alone reaches"
            f" it with a probability of {fit.chance:.2g}. Attach the trace of this run, or give"
            " --offset."
        )


def _refuse_falling(fit: ClockFit, t_s: Values, power_w: Values, course: Course) -> None:
    """The levels of the phases explain a trace that is upside down as well: computing must not draw
    less than what is around the run."""
    run_s = fit.to_run_s(t_s)
    inside = (run_s >= 0) & (run_s <= course.run_s)
    around = ~inside & (run_s >= course.begin_s) & (run_s <= course.end_s)
    if not inside.any() or not around.any():
        return
    of_run, of_rest = (
        [*np.percentile(power_w[chosen], (5, 50)), power_w[chosen].mean()]
        for chosen in (inside, around)
    )
    if all(in_run < outside for in_run, outside in zip(of_run, of_rest, strict=True)):
        raise NoFit(
            f"The power trace follows the run upside down: power falls from {of_rest[2]:.3g} W to "
            f"{of_run[2]:.3g} W during the run. If the power's sign is reversed, export the"
            " power with the other sign. If the trace comes from another machine or run, attach the"
            " trace of this run."
        )


def _refuse_other_activity(
    fit: ClockFit, t_s: Values, power_w: Values, course: Course, period_s: float
) -> None:
    """Another program's load may be what was fitted, where power is as high near the run as in it;
    a pulse tells them apart."""
    if course.pulse is not None:
        return
    run_s = fit.to_run_s(t_s)
    first_s, last_s = course.begin_s + MARGIN_S, course.end_s - MARGIN_S
    reach_s = OTHER_REACH_S + course.active_s
    near = ((run_s >= first_s - reach_s) & (run_s < first_s - SAME_S)) | (
        (run_s > last_s + SAME_S) & (run_s <= last_s + reach_s)
    )
    inside = (run_s >= 0) & (run_s <= course.run_s)
    if np.count_nonzero(near) < MIN_READINGS or not inside.any():
        return
    quiet_w, whole_w = float(np.percentile(power_w[near], 10)), float(power_w[inside].mean())
    busy_s = period_s * int(np.count_nonzero(power_w[near] > (quiet_w + whole_w) / 2))
    if busy_s > max(SAME_S, OTHER_SHARE * course.active_s):
        raise NoFit(
            f"The run was found at the offset {fit.offset_s:.2f} s, but within {reach_s:.0f} s "
            f"before or after the run, power is as high for another {busy_s:.1f} s: other programs"
            " were running, or the run is at another place in the trace. Cut the trace to"
            " this run or give --offset; or run again, without other programs or with"
            " --power-pulse."
        )


def _refuse_undetermined(fit: ClockFit, course: Course, t_s: Values) -> None:
    outside = [
        int(np.count_nonzero(side))
        for side in (fit.to_run_s(t_s) < 0, fit.to_run_s(t_s) > course.run_s)
    ]
    if not max(outside) or fit.half_width_s > MAX_HALF_SHARE * course.run_s:
        remedy = "Let the logger begin before the run and end after it, or give --offset."
        if min(outside) >= MIN_READINGS:
            remedy = (
                "Make a longer run, use a faster logger, run again with --power-pulse, or give"
                " --offset."
            )
        raise NoFit(
            f"The power trace does not determine when the run of {course.run_s:.1f} s began: the"
            f" fitted offset is {fit.offset_s:.2f} s, give or take {fit.half_width_s:.2f} s, and"
            f" the trace has {counted(outside[0], 'reading')} before the run and {outside[1]} after"
            f" it. {remedy}"
        )


def _with_ends(fit: ClockFit, fine: "_Fine", course: Course, period_s: float) -> ClockFit:
    """The fit with the difference between the run's ends; raises NoFit for a trace whose activity
    is longer or shorter than the run."""
    ends = fine.ends_differ_s(fit)
    if ends is None:
        return fit
    differ_s, bound_s = ends
    if abs(differ_s) - bound_s > max(SAME_S, SAME_PERIODS * period_s, MAX_END_SHARE * course.run_s):
        raise NoFit(
            f"The power trace's activity is {abs(differ_s):.2f} s "
            f"{'shorter' if differ_s > 0 else 'longer'} than the run of {course.run_s:.1f} s: it "
            "comes from another run, the logger's clock is wrong, or the suite's own start took "
            "long. Attach the trace of this run, give --offset, or run again with --power-pulse."
        )
    return replace(
        fit, ends_differ_s=differ_s, half_width_s=math.hypot(fit.half_width_s, differ_s / 2)
    )


def refuse_rate(t_s: Values, power_w: Values, course: Course, rate_hz: float) -> None:
    """Raise NoFit where power follows the run clearly better if the rows came at another rate than
    the stated one: no clock is wrong by so much."""
    power_w, period_s = _clipped(power_w), _period_s(t_s)

    def explained(factor: float) -> float:
        if _is_slow(period_s / factor, course):
            return 0.0
        grid = _Grid.of(t_s / factor, power_w, course, period_s / factor)
        return max(0.0, float(_explained(grid, course, 0.0).max()))

    found = [explained(factor) for factor in RATE_FACTORS]
    best, own = max(found), explained(1.0)
    better_hz = rate_hz * float(RATE_FACTORS[int(np.argmax(found))])
    is_better = 1 - own > MIN_UNEXPLAINED_RATIO * (1 - best)
    if best >= MIN_EXPLAINED and is_better and abs(better_hz / rate_hz - 1) > MIN_RATE_ERROR:
        raise NoFit(
            f"The rate of {rate_hz:g} Hz does not fit: with about {better_hz:.3g} Hz the power"
            f" follows the run better (correlation {math.sqrt(best):.2f} instead of"
            f" {math.sqrt(own):.2f}). Correct --rate, or attach a file with times."
        )


def given_clock(t_s: Values, power_w: Values, course: Course, offset_s: float) -> ClockFit:
    """The clock as somebody gave it, with the correlation at that offset; raises NoFit where the
    trace does not cover the run then."""
    period_s = _period_s(t_s)
    fine = _Fine.at(t_s, power_w, course, period_s, offset_s)
    inside = (t_s + offset_s >= -3 * period_s) & (t_s + offset_s <= course.run_s + 3 * period_s)
    if np.count_nonzero(inside) < 2:
        raise NoFit(
            f"At the offset {offset_s:g} s the power trace has"
            f" {counted(int(np.count_nonzero(inside)), 'reading')} in the run; correct --offset."
        )
    return replace(
        fine.described(offset_s, 0.0),
        method="by hand",
        offset_error_s=0.0,
        rate_error=0.0,
        half_width_s=0.0,
    )


def _period_s(t_s: Values) -> float:
    if len(t_s) < MIN_READINGS:
        raise NoFit(
            f"The power trace has {counted(len(t_s), 'reading')}; {MIN_READINGS} are needed."
        )
    return median(np.diff(t_s))


@dataclass(frozen=True, eq=False)
class _Grid:
    """The trace on an even grid: power less its mean, 0 where there is no reading, and a mask of
    where there is one."""

    start_s: float
    step_s: float
    power_w: Values
    known: Values

    @classmethod
    def of(cls, t_s: Values, power_w: Values, course: Course, period_s: float) -> "_Grid":
        span_s = float(t_s[-1] - t_s[0])
        step_s = max(period_s / 2, span_s / MAX_GRID, (course.end_s - course.begin_s) / MAX_COURSE)
        count = int(span_s / step_s) + 1
        places = np.minimum(((t_s - t_s[0]) / step_s).astype(np.int64), count - 1)
        counts = np.bincount(places, minlength=count)
        filled = counts > 0
        means = np.bincount(places, power_w, minlength=count) / np.maximum(counts, 1)
        moments = np.arange(count)
        values = np.interp(moments, moments[filled], means[filled])
        reach = max(1, math.ceil(3 * period_s / step_s))
        nearest = np.minimum(_places_since(filled), _places_since(filled[::-1])[::-1])
        known = (nearest <= reach).astype(np.float64)
        middle = float(values.mean())
        return cls(float(t_s[0]) + step_s / 2, step_s, (values - middle) * known, known)


def _places_since(filled: Mask) -> Values:
    """Number of places since the last filled one; infinite before the first."""
    places = np.arange(len(filled), dtype=np.float64)
    last = np.maximum.accumulate(np.where(filled, places, -np.inf))
    return places - last


@dataclass(frozen=True, eq=False)
class _Places:
    """Every offset on the grid that was searched, with the share of the power's variance that the
    course explains there, at the best rate."""

    offsets_s: Values
    explained: Values
    rates: Values


def _places(grid: _Grid, course: Course) -> _Places | None:
    """All offsets at which the trace covers the run; None without any."""
    reach_s = MAX_RATE * (course.end_s - course.begin_s)
    steps = math.ceil(reach_s / (2 * grid.step_s)) if reach_s > grid.step_s else 0
    rates = np.linspace(-MAX_RATE, MAX_RATE, 2 * steps + 1) if steps else np.zeros(1)
    found = [_explained(grid, course, float(rate)) for rate in rates]
    explained = np.max(found, axis=0)
    lag_s = (
        np.arange(len(explained), dtype=np.float64) - (_course_length(grid, course) - 1)
    ) * grid.step_s
    offsets_s: Values = course.begin_s + grid.step_s / 2 - (grid.start_s + lag_s)
    if not (explained >= 0).any():
        return None
    return _Places(offsets_s, explained, rates[np.argmax(found, axis=0)])


def _course_length(grid: _Grid, course: Course) -> int:
    return math.ceil((course.end_s - course.begin_s) / grid.step_s)


def _explained(grid: _Grid, course: Course, rate: float) -> Values:
    """The explained share of variance at every lag of the course in the trace; -1 where the trace
    does not cover the run or power falls in it."""
    count = _course_length(grid, course)
    edges_s: Values = course.begin_s + np.arange(count + 1, dtype=np.float64) * grid.step_s * (
        1 + rate
    )
    columns = course.shares(edges_s[:-1], edges_s[1:]).T
    width = len(columns)
    size = 1 << (len(grid.known) + count - 1).bit_length()
    known, power, square = (
        np.fft.rfft(values, size) for values in (grid.known, grid.power_w, grid.power_w**2)
    )

    def sums(column: Values, transform: Any) -> Values:
        """Sums of a column's values times the trace's, for lags from -(count - 1) on."""
        turned = np.fft.irfft(np.fft.rfft(column[::-1], size) * transform, size)
        return turned[: len(grid.known) + count - 1]

    ones, middles_s = np.ones(count), (edges_s[:-1] + edges_s[1:]) / 2
    in_run = ((middles_s >= 0) & (middles_s <= course.run_s)).astype(np.float64)
    covers = sums(in_run, known) >= MIN_COVERED * in_run.sum() - 0.5
    explained = np.full(len(covers), -1.0)
    if not covers.any():
        return explained
    number, total, squares = (sums(ones, each)[covers] for each in (known, power, square))
    with_power = np.array([sums(column, power)[covers] for column in columns])
    products = np.empty((int(covers.sum()), width, width))
    for row in range(width):
        for other in range(row, width):
            products[:, row, other] = products[:, other, row] = sums(
                columns[row] * columns[other], known
            )[covers]
    products += RIDGE * count * np.eye(width)
    levels = np.linalg.solve(products, with_power.T[:, :, None])[:, :, 0]
    left = squares - np.einsum("ij,ji->i", levels, with_power)
    whole = squares - total**2 / np.maximum(number, 1)
    share = np.where(
        whole > 1e-12 * max(float(squares.max()), 1e-30), 1 - left / np.maximum(whole, 1e-30), 0.0
    )
    idle_w = levels[:, :2].min(axis=1)
    run_w = sums(in_run, power)[covers] / np.maximum(sums(in_run, known)[covers], 1)
    step_w = MIN_STEP_SHARE * np.sqrt(np.maximum(whole, 0.0) / np.maximum(number, 1))
    is_up = run_w > idle_w
    for side in columns[:2]:
        length = sums(side, known)[covers]
        is_up &= (length < MIN_SIDE) | (
            run_w - sums(side, power)[covers] / np.maximum(length, 1) > step_w
        )
    if course.pulse is not None:
        is_up &= levels[:, course.pulse] - idle_w > MIN_PULSE_SHARE * (run_w - idle_w)
    explained[covers] = np.where(is_up, np.clip(share, 0.0, 1.0), 0.0)
    return explained


def _peaks(places: _Places) -> list[int]:
    """The local maxima, the highest first; the first place of all if there is none."""
    share = places.explained
    padded = np.concatenate(([-1.0], share, [-1.0]))
    peaks = np.flatnonzero((share >= padded[:-2]) & (share >= padded[2:]) & (share > 0))
    return [int(peak) for peak in peaks[np.argsort(-share[peaks], kind="stable")]] or [
        int(np.argmax(share))
    ]


@dataclass(frozen=True, eq=False)
class _Fine:
    """The readings around one place, averaged to a bounded number."""

    t_s: Values
    power_w: Values
    course: Course
    period_s: float

    @classmethod
    def at(
        cls,
        t_s: Values,
        power_w: Values,
        course: Course,
        period_s: float,
        offset_s: float,
    ) -> "_Fine":
        run_s = t_s + offset_s
        near = (run_s >= course.begin_s - period_s) & (run_s <= course.end_s + period_s)
        kept_s, kept_w = t_s[near], power_w[near]
        group = math.ceil(len(kept_s) / MAX_FINE) or 1
        starts = np.arange(0, len(kept_s), group)
        counts = np.diff(np.append(starts, len(kept_s)))
        if group > 1:
            kept_s, kept_w = (
                np.add.reduceat(kept_s, starts) / counts,
                np.add.reduceat(kept_w, starts) / counts,
            )
        return cls(kept_s, kept_w, course, period_s * group)

    @property
    def centre_s(self) -> float:
        """The moment of the trace from which its clock's rate is counted."""
        return float(self.t_s.mean()) if len(self.t_s) else 0.0

    def shares(self, offset_s: float, rate: float) -> Values:
        """The course during each reading's period, around the reading."""
        run_s = self.t_s + offset_s + rate * (self.t_s - self.centre_s)
        return self.course.shares(run_s - self.period_s / 2, run_s + self.period_s / 2)

    def _left_w(self, offset_s: float, rate: float) -> Values:
        """The power less that of its phases."""
        shares = self.shares(offset_s, rate)
        left_w: Values = self.power_w - shares @ _levels(shares, self.power_w)
        return left_w

    def unexplained(self, offset_s: float, rate: float) -> float:
        """The share of the power's variance that the course does not explain."""
        left = self._left_w(offset_s, rate)
        spread = self.power_w - self.power_w.mean()
        return float(left @ left) / max(float(spread @ spread), 1e-30)

    def refine(self, offset_s: float, rate: float, step_s: float) -> tuple[float, float]:
        """Offset and rate near a place of the grid; the rate is 0 where the readings do not
        determine one."""
        from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]  # start-up: loads SciPy

        def best_offset(at_rate: float, around_s: float) -> float:
            tried_s = around_s + np.linspace(-3, 3, 31) * step_s
            nearest = float(
                tried_s[int(np.argmin([self.unexplained(each, at_rate) for each in tried_s]))]
            )
            bounds = (nearest - step_s / 4, nearest + step_s / 4)
            return float(
                minimize_scalar(
                    lambda each: self.unexplained(each, at_rate), bounds=bounds, method="bounded"
                ).x
            )

        plain_s = best_offset(0.0, offset_s)
        best_rate = self._best_rate(plain_s, rate, step_s)
        rate_error = self._rate_error(plain_s, best_rate)
        if abs(best_rate) > NORMAL * rate_error and rate_error < QUARTZ:
            return best_offset(best_rate, plain_s), best_rate
        return plain_s, 0.0

    def _best_rate(self, offset_s: float, rate: float, step_s: float) -> float:
        from scipy.optimize import minimize  # start-up: loads SciPy

        length_s = self.course.end_s - self.course.begin_s
        scale = np.array([step_s, 2 * step_s / length_s])
        start = (
            np.array(
                [[offset_s, rate], [offset_s + step_s, rate], [offset_s, rate + step_s / length_s]]
            )
            / scale
        )
        found = minimize(
            lambda each: self.unexplained(*(each * scale)),
            start[0],
            method="Nelder-Mead",
            options={"initial_simplex": start, "xatol": 1e-3, "fatol": 1e-9, "maxfev": 100},
        )
        return float(np.clip(found.x[1] * scale[1], -MAX_RATE, MAX_RATE))

    def described(self, offset_s: float, rate: float, others_s: Sequence[float] = ()) -> ClockFit:
        """The fit at an offset and a rate, with its correlation and the bounds of its error."""
        explained = 1 - self.unexplained(offset_s, rate)
        half_s = self._bounds(offset_s, rate, others_s)
        rate_error = self._rate_error(offset_s, rate)
        drift_s = min(NORMAL * rate_error, QUARTZ) * self.course.run_s / 2
        return ClockFit(
            method="correlation",
            offset_s=offset_s,
            offset_error_s=half_s / NORMAL,
            rate=rate,
            rate_error=rate_error,
            centre_s=self.centre_s,
            correlation=math.sqrt(max(0.0, explained)),
            chance=self._chance(offset_s, rate, explained),
            ends_differ_s=None,
            second_ratio=None,
            second_offset_s=None,
            near_wall_clock=False,
            readings=len(self.t_s),
            half_width_s=math.hypot(half_s, drift_s),
        )

    def _bounds(self, offset_s: float, rate: float, others_s: Sequence[float] = ()) -> float:
        """Half-width of the offset's 95 % interval: residual block bootstrap, and the unknown
        moment of an edge between two readings."""
        thin = self._thinned()
        shares = thin.shares(offset_s, rate)
        fitted = shares @ _levels(shares, thin.power_w)
        drawn = fitted[:, None] + _resampled(thin.power_w - fitted)
        reach_s = max(20 * thin.period_s, REACH_SHARE * self.course.active_s)
        away_s = np.geomspace(thin.period_s / 20, reach_s, PROFILE)
        others = [each - offset_s for each in others_s if abs(each - offset_s) <= reach_s]
        tried_s = np.concatenate((-away_s[::-1], [0.0], away_s, others))
        explained = np.array(
            [_explained_squares(thin.shares(offset_s + each, rate), drawn) for each in tried_s]
        )
        moved_s = np.abs(tried_s[np.argmax(explained, axis=0)])
        between_s = NORMAL * self.period_s / math.sqrt(12 * self._edges(offset_s, rate))
        return math.hypot(float(np.quantile(moved_s, CONFIDENCE)), between_s, POWER_LAG_S)

    def _moved(self, offset_s: float, rate: float) -> Values:
        """How fast each reading's fitted power changes with the offset, W/s."""
        by_s = self.period_s / 2
        levels = _levels(self.shares(offset_s, rate), self.power_w)
        moved: Values = (
            (self.shares(offset_s + by_s, rate) - self.shares(offset_s - by_s, rate))
            @ levels
            / (2 * by_s)
        )
        return moved

    def _edges(self, offset_s: float, rate: float) -> float:
        """The effective number of steps of power that determine the offset."""
        moved = self._moved(offset_s, rate) ** 2
        groups = np.add.reduceat(moved, np.arange(0, len(moved), 3))
        return max(1.0, float(groups.sum() ** 2 / max(float(groups @ groups), 1e-300)) / 2)

    def _rate_error(self, offset_s: float, rate: float) -> float:
        """Standard error of the rate, by the curvature of the squared residuals; their
        autocorrelation leaves fewer independent ones."""
        left, moved = self._left_w(offset_s, rate), self._moved(offset_s, rate)
        lever_s = self.t_s - float(moved**2 @ self.t_s) / max(float(moved @ moved), 1e-300)
        curvature = float((moved * lever_s) @ (moved * lever_s))
        variance = float(left @ left) / _independent(left)
        return math.sqrt(variance * len(left) / _independent(left) / max(curvature, 1e-300))

    def _chance(self, offset_s: float, rate: float, explained: float) -> float:
        """How probable it is that noise is explained as well at one offset (F test)."""
        from scipy.special import fdtrc  # type: ignore[import-untyped]  # start-up: loads SciPy

        used = len(self.course.phases) + 1
        free = _independent(self._left_w(offset_s, rate)) - used - 1
        if free < 1:
            return 1.0
        return float(fdtrc(used, free, (explained / used) / max((1 - explained) / free, 1e-300)))

    def _thinned(self) -> "_Fine":
        group = math.ceil(len(self.t_s) / MAX_RESAMPLED)
        if group < 2:
            return self
        count = len(self.t_s) // group * group
        t_s, power_w = (
            values[:count].reshape(-1, group).mean(axis=1) for values in (self.t_s, self.power_w)
        )
        return _Fine(t_s, power_w, self.course, self.period_s * group)

    def ends_differ_s(self, fit: ClockFit) -> tuple[float, float] | None:
        """The offset of the second half of the run less that of the first, and its bound; None
        where a half alone does not determine one."""
        middle = self.t_s + fit.offset_s > self.course.run_s / 2
        found = []
        for chosen in (~middle, middle):
            half = _Fine(self.t_s[chosen], self.power_w[chosen], self.course, self.period_s)
            if len(half.t_s) < MIN_READINGS:
                return None
            away_s = np.geomspace(self.period_s / 20, 0.1 * self.course.run_s, PROFILE)
            tried_s = fit.offset_s + np.concatenate((-away_s[::-1], [0.0], away_s))
            best_s = float(
                tried_s[int(np.argmin([half.unexplained(each, 0.0) for each in tried_s]))]
            )
            found.append((best_s, half._bounds(best_s, 0.0)))
        (first_s, first_half_s), (second_s, second_half_s) = found
        bound_s = math.hypot(first_half_s, second_half_s)
        return (
            None if bound_s > MAX_END_SHARE * self.course.run_s else (second_s - first_s, bound_s)
        )


def _independent(left: Values) -> float:
    """The number of independent ones among residuals in time order (AR(1))."""
    squares = float(left @ left)
    alike = min(max(float(left[1:] @ left[:-1]) / squares, 0.0), 0.99) if squares > 0 else 0.0
    return max(2.0, len(left) * (1 - alike) / (1 + alike))


def _resampled(left: Values) -> Values:
    """Series of residuals in blocks from random places, shape (readings, draws); the same residuals
    give the same series."""
    random = np.random.default_rng(0)
    length = max(1, len(left) // BLOCKS)
    count = math.ceil(len(left) / length)
    starts = random.integers(0, max(1, len(left) - length + 1), (DRAWS, count))
    places = (starts[:, :, None] + np.arange(length)).reshape(DRAWS, -1)[:, : len(left)]
    signs = np.repeat(random.choice((-1.0, 1.0), (DRAWS, count)), length, axis=1)[:, : len(left)]
    drawn: Values = (left[np.minimum(places, len(left) - 1)] * signs).T
    return drawn


def _explained_squares(shares: Values, drawn: Values) -> Values:
    """The squares that the levels of the phases explain, of each column of ``drawn``."""
    with_drawn = shares.T @ drawn
    explained: Values = np.sum(with_drawn * _solved(shares.T @ shares, with_drawn), axis=0)
    return explained


def _levels(shares: Values, power_w: Values) -> Values:
    """The power of each phase by least squares."""
    return _solved(shares.T @ shares, shares.T @ power_w)


def _solved(products: Values, target: Values) -> Values:
    """Solve the normal equations of columns of very different sizes, some of which may be 0
    everywhere."""
    scale = np.sqrt(np.maximum(np.diag(products), 1e-300))
    by_row = scale if target.ndim == 1 else scale[:, None]
    scaled = products / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
    solved: Values = np.linalg.solve(scaled, target / by_row) / by_row
    return solved
