import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suite.machine import core_clock
from suite.machine.core_clock import ADDITIONS, CoreClock, clock_hz, on_core
from suite.meters.meter import MeteredProcess
from suite.meters.sources import cpu_clock
from suite.meters.sources.cpu_clock import CpuClockMeter
from tests.suite.meters.test_registry import read_once

PLAUSIBLE_HZ = (0.2e9, 9e9)
needs_code = pytest.mark.skipif(
    not core_clock.can_measure(), reason="the chain is machine code of x86-64"
)


class Processor:
    """Runs chains at a clock that is set; ``call_ns`` is what a call takes besides, ``held_up_ns``
    what interruptions take from some of them."""

    def __init__(self, hz: float, call_ns: int = 800, held_up_ns: tuple[int, ...] = ()) -> None:
        self.hz, self.call_ns, self.now, self.held_up_ns = hz, call_ns, 0, list(held_up_ns)

    def chain(self, turns: int) -> None:
        self.now += (
            self.call_ns
            + round(turns * ADDITIONS / self.hz * 1e9)
            + (self.held_up_ns.pop() if self.held_up_ns else 0)
        )

    def now_ns(self) -> int:
        return self.now


def timed(processor: Processor) -> tuple[Callable[[int], None], Callable[[], int]]:
    return processor.chain, processor.now_ns


def test_the_clock_is_additions_over_time_without_the_call() -> None:
    processor = Processor(1.5e9)
    assert clock_hz(*timed(processor)) == pytest.approx(1.5e9, rel=1e-4)


def test_chains_that_were_interrupted_do_not_count() -> None:
    processor = Processor(1.5e9, held_up_ns=(4_000_000, 0, 90_000, 0, 0, 30_000, 4_000_000))
    assert clock_hz(*timed(processor)) == pytest.approx(1.5e9, rel=1e-4)


def test_without_an_undisturbed_chain_the_clock_is_unknown() -> None:
    every_short_ns = tuple(10**9 * (call % 2) for call in range(10))
    assert clock_hz(*timed(Processor(1.5e9, held_up_ns=every_short_ns))) is None


@pytest.mark.parametrize("disturbed_ns", [13_000, 40_000])
def test_short_chains_that_are_all_disturbed_give_no_higher_clock(disturbed_ns: int) -> None:
    """A virtual machine of the project's CI read 7033 MHz so, twice the clock of its cores."""
    every_short_ns = tuple(disturbed_ns * (call % 2) for call in range(10))
    assert clock_hz(*timed(Processor(3.7e9, held_up_ns=every_short_ns))) is None


@pytest.mark.parametrize("disturbed_ns", range(0, 20_000, 1000))
@pytest.mark.parametrize("hz", [0.8e9, 2.4e9, 5.7e9])
def test_no_clock_is_more_than_a_twelfth_too_high(hz: float, disturbed_ns: int) -> None:
    measured_hz = clock_hz(
        *timed(Processor(hz, held_up_ns=tuple(disturbed_ns * (call % 2) for call in range(10))))
    )
    assert measured_hz is None or measured_hz <= 1.083 * hz
    assert measured_hz is not None or disturbed_ns > 0


@needs_code
def test_the_machine_code_takes_its_number_of_turns_and_returns() -> None:
    measured_hz = CoreClock().measure_hz()
    assert measured_hz is None or PLAUSIBLE_HZ[0] < measured_hz < PLAUSIBLE_HZ[1]


def test_a_thread_returns_to_its_cores() -> None:
    before = os.sched_getaffinity(0)
    with on_core(min(before)):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


@needs_code
def test_every_core_has_a_clock_where_the_kernel_offers_none(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").touch()
    meter = CpuClockMeter(tmp_path)
    assert meter.availability().available, meter.availability().reason
    meter.open(MeteredProcess(os.getpid(), tmp_path))
    readings = read_once(meter)
    meter.close()
    assert {reading.channel for reading in readings} <= {
        f"frequency.core{core}" for core in os.sched_getaffinity(0)
    }
    assert all(
        PLAUSIBLE_HZ[0] < reading.value < PLAUSIBLE_HZ[1] and reading.unit == "Hz"
        for reading in readings
    )
    assert all(reading.t_ns <= time.monotonic_ns() for reading in readings)


@needs_code
def test_each_cores_clock_has_the_moment_of_its_own_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_ns: list[int] = []

    def measured(_: CoreClock) -> Iterator[tuple[int, float]]:
        for core in (0, 1):
            measured_ns.append(time.monotonic_ns())
            yield core, 1.5e9
            time.sleep(0.01)  # until the next core is free

    monkeypatch.setattr(cpu_clock, "clocks_hz", measured)
    meter = CpuClockMeter(tmp_path)
    meter.open(MeteredProcess(os.getpid(), tmp_path))
    first, second = read_once(meter)[:2]
    meter.close()
    assert measured_ns[0] <= first.t_ns < measured_ns[1] <= second.t_ns


def test_a_kernel_that_offers_clocks_is_left_to_the_meter_cpu(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").touch()
    offered = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    offered.mkdir(parents=True)
    (offered / "scaling_cur_freq").write_text("1500000")
    assert CpuClockMeter(tmp_path).availability().remedy == "the meter `cpu` reads these clocks"


def test_other_processors_and_locked_memory_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").touch()
    monkeypatch.setattr(core_clock.platform, "machine", lambda: "aarch64")
    assert "x86-64" in CpuClockMeter(tmp_path).availability().reason
    monkeypatch.undo()

    def refused() -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cpu_clock, "can_measure", lambda: True)
    monkeypatch.setattr(cpu_clock, "CoreClock", refused)
    assert (
        "no executable memory (Permission denied)" in CpuClockMeter(tmp_path).availability().reason
    )
