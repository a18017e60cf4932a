"""The kernel's own counting, on this machine: a known amount of work, threads and child processes
included."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.meters.counter_events import (
    SOFTWARE,
    EventCode,
    is_known_machine,
    open_event,
    read_event,
)
from suite.meters.meter import MeteredProcess
from suite.meters.sources.event_counts import CountersMeter

PAGE_FAULTS, TASK_CLOCK = EventCode(SOFTWARE, 2), EventCode(SOFTWARE, 1)
PAGES = 2000

WORK = f"""
import mmap, os, sys, threading
def touch():
    block = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        block.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range({PAGES}):
        block[page * mmap.PAGESIZE] = 1
sys.stdin.readline()
workers = [threading.Thread(target=touch) for _ in range(3)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
child = os.fork()
if child == 0:
    touch()
    os._exit(0)
os.waitpid(child, 0)
print("done", flush=True)
sys.stdin.readline()
"""


def may_count() -> bool:
    """Whether this machine and this user may count page faults."""
    try:
        os.close(open_event(PAGE_FAULTS, 0, include_kernel=False))
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not is_known_machine() or not may_count(), reason="perf_event_open is not allowed here"
)


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[str]"]:
    """A process that works when it is told to: three threads and a child, each touching 2,000 fresh
    pages."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()


def work(process: "subprocess.Popen[str]") -> None:
    """Let it work to the end."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def test_threads_and_children_that_start_later_are_counted(worker: "subprocess.Popen[str]") -> None:
    meter = CountersMeter()
    meter.open(MeteredProcess(worker.pid, Path("/data")))
    before = {reading.channel.replace(":u", ""): reading.value for reading in meter.read()}
    work(worker)
    after = {reading.channel.replace(":u", ""): reading.value for reading in meter.read()}
    meter.close()
    faults = after["page_faults.count"] - before["page_faults.count"]
    assert 4 * PAGES <= faults <= 4 * PAGES + 2500  # and the interpreter's own


def test_what_has_ended_stays_counted(worker: "subprocess.Popen[str]") -> None:
    meter = CountersMeter()
    meter.open(MeteredProcess(worker.pid, Path("/data")))
    work(worker)
    worker.kill()
    worker.wait()
    after = {reading.channel.replace(":u", ""): reading.value for reading in meter.read()}
    meter.close()
    assert after["page_faults.count"] >= 4 * PAGES


def test_a_process_that_is_gone_is_an_error() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    with pytest.raises(OSError, match="had exited before"):
        CountersMeter().open(MeteredProcess(gone.pid, Path("/data")))


def test_the_task_clock_is_cpu_time_not_time() -> None:
    handle = open_event(TASK_CLOCK, 0, include_kernel=False)
    try:
        before, began_s = read_event(handle), sum(os.times()[:2])
        while sum(os.times()[:2]) - began_s < 0.1:
            pass
        after = read_event(handle)
    finally:
        os.close(handle)
    assert (after.count - before.count) * 1e-9 == pytest.approx(0.1, abs=0.05)
    assert after.running_s == after.enabled_s


def test_nothing_is_left_open(worker: "subprocess.Popen[str]") -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count

    before = open_files()
    meter = CountersMeter()
    meter.availability()
    meter.open(MeteredProcess(worker.pid, Path("/data")))
    assert open_files() > before
    meter.close()
    assert open_files() == before
