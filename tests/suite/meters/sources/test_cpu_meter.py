import os
import time
from pathlib import Path

import pytest

from suite.meters.meter import MeteredProcess
from suite.meters.sources.cpu import CpuMeter

BEFORE = (
    "cpu  200 0 100 1600 100 0 0 0 50 0\ncpu0 100 0 50 800 50 0 0 0 50 0\ncpu1 100 0 50 800 50 0 0"
    " 0 0 0\nintr 1\n"
)


def opened(root: Path) -> CpuMeter:
    """The meter, on process 100."""
    meter = CpuMeter(root)
    meter.open(MeteredProcess(100, Path("/data")))
    return meter


def test_an_idle_count_that_steps_back_is_not_more_than_all(tree) -> None:
    root = tree({"proc/stat": "cpu  0 0 0 1000 10 0 0 0\n"})
    meter = opened(root)
    meter.read()
    tree({"proc/stat": "cpu  10 0 0 998 10 0 0 0\n"})
    assert [reading.value for reading in meter.read()] == [100.0]


def test_two_reads_within_a_tick_give_no_utilisation(tree) -> None:
    meter = opened(tree({"proc/stat": BEFORE}))
    assert meter.read() == meter.read() == []


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
