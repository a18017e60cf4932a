"""Readings that are waited for in a background thread, and those that are read one after the other:
their times, and when a silence is a failure. Time is scripted."""

import threading
from pathlib import Path

import pytest

from suite.meters import background, channels
from suite.meters.background import Background, BackgroundMeter
from suite.meters.channels import ChannelMeter, MeterChannel
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments, Reading

GONE, READING = OSError("out of reach"), Reading(7, "plug", "power", 5.0, "W")


class Time:
    """Passes only as a source takes time."""

    now_s = 100.0

    def monotonic_ns(self) -> int:
        return round(self.now_s * 1e9)

    def thread_time(self) -> float:
        return 0.25


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    for module in (background, channels):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.mark.parametrize(
    ("answers", "taken"),
    [
        ([(4, GONE), (6, GONE)], [[]]),
        ([(4, GONE), (6.1, GONE)], [GONE]),
        ([(9, READING), (9.9, GONE)], [[READING], []]),
        ([(9, READING), (10.1, GONE)], [[READING], GONE]),  # no reading is lost with the failure
        ([(11, GONE), (1, READING), (1, READING)], [[READING, READING], []]),
    ],
)
def test_more_than_ten_seconds_without_a_reading_are_a_failure(
    answers: list[tuple[float, Reading | OSError]],
    taken: list[list[Reading] | OSError],
    clock: Time,
) -> None:
    script = list(answers)

    def produce() -> list[Reading]:
        took_s, answer = script.pop(0)
        clock.now_s += took_s
        if not script:
            source._stopping.set()
        if isinstance(answer, OSError):
            raise answer
        return [answer]

    source = Background("plug", produce, period_s=1e-9)
    source.start()
    assert source._thread is not None
    source._thread.join(60)
    for expected in taken:
        if isinstance(expected, OSError):
            with pytest.raises(OSError, match="out of reach"):
                source.take()
        else:
            assert source.take() == expected
    assert source.cost_s == 0.25


def test_stopping_waits_for_the_thread() -> None:
    asked, released, ended = threading.Event(), threading.Event(), []

    def produce() -> list[Reading]:
        asked.set()
        released.wait(60)
        ended.append(True)
        return []

    source = Background("plug", produce, period_s=1.0)
    source.start()
    assert asked.wait(60)
    threading.Timer(0.02, released.set).start()
    source.stop()
    assert ended


def test_a_readings_time_is_the_middle_of_its_measurement(clock: Time) -> None:
    class Plug(BackgroundMeter):
        name, period_s, moments = "plug", 1.0, Moments.RANDOM

        def measure(self) -> dict[str, tuple[float, str]]:
            clock.now_s += 0.5
            return {"power": (5.0, "W")}

    def read_slowly() -> float:
        clock.now_s += 3.0
        return 0.0

    class Rails(ChannelMeter):
        name, unreadable = "rails", MeterAvailability(False, "not readable")

        def find(self) -> list[MeterChannel]:
            return [MeterChannel("off", "W", lambda: None), MeterChannel("on", "W", read_slowly)]

    plug, rails = Plug(), Rails()
    assert plug._background._at_random == ("plug",), "a load as regular as the clock would beat"
    assert [reading.t_ns for reading in plug._produce()] == [100_250_000_000]
    rails.open(MeteredProcess(1, Path("/data")))
    assert rails.read() == [Reading(102_000_000_000, "rails", "on", 0.0, "W")]
    assert rails.availability() == AVAILABLE, "one rail can be read"
