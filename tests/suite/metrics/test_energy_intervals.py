"""Where intervals of energies are claimed; `make prove energy-intervals` draws how often they
hold."""

import numpy as np
import pytest

from proofs.energy_intervals.__main__ import (
    SENSORS,
    WAVES_HZ,
    imperfect_sensor,
    random_moments,
    wave_at_random,
    wave_on_a_clock,
)
from suite.metrics.energy_figures import energy_figures
from suite.metrics.figure import Figure
from suite.metrics.uncertainty import (
    Uncertainty,
    at_random_moments,
    quantisation_half_width,
    uncertainty_of_sum,
)
from tests.every_case import some

DRAWS = 40


ON_EVERY_BEAT_HZ = 5.0


def rng() -> np.random.Generator:
    """The same draws every time."""
    return np.random.default_rng(20)


def test_a_wave_that_the_clock_never_sees_change_is_a_sensor_that_never_changes() -> None:
    energy, _ = wave_on_a_clock(ON_EVERY_BEAT_HZ, rng())
    assert energy.energy_j is None and "stuck" in str(energy.reason)


@pytest.mark.parametrize("hertz", [hertz for hertz in WAVES_HZ if hertz != ON_EVERY_BEAT_HZ])
def test_on_a_fixed_clock_aliasing_is_possible_and_no_interval_is_claimed(hertz: float) -> None:
    energy, _ = wave_on_a_clock(hertz, rng())
    assert energy.uncertainty is not None
    assert energy.uncertainty.possibly_aliased
    assert energy.uncertainty.sampling is None
    assert energy.interval_j is None
    assert energy.uncertainty.to_dict()["confidence"] is None


def test_a_beat_of_load_and_clock_is_why() -> None:
    draws = rng()
    errors = [
        abs((energy.energy_j or 0.0) / true_j - 1)
        for energy, true_j in (wave_on_a_clock(1.0, draws) for _ in range(DRAWS))
    ]
    assert max(errors) > 0.05
    assert np.abs(wave_at_random(1.0, DRAWS, draws).errors_j).mean() / 420 < 0.02


@pytest.mark.parametrize(("kind", "step_w", "gain_error"), some(SENSORS, 3))
def test_a_sensor_of_known_gain_and_resolution_lies_in_its_intervals(
    kind: str, step_w: float, gain_error: float
) -> None:
    assert imperfect_sensor(kind, step_w, gain_error, 2 * DRAWS, rng()).held.mean() >= 0.9


def test_random_moments_are_told_from_a_clock_that_is_late_at_times() -> None:
    draws = rng()
    clock = np.arange(200) + np.abs(draws.normal(0, 0.03, 200))
    assert at_random_moments(random_moments(draws, 200.0, 1.0))
    assert not at_random_moments(clock)
    assert not at_random_moments(clock[draws.random(200) > 0.1])  # a tenth of its readings missing
    # a clock of 1.5 s that writes whole seconds: 1 s and 2 s take turns
    assert not at_random_moments(np.round(np.arange(0, 300, 1.5)))
    assert not at_random_moments(np.sort(np.concatenate((clock, clock + 0.3))))  # two clocks
    assert sum(at_random_moments(random_moments(draws, 40.0, 1.0)) for _ in range(200)) >= 198


def test_steps_of_a_sensor_cost_less_where_the_power_scatters() -> None:
    held, widths = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        step, t_s = 10 ** random.uniform(-2, 0), np.arange(300) / 10
        power_w = 5 + (t_s % random.uniform(2, 20) > 1) * random.uniform(0, 4)
        power_w += random.normal(0, step * 10 ** random.uniform(-2, 0.5), len(t_s))
        read_w = np.round(power_w / step) * step
        widths.append(
            [
                quantisation_half_width(t_s, read_w, 29.9, step, varies=varies)
                for varies in (True, False)
            ]
        )
        held.append(abs(np.trapezoid(read_w - power_w, t_s)) <= widths[-1][0])
    assert np.mean(held) >= 0.95 and np.mean(np.divide(*np.transpose(widths))) < 0.8


def test_parts_of_one_sensors_sum_are_added_where_they_err_alike() -> None:
    one = Uncertainty(3.0, 1.0, 2.0, 0.0, 4.0, possibly_aliased=False)
    assert uncertainty_of_sum([one, one], of_one_sensor=True) == Uncertainty(
        pytest.approx(4.2426, abs=1e-4), 2.0, 4.0, 0.0, pytest.approx(5.6569, abs=1e-4), False
    )
    assert uncertainty_of_sum([one, one], of_one_sensor=False).gain == pytest.approx(
        2.8284, abs=1e-4
    )
    unknown = Uncertainty(None, 1.0, 2.0, 0.0, 4.0, possibly_aliased=True)
    assert uncertainty_of_sum([one, unknown], of_one_sensor=True).half_width is None


def test_a_figure_without_totals_has_neither_energy_nor_interval() -> None:
    from suite.bundle.channels import no_channels

    figure: Figure = energy_figures(no_channels(), (), (0, 10**9), ())["energy_j"]
    assert (figure.value, figure.low, figure.high, figure.uncertainty) == (None, None, None, None)
