"""Nothing that a meter does can stop a run, and its record shows what happened."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.frames import read_raw_readings
from suite.execution.recorder import MeterRecord, Recorder
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments, Reading

NAN = float("nan")


class ScriptedMeter:
    """Reads what its script says: a value, an exception, or seconds to take before the value 1."""

    def __init__(
        self,
        name: str,
        clock: Any,
        script: Callable[[int], Any] = lambda turn: 1.0,
        period_s: float = 1.0,
    ) -> None:
        self.name, self.period_s, self.description = name, period_s, "scripted"
        self.moments_s: list[float] = []
        self.closed = 0
        self._clock, self._script = clock, script

    def availability(self) -> MeterAvailability:
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        assert process == PROCESS

    def read(self) -> list[Reading]:
        self.moments_s.append(self._clock.now_s)
        value = self._script(len(self.moments_s))
        if isinstance(value, BaseException):
            raise value
        return [Reading(self._clock.now_ns(), self.name, "channel", value, "W")]

    def close(self) -> None:
        self.closed += 1


PROCESS = MeteredProcess(1, Path("/data"))


def record(directory: Path, clock: Any, *meters: Any) -> dict[str, MeterRecord]:
    """Run a recorder to the scripted end of time."""
    recorder = Recorder(meters, directory, clock)
    recorder.start(PROCESS)
    recorder._thread.join(120)  # type: ignore[union-attr]  # scripted time runs by itself
    return {each.name: each for each in recorder.stop()}


def test_each_meter_is_read_on_its_own_period_and_once_more_at_the_end(
    tmp_path: Path, clock: Any
) -> None:
    time = clock(10.5)
    fast, slow = ScriptedMeter("fast", time), ScriptedMeter("slow", time, period_s=4.0)
    records = record(tmp_path, time, fast, slow)
    assert fast.moments_s == [*range(11), 10.5]
    assert slow.moments_s == [0, 4, 8, 10.5]
    assert records["slow"] == MeterRecord(
        "slow",
        4.0,
        True,
        "",
        readings=4,
        achieved_period_s=4.0,
        longest_gap_s=4.0,
        jitter_s=pytest.approx(0.866, abs=1e-3),
    )
    assert len(read_raw_readings(tmp_path / "readings.csv")) == 16
    assert records["recorder"].readings == 16
    assert (fast.closed, slow.closed) == (1, 1)


def test_a_meter_at_random_moments_is_read_once_a_period_and_the_record_shows_its_jitter_and_its_settings(  # noqa: E501
    tmp_path: Path, clock: Any
) -> None:
    class Sensor(ScriptedMeter):
        moments = Moments.RANDOM

        def settings(self) -> dict[str, str]:
            return {"samples": "16"}

    time = clock(200.0)
    sensor, other = Sensor("sensor", time), ScriptedMeter("other", time)
    record_ = record(tmp_path, time, sensor, other)["sensor"]
    assert [int(moment_s) for moment_s in sensor.moments_s[:200]] == list(range(200))
    assert other.moments_s[:200] == pytest.approx(list(range(200)))
    assert (record_.moments, record_.settings) == ("random", {"samples": "16"})
    # 1 / root of 6: the spread of the time between random moments of two periods
    assert record_.jitter_s == pytest.approx(0.41, abs=0.1)


def test_times_are_those_of_the_first_channel_and_a_helpers_cost_is_added(
    tmp_path: Path, clock: Any
) -> None:
    class Plug(ScriptedMeter):
        """Draws its moments in its own thread."""

        moments = Moments.RANDOM

        def read(self) -> list[Reading]:
            first, current_a = super().read(), (self.name, "current", 2.0, "A")
            odd = len(self.moments_s) % 2
            return [*first, *[Reading(self._clock.now_ns(), *current_a)] * odd]

        def helper_cost_s(self) -> float:
            return 0.5

    time = clock(3.5)
    plug = Plug("plug", time)
    record_ = record(tmp_path, time, plug)["plug"]
    assert plug.moments_s == [0, 1, 2, 3, 3.5]
    assert (record_.readings, record_.achieved_period_s, record_.longest_gap_s) == (8, 1.0, 1.0)
    assert record_.cost_s == 0.5


def test_a_meter_that_blocks_delays_the_others_and_both_records_show_it(
    tmp_path: Path, clock: Any
) -> None:
    time = clock(20.2)

    def block(turn: int) -> float:
        time.now_s += 7.5 if turn == 3 else 0.0
        return 1.0

    blocking, other = ScriptedMeter("blocking", time, block), ScriptedMeter("other", time)
    records = record(tmp_path, time, blocking, other)
    # from second 1 to the late one's own time stamp, 9.5
    assert records["blocking"].longest_gap_s == pytest.approx(8.5)
    assert records["blocking"].cost_s == pytest.approx(7.5)  # scripted CPU time is scripted time
    assert records["other"].longest_gap_s == pytest.approx(8.5)
    assert records["other"].achieved_period_s == pytest.approx(1.0)
    # on the grid again at once, and nothing is caught up with
    assert other.moments_s == [0, 1, 9.5, *range(10, 21), 20.2]


def test_a_meter_that_keeps_failing_is_retried_every_ten_seconds(
    tmp_path: Path, clock: Any
) -> None:
    time = clock(30.5)
    dying = ScriptedMeter(
        "dying", time, lambda turn: OSError("the sensor is gone") if turn > 2 else 5.0
    )
    other = ScriptedMeter("other", time)
    records = record(tmp_path, time, dying, other)
    assert dying.moments_s == [0, 1, 2, 3, 4, 14, 24, 30.5]
    assert (records["dying"].readings, records["dying"].failures, dying.closed) == (2, 6, 1)
    assert records["dying"].last_error == "OSError: the sensor is gone"
    assert records["dying"].longest_gap_s == pytest.approx(29.5)  # from its last reading to the end
    assert records["other"].readings == 32


def test_a_sensor_that_comes_back_is_read_again_on_its_period(tmp_path: Path, clock: Any) -> None:
    time = clock(20.5)
    flaky = ScriptedMeter(
        "flaky", time, lambda turn: OSError("bus error") if 3 <= turn <= 5 else 5.0
    )
    record_ = record(tmp_path, time, flaky)["flaky"]
    assert flaky.moments_s == [0, 1, 2, 3, 4, *range(14, 21), 20.5]
    assert (record_.failures, record_.longest_gap_s) == (3, 13.0)


def test_failures_that_are_not_in_a_row_do_not_pause_a_meter(tmp_path: Path, clock: Any) -> None:
    time = clock(10.5)
    flaky = ScriptedMeter("flaky", time, lambda turn: 1.0 if turn % 3 == 0 else ValueError("noise"))
    record_ = record(tmp_path, time, flaky)["flaky"]
    assert (record_.readings, record_.failures) == (4, 8)


def test_readings_that_are_not_finite_are_not_written(tmp_path: Path, clock: Any) -> None:
    time = clock(3.5)
    values = [1.0, NAN, None, float("inf"), 2.0]
    records = record(tmp_path, time, ScriptedMeter("holes", time, lambda turn: values[turn - 1]))
    assert read_raw_readings(tmp_path / "readings.csv")["value"].tolist() == [1.0, 2.0]
    assert records["holes"].readings == 2


def test_an_unavailable_meter_is_recorded_with_the_reason(tmp_path: Path, clock: Any) -> None:
    time = clock(1.5)
    absent, broken, shut = (ScriptedMeter(name, time) for name in ("absent", "broken", "shut"))
    absent.availability = lambda: MeterAvailability(False, "no sensor", "buy one")  # type: ignore[method-assign]
    broken.availability = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    shut.open = lambda process: (_ for _ in ()).throw(PermissionError("not yours"))  # type: ignore[method-assign]
    records = record(tmp_path, time, absent, broken, shut)
    assert records["absent"] == MeterRecord("absent", 1.0, False, "no sensor")
    assert (records["broken"].available, records["broken"].last_error) == (
        False,
        "ZeroDivisionError: division by zero",
    )
    assert records["shut"].last_error == "PermissionError: not yours"
    assert absent.moments_s == broken.moments_s == shut.moments_s == []
    assert records["recorder"].failures == 0


def test_a_full_disk_is_recorded_and_the_meters_go_on(tmp_path: Path, clock: Any) -> None:
    (tmp_path / "readings.csv").symlink_to("/dev/full")
    time = clock(10.5)
    meter = ScriptedMeter("meter", time)
    records = record(tmp_path, time, meter)
    assert "No space left on device" in (records["recorder"].last_error or "")
    assert (records["recorder"].readings, records["meter"].readings) == (0, 12)


def test_an_error_of_the_recorder_itself_is_in_its_record(tmp_path: Path, clock: Any) -> None:
    time = clock(10.5)
    cpu_s = time.thread_cpu_s
    results = iter([cpu_s, cpu_s, lambda: 1 // 0])
    time.thread_cpu_s = lambda: next(results, cpu_s)()
    recorder = record(tmp_path, time, ScriptedMeter("meter", time))["recorder"]
    error = "ZeroDivisionError: integer division or modulo by zero"
    assert (recorder.failures, recorder.last_error) == (1, error)


class StuckMeter(ScriptedMeter):
    """Waits for a sensor that does not answer, and then writes all the same."""

    def __init__(self) -> None:
        super().__init__("stuck", None)
        self.asked, self.released = threading.Event(), threading.Event()

    def read(self) -> list[Reading]:
        self.asked.set()
        self.released.wait(120)
        return [Reading(1, self.name, "late", 1.0, "W")]


def test_a_meter_whose_read_never_returns_is_abandoned_and_cannot_write_into_the_closed_run(
    tmp_path: Path,
) -> None:
    stuck = StuckMeter()
    recorder = Recorder([stuck], tmp_path, stop_timeout_s=0.05)
    recorder.start(PROCESS)
    assert stuck.asked.wait(120)
    records = recorder.stop()
    stuck.released.set()
    recorder._thread.join(120)  # type: ignore[union-attr]
    assert "did not return within 0.05 s" in (records[0].last_error or "")
    assert (tmp_path / "readings.csv").read_text() == "t_ns,source,channel,value,unit\n"


def test_a_recorder_that_was_never_started_still_has_a_record_of_each_meter(
    tmp_path: Path, clock: Any
) -> None:
    records = Recorder([ScriptedMeter("idle", clock(1))], tmp_path).stop()
    assert (records[0].available, records[0].reason) == (
        False,
        "the recorder never opened this meter",
    )
    assert list(tmp_path.iterdir()) == []


def test_an_extra_reading_does_not_move_the_meters_schedule(tmp_path: Path, clock: Any) -> None:
    time = clock(10.5)
    recorders: list[Recorder] = []
    fast = ScriptedMeter(
        "fast", time, lambda turn: recorders[0].read_soon("slow") if turn == 3 else 1.0
    )  # type: ignore[func-returns-value]
    slow = ScriptedMeter("slow", time, period_s=8.0)
    recorders.append(Recorder([fast, slow], tmp_path, time))
    recorders[0].start(PROCESS)
    recorders[0]._thread.join(120)  # type: ignore[union-attr]
    recorders[0].stop()
    assert slow.moments_s == [0, 2, 8, 10.5]


def test_an_extra_reading_of_an_unknown_meter_does_nothing(tmp_path: Path, clock: Any) -> None:
    time = clock(1.5)
    meter = ScriptedMeter("meter", time)
    recorder = Recorder([meter], tmp_path, time)
    recorder.read_soon("another")
    recorder.start(PROCESS)
    recorder._thread.join(120)  # type: ignore[union-attr]
    assert [each.failures for each in recorder.stop()] == [0, 0]
