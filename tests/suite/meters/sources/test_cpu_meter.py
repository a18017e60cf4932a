import os
import time
from pathlib import Path

import pytest

from suite.machine.process_tree import CLOCK_TICKS_PER_S
from suite.meters.meter import MeteredProcess
from suite.meters.sources.cpu import CpuMeter

BEFORE = (
    "cpu  200 0 100 1600 100 0 0 0 50 0\ncpu0 100 0 50 800 50 0 0 0 50 0\ncpu1 100 0 50 800 50 0 0"
    " 0 0 0\nintr 1\n"
)
AFTER = "cpu  230 0 110 1640 110 5 5 0 90 0\ncpu0 130 0 60 850 50 5 5 0 90 0\nintr 2\n"


def opened(root: Path) -> CpuMeter:
    """The meter, on process 100."""
    meter = CpuMeter(root)
    meter.open(MeteredProcess(100, Path("/data")))
    return meter


def test_utilisation_is_the_busy_share_of_the_time_since_the_reading_before(tree) -> None:
    root = tree({"proc/stat": BEFORE})
    meter = opened(root)
    assert meter.read() == []  # nothing to compare with
    tree({"proc/stat": AFTER})
    values = {reading.channel: reading.value for reading in meter.read()}
    # total: user 30 + system 10 + irq 5 + softirq 5 of these and idle 40, iowait 10; guest time is
    # within user
    # core1 was switched off
    assert values == {
        "utilisation.total": pytest.approx(50.0),
        "utilisation.core0": pytest.approx(50.0),
    }


def test_an_idle_count_that_steps_back_is_not_more_than_all(tree) -> None:
    root = tree({"proc/stat": "cpu  0 0 0 1000 10 0 0 0\n"})
    meter = opened(root)
    meter.read()
    tree({"proc/stat": "cpu  10 0 0 998 10 0 0 0\n"})
    assert [reading.value for reading in meter.read()] == [100.0]


def test_two_reads_within_a_tick_give_no_utilisation(tree) -> None:
    meter = opened(tree({"proc/stat": BEFORE}))
    assert meter.read() == meter.read() == []


def test_frequency_is_in_hertz_and_a_core_that_cannot_be_read_is_left_out(tree) -> None:
    cores = {
        f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq": text
        for core, text in ((0, "1479000\n"), (1, "<unknown>\n"), (10, "102000\n"))
    }
    readings = opened(
        tree({"proc/stat": BEFORE, "sys/devices/system/cpu/cpufreq/boost": "1", **cores})
    ).read()
    assert [(reading.channel, reading.value, reading.unit) for reading in readings] == [
        ("frequency.core0", 1.479e9, "Hz"),
        ("frequency.core10", 1.02e8, "Hz"),
    ]


def test_cpu_seconds_are_those_of_the_implementations_processes(tree) -> None:
    stat = "100 (python) S 1 100 100 0 -1 0 0 0 0 0 300 50 0 0 20 0"
    readings = opened(tree({"proc/stat": BEFORE, "proc/100/stat": stat})).read()
    assert [(reading.channel, reading.value, reading.unit) for reading in readings] == [
        ("process_tree", 350 / CLOCK_TICKS_PER_S, "s")
    ]


def test_on_this_machine_a_busy_loop_shows(tmp_path: Path) -> None:
    meter = CpuMeter()
    meter.open(MeteredProcess(os.getpid(), tmp_path))

    def used_s() -> float:
        return next(reading.value for reading in meter.read() if reading.channel == "process_tree")

    before_s = used_s()
    start_s = time.process_time()
    while time.process_time() - start_s < 0.2:
        pass
    assert used_s() - before_s == pytest.approx(0.2, abs=0.1)
