"""The parts of an energy's uncertainty, each by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.bundle.channels import Channel, Channels
from suite.catalog.power import Coverage, PowerRule, PowerTotal, Tier
from suite.metrics import uncertainty
from suite.metrics.energy import Energy, energy_of
from suite.metrics.energy_figures import mean_energy
from suite.metrics.uncertainty import (
    NORMAL,
    Uncertainty,
    at_random_moments,
    edges_half_width,
    gaps_half_width,
    quantisation_half_width,
    sampling_half_width,
    shift_half_width,
    weights_s,
)

SECOND = 10**9


def array(*values: float) -> Values:
    return np.array(values, dtype=float)


@pytest.mark.parametrize(
    ("t_s", "window_s", "longest_s", "expected"),
    [
        # [-1, 1] counts from 0 on, [3, 9] up to 8: a straight line's share of both readings
        ((-1, 1, 3, 9), 8, math.inf, (0.25, 1.75, 1 + 35 / 12, 25 / 12)),
        ((-1, 1, 3, 9), 8, 6, (0.25, 1.75, 1 + 35 / 12, 25 / 12)),
        ((-1, 1, 3, 9), 8, 5.9, (0.25, 1.75, 1, 0)),
        ((1, 3), 5, math.inf, (2, 3)),  # the first and the last reading are held to the ends
    ],
)
def test_a_readings_weight_is_its_share_of_the_trapezoids(
    t_s: tuple[float, ...], window_s: float, longest_s: float, expected: tuple[float, ...]
) -> None:
    assert weights_s(array(*t_s), window_s, longest_s) == pytest.approx(expected)


def test_the_power_in_a_pause_may_be_any_that_nine_tenths_of_the_readings_span() -> None:
    """Readings of 0 to 20 W, of which 1 to 19 W are the middle 90 %; pauses from -4 to 1 s and
    from 19 to 25 s, the window from 0 to 24 s."""
    t_s, power_w = array(-4, *range(1, 20), 25), np.arange(21.0)
    second_j = (24 - 19) * ((19 + 2.5 / 6) - 1)
    assert gaps_half_width(t_s, power_w, 24, 5) == pytest.approx(second_j)
    assert gaps_half_width(t_s, power_w, 24, 4.9) == pytest.approx((19 - 0.9) * 1 + second_j)
    assert gaps_half_width(t_s, power_w, 24, 6) == 0


def test_a_load_may_begin_anywhere_between_the_readings_beside_an_edge() -> None:
    """From 10 to 20 W between -1 and 3 s: the line gives 3 * 20 - 3/8 * 30 J, and a load from the
    edge on 3 * 20 J; one that begins at 3 s gives 30 J, 5/8 * 30 J less. At the end from 15 to 5 W
    between 6 and 12 s, of which 4 s are inside."""
    t_s, power_w = array(-1, 3, 6, 12), array(10, 20, 15, 5)
    assert edges_half_width(t_s, power_w, 10) == pytest.approx(
        math.hypot(5 / 8 * 30, 2 / 3 * 4 * 10)
    )
    assert edges_half_width(t_s + 1, power_w, 13) == 0, "readings at the edges themselves"


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_clocks_error_moves_the_load_beside_the_run_into_it(is_mirrored: bool) -> None:
    """10 W, and 30 W from 2 s after the run on: 1 s later is 15 J instead of 10 J of it; 1 s
    earlier is the same energy."""
    t_s, power_w = array(-5, 0, 10, 11, 12, 20), array(10, 10, 10, 20, 30, 30)
    if is_mirrored:
        t_s, power_w = (10 - t_s)[::-1], power_w[::-1]
    assert shift_half_width(t_s, power_w, 10, 1.0) == pytest.approx(5.0)
    assert shift_half_width(t_s, power_w, 10, 0.0) == 0


@pytest.mark.parametrize(
    ("values", "step", "expected"),
    [
        # weights of 2, 5 and 3 s; readings of one code err alike
        ((5, 6, 7), 1.0, NORMAL / math.sqrt(12) * math.sqrt(4 + 25 + 9)),
        ((5, 6, 5), 1.0, NORMAL / math.sqrt(12) * math.sqrt((2 + 3) ** 2 + 25)),
        ((5, 5, 5), 1.0, 10 / 2),  # half a step at most
        # without a stated step, the smallest difference between two readings
        ((7, 5, 5.5), None, 0.5 * NORMAL / math.sqrt(12) * math.sqrt(4 + 25 + 9)),
        ((5, 5, 5), None, 0.0),
    ],
)
def test_a_sensors_step_is_an_error_of_every_code(
    values: tuple[float, ...], step: float | None, expected: float
) -> None:
    found = quantisation_half_width(array(0, 4, 10), array(*values), 10, step)
    assert found == pytest.approx(expected)


def test_every_part_of_an_uncertainty_is_multiplied_and_stays_positive() -> None:
    assert Uncertainty(1, 2, 3, 4, 5, True).times(-2) == Uncertainty(2, 4, 6, 8, 10, True)
    assert Uncertainty(None, 2, 3, 4, 5, False).times(2).sampling is None
    assert Uncertainty(1, 2, 4, 10, 0, False).half_width == pytest.approx(11)


@pytest.mark.parametrize(
    ("spacings_s", "is_random"),
    [
        ((0.3, 1.7, 0.5, 1.4, 0.8, 1.1, 0.2, 1.9), True),
        ((0.3, 1.7, 0.5, 1.4, 0.8, 1.1, 0.2), False),  # eight readings are too few
        ((1.0, 1.0, 1.0, 0.3, 0.5, 0.6, 1.6, 1.9), True),
        ((1.0, 1.0, 1.0, 1.0, 0.3, 0.5, 1.6, 1.9), False),  # half of them near the median
    ],
)
def test_random_moments_are_told_from_a_clocks(
    spacings_s: tuple[float, ...], is_random: bool
) -> None:
    assert at_random_moments(np.cumsum([0.0, *spacings_s])) is is_random


def test_half_a_squared_difference_and_the_distance_from_a_line_tell_the_nugget() -> None:
    """0 and 2 W in turns: half of 2^2, and 2^2 over the 1.5 times that three readings have."""
    t_s, power_w = np.arange(5.0), array(0, 2, 0, 2, 0)
    assert uncertainty._fit_differences(t_s, power_w, math.inf) == pytest.approx((2, 0))
    assert uncertainty._fit_residuals(t_s, power_w, math.inf) == pytest.approx((4 / 1.5, 0))
    half = 4.302653 * math.sqrt((2 + 4 / 1.5) / 2 * (0.25 + 3 + 0.25))
    assert sampling_half_width(t_s, power_w, 4.0, math.inf) == pytest.approx(half, rel=1e-6)
    assert sampling_half_width(t_s, power_w, 3.9, math.inf) is None


def test_the_mean_of_epochs_has_the_mean_of_what_errs_alike_and_less_of_what_does_not() -> None:
    epochs = [
        Energy(energy_j, None, 1.0, 0, 1.0, 1.0, 9, 0, Uncertainty(6.0, 1.0, gain, 0, 12, False))
        for energy_j, gain in ((10.0, 1.0), (20.0, 2.0), (60.0, 6.0))
    ]
    found = mean_energy(epochs, "", 1.0)
    root = math.sqrt(3)
    assert (found.value, found.count) == (pytest.approx(30.0), 3)
    assert found.uncertainty == Uncertainty(
        pytest.approx(6 / root), 1.0, 3.0, 0.0, pytest.approx(12 / root), False
    )
    assert mean_energy([*epochs, replace(epochs[0], uncertainty=None)], "", 1.0).uncertainty is None


RULE = PowerRule(
    "a rule", ("first", "meter"), ("A", "B"), Coverage.BOARD, Tier.ON_BOARD, "W", (0.0, 50.0), "",
    gain_error=0.1, step=(0.0, 0.0), delay_s=(9.0, 0.5), scale=2.0, offset_w=3.0, min_coverage=0.9,
)  # fmt: skip


def measured(rule: PowerRule, t_s: Values, *values: Values) -> Energy:
    """The energy of a total of one or two channels in a window of 10 s, with two readings more on
    either side."""
    t_ns = np.round(t_s * SECOND).astype(np.int64) + 5 * SECOND
    names = "AB"[: len(values)]
    channels = [
        Channel("meter", name, rule.unit, 1.0, 0, len(t_ns), lambda each=each: (t_ns, each))
        for name, each in zip(names, values, strict=True)
    ]
    total = PowerTotal(rule, "meter", tuple(names))
    return energy_of(Channels(tuple(channels), t_ns), total, 5 * SECOND, 15 * SECOND)


def test_an_energy_is_calibrated_and_its_errors_with_it() -> None:
    """4 and 6 W for 10 s are 100 J; calibrated, twice that and 3 W more. Readings that are 0.5 s
    old miss what the power rises by between the ends."""
    t_s = np.arange(-2.0, 13.0)
    found = measured(RULE, t_s, np.full(15, 4.0), np.full(15, 6.0))
    assert found.energy_j == pytest.approx(2 * 100 + 3 * 10)
    assert found.uncertainty is not None
    assert (found.uncertainty.gain, found.uncertainty.time) == pytest.approx((23.0, 0.0))
    rising = measured(RULE, t_s, 4 + 0.2 * t_s, np.full(15, 6.0)).uncertainty
    assert rising is not None and rising.time == pytest.approx(2 * 0.5 * (0.2 * 10))


def test_a_counters_error_is_at_its_ends_and_of_its_steps() -> None:
    """5 W, and 9 W from the last reading in the window on: its end is off by the difference of 4 W
    times the 0.4 s to the nearer reading and the 0.5 s that this one may be old."""
    rule = replace(RULE, unit="J", step=(0.6, 0.8), scale=1.0, offset_w=0.0)
    t_s = np.arange(-2.6, 13.0)
    one_j = np.interp(t_s, [-3, 9.4, 20], [0, 5 * 12.4, 5 * 12.4 + 9 * 10.6])
    found = measured(rule, t_s, one_j, 2 * t_s + 100)
    assert found.energy_j == pytest.approx(5 * 9.4 + 9 * 0.6 + 2 * 10) and found.rejected == 0
    assert found.uncertainty is not None
    assert found.uncertainty.time == pytest.approx(4 * (0.4 + 0.5))
    assert found.uncertainty.quantisation == pytest.approx(1.0 / math.sqrt(3))
