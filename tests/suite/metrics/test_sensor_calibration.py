"""Calibration of an on-board sensor against a meter, on simulated staircases whose gain and offset
are known."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.bundle.arrays import Times, Values, Window
from suite.bundle.channels import Channel
from suite.metrics import sensor_calibration
from suite.metrics.sensor_calibration import SensorCalibration, calibrate

NS = 1e9
START_NS = 5_000_000_000_000
LEVELS_W = (3.0, 5.0, 7.5, 10.0, 7.5, 5.0, 3.0)


@dataclass(frozen=True)
class Simulation:
    """A staircase as a board draws it and two sensors read it."""

    seed: int = 0
    gain: float = 1.0
    offset_w: float = 0.0
    noise_w: float = 0.05
    step_w: float = 0.0
    settling_s: float = 2.0
    plug_delay_s: float = 1.5
    stair_s: float = 30.0
    levels_w: tuple[float, ...] = LEVELS_W

    @property
    def windows(self) -> list[Window]:
        """The stairs."""
        return [
            (START_NS + round(n * self.stair_s * NS), START_NS + round((n + 1) * self.stair_s * NS))
            for n in range(len(self.levels_w))
        ]

    def power_w(self, t_s: Values) -> Values:
        """What the board draws: each stair is reached exponentially."""
        stairs = np.clip((t_s // self.stair_s).astype(int), -1, len(self.levels_w) - 1)
        levels = np.array([*self.levels_w, self.levels_w[0]])
        since_s = t_s - stairs * self.stair_s
        before = np.where(stairs > 0, levels[stairs - 1], levels[0])
        return levels[stairs] + (before - levels[stairs]) * np.exp(
            -np.maximum(since_s, 0) * 3 / self.settling_s
        )

    def channels(self) -> tuple[Channel, Channel]:
        """The on-board sensor at 5 Hz and the plug at 1 Hz, which is late."""
        random, end_s = np.random.default_rng(self.seed), self.stair_s * len(self.levels_w)
        sensor_s, meter_s = np.arange(0, end_s, 0.2), np.arange(0, end_s, 1.0)
        sensor_w = (
            self.gain * self.power_w(sensor_s)
            + self.offset_w
            + random.normal(0, self.noise_w, len(sensor_s))
        )
        meter_w = self.power_w(meter_s - self.plug_delay_s) + random.normal(
            0, self.noise_w, len(meter_s)
        )
        read_w = np.round(sensor_w / self.step_w) * self.step_w if self.step_w else sensor_w
        return channel("sensor", sensor_s, read_w), channel("meter", meter_s, meter_w)

    def calibrated(
        self, expected: tuple[float, float] = (1.0, 1.0), meter_gain_error: float = 0.0
    ) -> SensorCalibration:
        """The fit of this staircase."""
        return calibrate(
            *self.channels(),
            self.windows,
            expected_gain=expected,
            meter_gain_error=meter_gain_error,
        )


def channel(name: str, t_s: Values, values: Values) -> Channel:
    times: Times = START_NS + np.round(t_s * NS).astype(np.int64)
    return Channel(name, "power", "W", 1, 0, len(times), lambda: (times, values))


@settings(deadline=None)  # the first call loads SciPy
@given(
    st.integers(0, 10_000),
    st.floats(0.8, 1.2),
    st.floats(-2, 2),
    st.floats(0.005, 0.2),
    st.floats(0.1, 4),
    st.floats(0, 4),
)
def test_finds_the_gain_within_one_percent(seed, gain, offset_w, noise_w, settling_s, delay_s):
    found = Simulation(
        seed, gain, offset_w, noise_w, settling_s=settling_s, plug_delay_s=delay_s
    ).calibrated()
    assert found.gain == pytest.approx(gain, rel=0.01 + 0.1 * noise_w)
    assert found.offset_w == pytest.approx(offset_w, abs=0.1 + noise_w)


@pytest.mark.proof
@pytest.mark.parametrize("noise_w", [0.02, 0.2])
@pytest.mark.parametrize("step_w", [0.0, 0.04, 0.4])
def test_95_percent_intervals_hold(noise_w, step_w):
    fits = [
        Simulation(
            seed, 1.07, 0.3, noise_w, step_w, levels_w=tuple(np.linspace(3, 10, 7) + 0.01 * seed)
        ).calibrated()
        for seed in range(200)
    ]
    held = np.mean([fit.gain_low <= 1.07 <= fit.gain_high for fit in fits])
    assert held >= 0.93


def test_seven_percent_too_much_is_found():
    found = Simulation(gain=1.07, step_w=0.04).calibrated(meter_gain_error=0.01)
    assert found.deviates is True
    assert found.gain == pytest.approx(1.07, rel=0.01)
    assert found.reason is None


def test_a_right_sensor_does_not_deviate():
    fits = [Simulation(seed, step_w=0.04).calibrated(meter_gain_error=0.01) for seed in range(50)]
    assert [fit.deviates for fit in fits] == [False] * 50


def test_behind_an_adapter_its_efficiency_is_no_deviation():
    assert Simulation(gain=0.88, offset_w=-1.5).calibrated(expected=(0.75, 0.97)).deviates is False
    assert Simulation(gain=0.60, offset_w=-1.5).calibrated(expected=(0.75, 0.97)).deviates is True


def test_an_uncertain_gain_is_neither_right_nor_wrong():
    found = Simulation(noise_w=0.05, levels_w=(3.0, 3.02, 3.04, 3.06)).calibrated()
    assert found.deviates is None
    assert found.gain is not None
    assert "more steps" in found.reason


@settings(deadline=None)  # the first call loads SciPy
@given(st.floats(0.1, 10))
def test_changing_the_unit_of_both_changes_no_gain(factor):
    sensor, meter = Simulation(seed=1, gain=1.05, offset_w=0.4).channels()
    windows = Simulation().windows
    one = calibrate(sensor, meter, windows)
    other = calibrate(times(sensor, factor), times(meter, factor), windows)
    assert other.gain == pytest.approx(one.gain, rel=1e-6)
    assert other.offset_w == pytest.approx(one.offset_w * factor, rel=1e-4)


@settings(deadline=None)  # the first call loads SciPy
@given(st.integers(0, 1000))
def test_exchanging_the_sensors_inverts_the_gain(seed):
    sensor, meter = Simulation(seed, gain=1.1, offset_w=0.2).channels()
    windows = Simulation().windows
    assert calibrate(meter, sensor, windows).gain == pytest.approx(
        1 / calibrate(sensor, meter, windows).gain, rel=1e-6
    )


def test_corrected_inverts_the_line():
    found = Simulation(gain=1.07, offset_w=0.3).calibrated()
    assert found.corrected(1.07 * 8 + 0.3) == pytest.approx(8, rel=0.01)


def test_a_stair_that_never_settles_is_left_out():
    simulation = Simulation(noise_w=0.01)
    sensor, meter = simulation.channels()
    late = simulation.windows[3]
    rising = (sensor.t_ns >= late[0]) & (sensor.t_ns < late[1])
    ramp = np.where(rising, sensor.values + (sensor.t_ns - late[0]) / NS * 0.1, sensor.values)
    found = calibrate(
        channel("sensor", (sensor.t_ns - START_NS) / NS, ramp), meter, simulation.windows
    )
    assert [stair.reason is None for stair in found.stairs] == [
        True,
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    assert "its power changed by" in found.stairs[3].reason
    assert found.gain == pytest.approx(1, rel=0.01)


def test_too_few_stairs_give_a_reason():
    found = Simulation(levels_w=(3.0, 8.0)).calibrated()
    assert found.gain is None
    assert found.deviates is None
    assert found.reason == "2 steps of the staircase can be used; 3 are needed"


def test_a_stuck_sensor_gives_a_reason():
    _, meter = Simulation().channels()
    stuck = channel("sensor", np.arange(0, 210, 0.2), np.full(1050, 5.0))
    assert (
        calibrate(stuck, meter, Simulation().windows).reason
        == "the sensor read the same power in all steps of the staircase"
    )


def test_a_silent_sensor_gives_a_reason():
    _, meter = Simulation().channels()
    found = calibrate(channel("sensor", np.empty(0), np.empty(0)), meter, Simulation().windows)
    assert found.stairs[0].reason == "its steady part has 0 readings; 5 are needed"
    assert found.to_dict()["stairs"][0]["sensor_w"] is None


def times(whole: Channel, factor: float) -> Channel:
    return channel(whole.source, (whole.t_ns - START_NS) / NS, whole.values * factor)


def test_the_interval_is_that_of_students_t_and_of_the_meters_gain() -> None:
    """Seven stairs leave 5 degrees of freedom: 2.570582."""
    found = Simulation().calibrated(meter_gain_error=0.02)
    assert all(stair.reason is None for stair in found.stairs)
    assert found.gain is not None and found.gain_error is not None
    half = np.hypot(2.570582 * found.gain_error, 0.02 * found.gain)
    assert (found.gain_low, found.gain_high) == pytest.approx(
        (found.gain - half, found.gain + half)
    )


@pytest.mark.parametrize(("chi_square", "factor"), [(4.0, 2.0), (0.25, 1.0)])
def test_points_far_from_the_line_widen_its_errors_and_near_ones_do_not(
    chi_square: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = sensor_calibration._Line(1.0, 0.5, 0.01, 0.2, chi_square)
    monkeypatch.setattr(sensor_calibration, "_york", lambda _: line)
    found = Simulation().calibrated()
    assert (found.gain_error, found.offset_error_w) == pytest.approx((0.01 * factor, 0.2 * factor))
    assert found.scatter == pytest.approx(np.sqrt(chi_square))
