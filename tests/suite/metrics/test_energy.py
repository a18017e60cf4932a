"""Energy arithmetic, to 1e-9 of the analytic value, for irregular readings and arbitrary
windows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.catalog.power import PowerTotal, load_power_rules
from suite.files.counted import counted
from suite.metrics.energy import Energy, _sum, integrate_power
from suite.metrics.window import counter_increase

ANYTHING = (-math.inf, math.inf)
BOOT_NS = 40 * 86400 * 10**9  # a board that has been up for forty days
SECOND = 10**9


def ns(seconds: "float | np.ndarray") -> "np.ndarray":
    """Monotonic times, whole nanoseconds."""
    return BOOT_NS + np.round(np.asarray(seconds) * 1e9).astype(np.int64)


def power(
    t_s: "list[float] | np.ndarray",
    power_w: "list[float] | np.ndarray",
    start_s: float,
    stop_s: float,
    period_s: float = 1.0,
) -> Energy:
    """Integrate; every reading is plausible."""
    return integrate_power(
        ns(t_s),
        np.asarray(power_w, dtype=float),
        int(ns(start_s)),
        int(ns(stop_s)),
        period_s,
        ANYTHING,
    )


@st.composite
def irregular_times(draw: st.DrawFn) -> "np.ndarray":
    """Irregular times of readings that extend beyond the window [0, 1000] s."""
    steps = draw(st.lists(st.floats(0.001, 20.0), min_size=2, max_size=60))
    times = np.cumsum([0.0, *steps])
    return -1.0 + times / times[-1] * 1002.0


window_ends = (
    st.tuples(st.floats(0, 1000), st.floats(0, 1000))
    .filter(lambda ends: abs(ends[0] - ends[1]) > 1)
    .map(sorted)
)


@given(irregular_times(), st.floats(0, 100), st.floats(0.001, 5), window_ends)
def test_a_ramp_is_exact_wherever_the_readings_and_the_cuts_are(
    t_s, level_w, slope, window
) -> None:
    start_s, stop_s = ((int(ns(end)) - BOOT_NS) / 1e9 for end in window)
    rounded_s = (ns(t_s) - BOOT_NS) / 1e9
    measured = power(t_s, level_w + slope * rounded_s + 10, *window, period_s=1000)
    exact = (level_w + 10) * (stop_s - start_s) + slope * (stop_s**2 - start_s**2) / 2
    assert measured.energy_j == pytest.approx(exact, rel=1e-9)


@given(irregular_times(), st.lists(st.floats(0, 300), min_size=61, max_size=61), st.floats(1, 999))
def test_two_parts_of_a_window_add_up_to_the_whole(t_s, powers_w, cut_s) -> None:
    powers_w = np.array(powers_w[: len(t_s)])
    cut_ns, start_ns, stop_ns = int(ns(cut_s)), int(ns(0)), int(ns(1000))
    parts = [
        integrate_power(ns(t_s), powers_w, *window, 1000, ANYTHING).energy_j
        for window in ((start_ns, cut_ns), (cut_ns, stop_ns))
    ]
    whole = integrate_power(ns(t_s), powers_w, start_ns, stop_ns, 1000, ANYTHING).energy_j
    assert sum(parts) == pytest.approx(whole, rel=1e-9, abs=1e-9)


@given(irregular_times(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_the_order_of_the_readings_does_not_matter(t_s, random) -> None:
    powers_w = np.sqrt(np.arange(len(t_s)))
    order = list(range(len(t_s)))
    random.shuffle(order)
    assert power(t_s[order], powers_w[order], 100, 900, 1000) == power(
        t_s, powers_w, 100, 900, 1000
    )


@given(irregular_times(), st.floats(0.01, 500), window_ends)
def test_a_counter_of_constant_power_gives_power_times_time(t_s, power_w, window) -> None:
    counter_j = 1e6 + power_w * (ns(t_s) - int(ns(t_s[0]))) / 1e9
    measured = counter_increase(ns(t_s), counter_j, *(int(ns(end)) for end in window), 1000)
    # 1e6 J take digits
    assert measured.value == pytest.approx(
        power_w * (int(ns(window[1])) - int(ns(window[0]))) / 1e9, rel=1e-6
    )


def test_a_window_inside_one_pair_of_readings_is_interpolated_at_both_ends() -> None:
    assert power([0, 10], [0, 10], 4, 6, period_s=10).energy_j == pytest.approx(10.0)


def test_complete_readings_cover_the_window() -> None:
    measured = power(np.arange(-1, 12), np.full(13, 5.0), 0, 10)
    assert measured == Energy(pytest.approx(50.0), None, pytest.approx(1.0), 0, 1.0, 1.0, 11, 0)


def test_a_sum_of_rails_is_as_complete_as_its_least_complete_rail() -> None:
    total = PowerTotal(load_power_rules()[0], "ina3221", ("CPU", "GPU", "SOC"))
    parts = [
        Energy(value, None, coverage, gaps, 1.0, longest_s, 10, rejected)
        for value, coverage, gaps, longest_s, rejected in (
            (20.0, 0.9, 1, 2.0, 3),
            (30.0, 0.5, 2, 6.0, 1),
            (40.0, 1.0, 0, 1.0, 0),
        )
    ]
    assert _sum(total, parts) == Energy(90.0, None, 0.5, 2, 1.0, 6.0, 10, 4)


def test_a_pause_of_exactly_three_periods_is_none() -> None:
    measured = power([0, 1, 4, 5], [5.0] * 4, 0, 5)
    assert (measured.gaps, measured.coverage) == (0, pytest.approx(1.0))


def test_a_pause_that_reaches_into_the_window_counts_only_for_its_part_inside() -> None:
    assert power([-8, 2, 3, 4], [5.0] * 4, 0, 4).coverage == pytest.approx(0.5)


def test_a_sensor_that_starts_late_gives_no_energy() -> None:
    measured = power(np.arange(6, 12), np.full(6, 5.0), 0, 10)
    assert measured.energy_j is None
    assert "after the start" in (measured.reason or "")


def test_readings_shortly_inside_the_window_are_extended_to_its_ends() -> None:
    measured = power([1, 2, 3], [5.0, 5.0, 5.0], 0, 4.5)
    assert measured.energy_j == pytest.approx(22.5)
    assert measured.coverage == pytest.approx(2 / 4.5)


@pytest.mark.parametrize(("t_s", "count"), [([], 0), ([5.0], 1)])
def test_fewer_than_two_readings_give_no_energy(t_s: list[float], count: int) -> None:
    measured = power(t_s, [5.0] * count, 0, 10)
    assert measured.energy_j is None
    assert measured.reason == f"{counted(count, 'plausible reading')}; two are needed"


@pytest.mark.parametrize("t_s", [[-2.0, -1.0], [10.0, 11.0]])
def test_readings_on_one_side_of_the_window_give_no_energy(t_s: list[float]) -> None:
    measured = power(t_s, [5.0, 5.0], 0, 10, period_s=100)
    assert measured.reason == "all readings lie on one side of the window"


def test_an_empty_window_has_no_energy() -> None:
    assert power([0, 1, 2], [1, 1, 1], 2, 2).reason == "the window is empty"


def test_absurd_and_negative_readings_are_left_out_and_counted() -> None:
    t_s, powers_w = np.arange(11.0), np.full(11, 5.0)
    powers_w[[2, 4, 6, 8]] = [-3.0, 65535.0, math.nan, math.inf]
    measured = integrate_power(ns(t_s), powers_w, int(ns(0)), int(ns(10)), 1.0, (0.0, 100.0))
    assert measured.energy_j == pytest.approx(50.0)
    assert (measured.rejected, measured.count) == (4, 7)


def test_a_counter_that_steps_back_is_left_out() -> None:
    counter_j = np.array([0, 5, 2, 15, 20.0])
    measured = counter_increase(ns([0, 1, 2, 3, 4]), counter_j, int(ns(0)), int(ns(4)), 1.0)
    assert (measured.value, measured.rejected) == (pytest.approx(20.0), 1)


def test_a_counter_whose_readings_lie_inside_the_window_is_extrapolated_at_the_adjacent_power() -> (
    None
):
    measured = counter_increase(
        ns([1, 2, 3]), np.array([100, 110, 130.0]), int(ns(0)), int(ns(4)), 1.0
    )
    assert measured.value == pytest.approx(10 + 30 + 20)


def test_a_million_readings_after_long_uptime_lose_no_precision() -> None:
    """How long they take: benchmarks/energy_speed.py."""
    # after a hundred days of uptime
    t_ns = 10**16 + np.arange(1_000_000, dtype=np.int64) * 1_000_000
    t_s = np.arange(1_000_000) / 1000
    measured = integrate_power(
        t_ns, 10 + t_s / 100, 10**16 + 500_000, 10**16 + 999_000_500_000, 0.001, (0.0, 100.0)
    )
    first_s, last_s = 0.0005, 999.0005
    last_s = min(last_s, t_s[-1])
    exact_j = 10 * (last_s - first_s) + (last_s**2 - first_s**2) / 200
    held_j = (10 + t_s[-1] / 100) * (999.0005 - last_s)
    assert measured.energy_j == pytest.approx(exact_j + held_j, rel=1e-9)
