"""The laws of the emulated board: the closed form is the integral, and the registers show the
power."""

import numpy as np
import pytest

from proofs.box.law import (
    BUS_STEP_V,
    RAILS,
    SHUNT_OHM,
    SHUNT_STEP_V,
    energy_of_time_j,
    power_of_load_w,
    power_of_time_w,
    registers,
)


@pytest.mark.parametrize(
    ("start_s", "stop_s"), [(0.0, 1.0), (3.3, 61.7), (100.0, 104.6), (7.0, 7.5)]
)
def test_the_closed_form_is_the_integral(start_s: float, stop_s: float) -> None:
    edges_s = np.linspace(start_s, stop_s, 200_001)
    middles_s = (edges_s[1:] + edges_s[:-1]) / 2
    integral_j = sum(map(power_of_time_w, middles_s)) * (edges_s[1] - edges_s[0])
    assert energy_of_time_j(start_s, stop_s) == pytest.approx(integral_j, rel=1e-4)


@pytest.mark.parametrize("gain", [1.0, 1.07])
def test_the_registers_show_each_rail_s_share(gain: float) -> None:
    found = registers(8.0, gain)
    for place, (_, share) in enumerate(RAILS):
        current_a = (found[1 + 2 * place] >> 3) * SHUNT_STEP_V / SHUNT_OHM
        voltage_v = (found[2 + 2 * place] >> 3) * BUS_STEP_V
        assert current_a * voltage_v == pytest.approx(gain * share * 8.0, abs=0.021)
        assert found[1 + 2 * place] < 0x8000  # the sign bit


def test_power_grows_with_busy_cores() -> None:
    assert [power_of_load_w(cores) for cores in (0, 1, 4)] == [3.0, 5.5, 13.0]
