import time
from pathlib import Path
from typing import Any

import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.meters.meter import MeteredProcess
from suite.meters.sources import wall_clock
from suite.meters.sources.wall_clock import WallClockMeter
from suite.metrics.disturbances import ClockStep, find_clock_steps


class SetClock:
    """The time module's clocks, the wall clock set by ``set_s``."""

    def __init__(self) -> None:
        self.set_s = 0.0

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def time_ns(self) -> int:
        return time.time_ns() + round(self.set_s * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A wall clock that can be set without being root."""
    fake = SetClock()
    monkeypatch.setattr(wall_clock, "time", fake)
    return fake


def test_steps_forward_and_back_are_found_with_their_size(clock: SetClock, replay) -> None:
    states = [
        lambda set_s=set_s: setattr(clock, "set_s", set_s)
        for set_s in (0, 0, 3600, 3600, 3599.5, 3599.5)
    ]
    readings = replay(WallClockMeter(), states)
    steps = find_clock_steps(channels_of_frame(readings), 0, 5 * 10**9)
    assert steps == (
        ClockStep(2 * 10**9, pytest.approx(3600, abs=0.01)),
        ClockStep(4 * 10**9, pytest.approx(-0.5, abs=0.01)),
    )


def test_slewing_is_no_step(clock: SetClock, replay) -> None:
    states = [
        lambda second=second: setattr(clock, "set_s", second * 0.0005) for second in range(10)
    ]
    assert find_clock_steps(channels_of_frame(replay(WallClockMeter(), states)), 0, 9 * 10**9) == ()


def test_a_step_outside_the_run_is_not_the_runs(clock: SetClock, replay) -> None:
    states = [lambda set_s=set_s: setattr(clock, "set_s", set_s) for set_s in (0, 60, 60, 60)]
    assert (
        find_clock_steps(channels_of_frame(replay(WallClockMeter(), states)), 2 * 10**9, 3 * 10**9)
        == ()
    )


def test_this_machines_clocks_agree_to_a_millisecond() -> None:
    meter = WallClockMeter()
    meter.open(MeteredProcess(1, Path("/data")))
    (reading,) = meter.read()
    assert reading.value == pytest.approx(0, abs=1e-3)


def test_no_readings_no_steps() -> None:
    empty = pandas.DataFrame({name: [] for name in ("t_ns", "source", "channel", "value", "unit")})
    assert find_clock_steps(channels_of_frame(empty), 0, 1) == ()
