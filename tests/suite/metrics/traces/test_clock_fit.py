"""The clock fit on recorded traces of a board: runs are made to follow the trace at its full rate,
the fit sees a thinned, noisy, drifting copy."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.metrics.traces.clock_fit import ClockFit, NoFit, fit_clock, given_clock, refuse_rate
from suite.metrics.traces.course import Course, Phase
from tests.every_case import some
from tests.suite.meters.recorded import needs_recordings, traces

ORIN_TOTAL = ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0")
NOISE_W = 0.3
RECORDED = ("orin-svgg-cifar10-test", "orin-svgg-imagenet-test", "orin-vgg-cifar10-test")
PERIODS_S = (0.05, 0.2, 1.0)


def recorded(name: str) -> tuple[Values, Values]:
    """Times, s, and power, W."""
    t_s, rails = traces()[name]
    return t_s, np.sum([rails[rail] for rail in ORIN_TOTAL], axis=0)


def course_of_trace(t_s: Values, power_w: Values) -> tuple[Course, float]:
    """A run that computes where the trace's power is above the middle between idle and busy, and
    waits in between; and its start in the trace."""
    busy = (
        np.convolve(power_w, np.ones(5) / 5, "same")
        > (np.percentile(power_w, 2) + np.median(power_w)) / 2
    )
    first, last = np.flatnonzero(busy)[[0, -1]]
    waits = (
        np.flatnonzero(np.diff(np.concatenate(([0], (~busy[first:last]).astype(int), [0])))) + first
    )
    start_s, run_s = float(t_s[first]), float(t_s[last] - t_s[first])
    phases = [
        Phase("before", np.array([-1e6]), np.array([0.0])),
        Phase("after", np.array([run_s]), np.array([1e6])),
    ]
    if len(waits):
        phases.append(Phase("waiting", t_s[waits[::2]] - start_s, t_s[waits[1::2]] - start_s))
    return Course(0, 1.7e9, run_s, -10.0, run_s + 10.0, tuple(phases)), start_s


def logged(
    t_s: Values,
    power_w: Values,
    start_s: float,
    period_s: float,
    offset_s: float,
    rate: float,
    seed: int,
) -> tuple[Values, Values, Values]:
    """What a logger writes: its times, the noisy power, and the true times since run_start. Ten
    periods of idle are added at both ends."""
    random = np.random.default_rng(seed)
    idle_s = 10 * period_s
    read_s = np.arange(t_s[0] - idle_s + random.uniform(0, period_s), t_s[-1] + idle_s, period_s)
    idle_w = float(np.percentile(power_w, 1))
    values = np.interp(read_s, t_s, power_w, idle_w, idle_w) + random.normal(
        0, NOISE_W, len(read_s)
    )
    true_s = read_s - start_s
    return (true_s - offset_s) * (1 - rate), values, true_s


def largest_error_s(fit: ClockFit, t_s: Values, true_s: Values, run_s: float) -> float:
    """Over the run."""
    inside = (true_s >= 0) & (true_s <= run_s)
    return float(np.abs(fit.to_run_s(t_s) - true_s)[inside].max())


@needs_recordings
@pytest.mark.parametrize(
    ("name", "period_s"),
    some([*zip(RECORDED, PERIODS_S, strict=True), *product(RECORDED, PERIODS_S)], 3),
)
def test_the_offset_of_a_recorded_trace_is_found(name: str, period_s: float) -> None:
    t_s, power_w = recorded(name)
    course, start_s = course_of_trace(t_s, power_w)
    times_s, values_w, true_s = logged(t_s, power_w, start_s, period_s, 777.7, 50e-6, seed=3)
    fit = fit_clock(times_s, values_w, course)
    error_s = largest_error_s(fit, times_s, true_s, course.run_s)
    assert error_s <= max(0.2, period_s / 2)
    assert error_s <= fit.half_width_s
    assert fit.correlation > 0.6


@needs_recordings
def test_another_trace_is_refused() -> None:
    t_s, power_w = recorded("orin-svgg-cifar10-test")
    course, _ = course_of_trace(t_s, power_w)
    other_s, other_w = recorded("orin-vgg-cifar10-test")
    with pytest.raises(NoFit, match=r"longer|shorter|several|does not|does not cover"):
        fit_clock(other_s, other_w, course)


def made(
    levels: list[tuple[float, float]], period_s: float = 0.1, noise_w: float = 0.1, seed: int = 0
) -> tuple[Values, Values]:
    """A trace of (seconds, W)."""
    t_s = np.arange(0, sum(length_s for length_s, _ in levels), period_s)
    ends_s = np.cumsum([length_s for length_s, _ in levels])
    power_w = np.array([watts for _, watts in levels])[
        np.minimum(np.searchsorted(ends_s, t_s, side="right"), len(levels) - 1)
    ]
    return t_s, power_w + np.random.default_rng(seed).normal(0, noise_w, len(t_s))


def plain_course(run_s: float, epochs: int = 3) -> Course:
    """A run of epochs, each with an evaluation in its last tenth."""
    stops_s = np.arange(1, epochs + 1) * run_s / epochs
    phases = (
        Phase("before", np.array([-1e6]), np.array([0.0])),
        Phase("after", np.array([run_s]), np.array([1e6])),
        Phase("evaluation", stops_s - run_s / epochs / 10, stops_s),
    )
    return Course(0, 1.7e9, run_s, -10.0, run_s + 10.0, phases)


EPOCH = [(18.0, 8.0), (2.0, 6.0)]


def test_two_equal_runs_in_one_trace_are_refused() -> None:
    trace = made([(20, 3.0), *EPOCH * 3, (30, 3.0), *EPOCH * 3, (20, 3.0)])
    with pytest.raises(NoFit, match="at several places"):
        fit_clock(*trace, plain_course(60.0))


def test_among_equal_runs_the_one_near_the_wall_clock_is_chosen() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (300, 3.0), *EPOCH * 3, (20, 3.0)])
    course = plain_course(60.0)
    fit = fit_clock(t_s + course.wall_s - 380 + 1.5, power_w, course, is_absolute=True)
    assert fit.near_wall_clock
    assert fit.offset_s + course.wall_s + 1.5 == pytest.approx(0, abs=0.2)


def test_other_programs_cpu_time_widens_the_bound_and_refuses_what_is_then_too_uncertain() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    alone, shared = (
        fit_clock(t_s, power_w, replace(plain_course(60.0), foreign_share=share))
        for share in (0.0, 0.9)
    )
    assert shared.offset_s == alone.offset_s
    assert shared.half_width_s == pytest.approx(1.9 * alone.half_width_s)
    short = made([(20, 3.0), (3.0, 8.0), (20, 3.0)])
    assert fit_clock(*short, plain_course(3.0, 1)).half_width_s > 0.1
    with pytest.raises(NoFit, match=r"does not determine when the run of 3\.0 s began"):
        fit_clock(*short, replace(plain_course(3.0, 1), foreign_share=0.9))


@pytest.mark.parametrize("seed", range(5))
def test_outliers_do_not_move_the_fit(seed: int) -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (60, 3.0)], seed=seed)
    random = np.random.default_rng(seed)
    power_w[random.integers(0, len(power_w), 6)] = random.uniform(20, 1800)
    fit = fit_clock(t_s, power_w, plain_course(60.0))
    assert abs(fit.offset_s + 20) <= fit.half_width_s < 0.5


def test_a_pause_in_the_trace_may_be_a_step_of_the_loggers_clock() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    assert fit_clock(t_s, power_w, plain_course(60.0)).half_width_s < 0.5
    stepped_s = t_s + np.where(t_s > 50, 0.8, 0.0)
    assert 0.6 < fit_clock(stepped_s, power_w, plain_course(60.0)).half_width_s < 1.5
    with pytest.raises(NoFit):
        fit_clock(t_s + np.where(t_s > 50, 20.0, 0.0), power_w, plain_course(60.0))


def test_noise_is_refused() -> None:
    with pytest.raises(NoFit, match="does not follow the run"):
        fit_clock(*made([(200, 5.0)]), plain_course(60.0))


def test_a_trace_that_ends_within_the_run_is_refused() -> None:
    with pytest.raises(
        NoFit,
        match=(
            r"does not cover nine tenths|does not follow|longer|shorter|several|does not determine"
        ),
    ):
        fit_clock(*made([(20, 3.0), *EPOCH * 2]), plain_course(60.0))


def test_the_trace_of_a_longer_run_is_refused() -> None:
    with pytest.raises(
        NoFit, match=r"longer than the run|does not determine when the run began|at several places"
    ):
        fit_clock(*made([(20, 3.0), (66, 8.0), (20, 3.0)]), plain_course(60.0, epochs=1))


def test_too_few_readings_are_refused() -> None:
    with pytest.raises(NoFit, match="8 are needed"):
        fit_clock(np.arange(5.0), np.arange(5.0), plain_course(60.0))


def test_a_logger_that_is_too_slow_for_the_run_is_refused() -> None:
    trace = made([(97, 3.0), (280, 8.0), (103, 3.0)], period_s=10.0)
    with pytest.raises(
        NoFit,
        match=r"every 10 s, too few for a run of 280\.0 s: 30 readings in the run are needed",
    ):
        fit_clock(*trace, plain_course(280.0, epochs=1))


@pytest.mark.parametrize("seed", range(5))
def test_a_logger_that_writes_every_ten_seconds_is_placed(seed: int) -> None:
    t_s, power_w = made(
        [(97.3, 3.0), *[(180.0, 8.0), (20.0, 6.0)] * 3, (103, 3.0)], period_s=10.0, seed=seed
    )
    fit = fit_clock(t_s, power_w, plain_course(600.0))
    assert abs(fit.offset_s + 97.3) <= fit.half_width_s < 12


@pytest.mark.proof
@pytest.mark.parametrize("rate", [-200e-6, 50e-6, 200e-6])
def test_the_drift_of_a_long_run_is_found(rate: float) -> None:
    t_s, power_w = made([(20, 3.0), *[(180.0, 8.0), (20.0, 6.0)] * 36, (20, 3.0)], period_s=0.5)
    fit = fit_clock(t_s * (1 - rate), power_w, plain_course(7200.0, 36))
    assert fit.rate == pytest.approx(rate, abs=20e-6)
    assert largest_error_s(fit, t_s * (1 - rate), t_s - 20, 7200.0) < 0.5


@pytest.mark.parametrize("stated_hz", [1.3, 3.0, 4.0])
def test_a_rate_at_which_the_run_would_be_longer_or_shorter_is_refused(stated_hz: float) -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)], period_s=0.5)
    refuse_rate(t_s, power_w, plain_course(60.0), 2.0)
    with pytest.raises(
        NoFit, match=rf"{stated_hz:g} Hz does not fit: with about (1\.9\d?|2\.?0?\d?) Hz"
    ):
        refuse_rate(t_s * 2.0 / stated_hz, power_w, plain_course(60.0), stated_hz)


def test_the_same_trace_gives_the_same_fit() -> None:
    trace, course = made([(20, 3.0), *EPOCH * 3, (20, 3.0)]), plain_course(60.0)
    assert fit_clock(*trace, course) == fit_clock(*trace, course)


def test_an_offset_by_hand_is_kept() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    fit = given_clock(t_s, power_w, plain_course(60.0), -20.0)
    assert (fit.method, fit.offset_s, fit.rate) == ("by hand", -20.0, 0.0)
    assert fit.correlation > 0.9


def test_an_offset_by_hand_outside_the_trace_is_refused() -> None:
    t_s, power_w = made([(20, 3.0), *EPOCH * 3, (20, 3.0)])
    with pytest.raises(NoFit, match="0 readings in the run"):
        given_clock(t_s, power_w, plain_course(60.0), 5000.0)


def test_a_trace_that_is_upside_down_is_refused() -> None:
    random = np.random.default_rng(2)
    phases = [
        Phase("before", np.array([-1e6]), np.array([0.0])),
        Phase("after", np.array([60.0]), np.array([1e6])),
    ]
    phases.append(Phase("waiting", np.array([20.0, 41.0]), np.array([24.0, 47.0])))
    course = Course(0, 1.7e9, 60.0, -10.0, 70.0, tuple(phases))
    t_s = np.arange(-15.0, 75.0, 0.2)
    is_busy = (t_s >= 0) & (t_s < 60) & ~((t_s >= 20) & (t_s < 24)) & ~((t_s >= 41) & (t_s < 47))
    power_w = 3 + 4 * is_busy + random.normal(0, 0.1, len(t_s))
    assert abs(fit_clock(t_s + 100, power_w, course).offset_s + 100) < 0.3
    with pytest.raises(NoFit):
        fit_clock(t_s + 100, 10 - power_w, course)
