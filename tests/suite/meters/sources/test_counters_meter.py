"""What the meter makes of kernels that this machine is not: scripted answers to perf_event_open."""

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.meters.counter_events import (
    HARDWARE,
    SOFTWARE,
    Count,
    EventCode,
    counter_events,
    open_event,
    read_event,
)
from suite.meters.meter import MeteredProcess
from suite.meters.sources.event_counts import CountersMeter

TX2 = {
    "sys/bus/event_source/devices/armv8_cortex_a57/type": "8\n",
    "sys/bus/event_source/devices/armv8_nvidia_denver/type": "9\n",
    "sys/bus/event_source/devices/software/type": "1\n",
}
RPI4 = {
    "sys/bus/event_source/devices/armv8_cortex_a72/type": "7\n",
    "sys/bus/event_source/devices/armv8_without_a_type/uevent": "\n",
}
PROCESS = {
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    "proc/100/stat": "100 (python) S 1 100",
    "proc/100/task/100/children": "101",
    "proc/100/task/105/children": "",
    "proc/101/stat": "101 (python) S 100 101",
    "proc/101/task/101/children": "",
}


class FakeKernel:
    """Opens what ``refuses`` does not refuse; every handle counts as ``counts`` says for its
    code."""

    def __init__(
        self,
        refuses: Callable[[EventCode, int, bool], int],
        counts: Callable[[EventCode], Count] = lambda code: Count(10, 1.0, 1.0),
    ) -> None:
        self.refuses, self.counts = refuses, counts
        self.opened: dict[int, tuple[EventCode, int, bool]] = {}

    def open(self, code: EventCode, task: int, include_kernel: bool) -> int:
        number = self.refuses(code, task, include_kernel)
        if number:
            raise OSError(number, os.strerror(number))
        handle = os.open("/dev/null", os.O_RDONLY)
        self.opened[handle] = (code, task, include_kernel)
        return handle

    def read(self, handle: int) -> Count:
        return self.counts(self.opened[handle][0])


def values(root: Path, kernel: FakeKernel) -> dict[str, float]:
    """What the meter reads from process 100."""
    meter = CountersMeter(root, kernel.open, kernel.read)
    meter.open(MeteredProcess(100, Path("/data")))
    readings = meter.read()
    meter.close()
    return {reading.channel: reading.value for reading in readings}


def allows_all(code: EventCode, task: int, include_kernel: bool) -> int:
    """A kernel with everything, asked by root."""
    return 0


def test_every_thread_and_child_that_is_there_gets_its_own_counters(tree) -> None:
    kernel = FakeKernel(allows_all)
    found = values(tree(PROCESS | RPI4), kernel)
    assert found["instructions.count"] == 30.0  # threads 100 and 105, and the child 101
    assert {task for _, task, _ in kernel.opened.values()} == {100, 101, 105}


def test_arm_events_are_raw_codes_of_that_processors_own_unit(tree) -> None:
    """Arm Architecture Reference Manual, PMU events: CPU_CYCLES, INST_RETIRED, L1D_CACHE,
    L1D_CACHE_REFILL, BR_PRED, BR_MIS_PRED, MEM_ACCESS."""
    found = {each.channel: each.code for each in counter_events(tree(RPI4)) if each.is_hardware}
    numbers = {
        "cycles": 0x11,
        "instructions": 0x08,
        "l1d_access": 0x04,
        "l1d_refill": 0x03,
        "branches": 0x12,
        "branch_mispredicts": 0x10,
        "memory_access": 0x13,
    }
    assert found == {name: EventCode(7, number) for name, number in numbers.items()}


def test_a_count_comes_with_the_time_enabled_and_then_the_time_running() -> None:
    """perf_event_open(2), "Reading results"."""
    handle, kernel = os.pipe()
    os.write(kernel, struct.pack("=QQQ", 7, 4 * 10**9, 2 * 10**9))
    assert astuple(read_event(handle)) == pytest.approx((7, 4.0, 2.0))
    os.close(handle)
    os.close(kernel)


@pytest.mark.parametrize("include_kernel", [True, False])
def test_children_are_counted_and_the_kernel_where_it_may_be(
    include_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """struct perf_event_attr: inherit is bit 1 of its flags, exclude_kernel 5, exclude_hv 6."""
    asked: list[Any] = []
    libc = SimpleNamespace(syscall=lambda *words: asked.extend(words) or 5)
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: libc)
    assert open_event(EventCode(4, 0x11), 105, include_kernel) == 5
    attribute = ctypes.string_at(asked[1], 64)
    assert struct.unpack_from("=IIQ", attribute) == (4, 64, 0x11)
    (flags,) = struct.unpack_from("=Q", attribute, 40)
    assert flags == 1 << 1 | 1 << 6 | (0 if include_kernel else 1 << 5)
    assert (asked[2].value, asked[3].value) == (105, -1), "that thread, on any processor"


def test_two_kinds_of_core_have_channels_of_their_own(tree) -> None:
    """A thread that was two thirds of its time on one kind: each kind's unit ran only then."""

    def counts(code: EventCode) -> Count:
        return {8: Count(200, 3.0, 2.0), 9: Count(70, 3.0, 1.0)}.get(code.kind, Count(1, 3.0, 3.0))

    found = values(
        tree({**PROCESS, **TX2, "proc/100/task/100/children": ""}), FakeKernel(allows_all, counts)
    )
    big, little = "cycles@armv8_cortex_a57", "cycles@armv8_nvidia_denver"
    # two threads
    assert [found[f"{big}.{part}"] for part in ("count", "enabled", "running")] == [400, 6.0, 4.0]
    assert [found[f"{little}.{part}"] for part in ("count", "enabled", "running")] == [
        140,
        6.0,
        2.0,
    ]
    assert "cycles.count" not in found
    assert found["task_clock.count"] == 2


def listed(pmu: str, *names: str, kind: int = 8) -> dict[str, str]:
    """A counting unit and the events that the kernel lists for it."""
    folder = f"sys/bus/event_source/devices/{pmu}"
    return {f"{folder}/type": f"{kind}\n"} | {
        f"{folder}/events/{name}": f"event={code}\n"
        for name, code in (each.split("=") for each in names)
    }


A55 = listed(
    "armv8_cortex_a55",
    "cpu_cycles=0x0011",
    "inst_retired=0x0008",
    "l1d_cache=0x0004",
    "br_pred=0x0012",
)


def test_a_raw_event_that_the_kernel_does_not_list_is_unsupported_not_0(tree) -> None:
    """The kernel opens it, and it counts 0."""
    kernel = FakeKernel(allows_all, lambda code: Count(0 if code.config == 0x03 else 10, 1.0, 1.0))
    meter = CountersMeter(tree(PROCESS | A55), kernel.open, kernel.read)
    meter.open(MeteredProcess(100, Path("/data")))
    channels, settings = {reading.channel for reading in meter.read()}, meter.settings()
    meter.close()
    assert "l1d_refill.count" not in channels and "l1d_access.count" in channels
    assert settings["l1d_refill"].startswith(
        "not counted: armv8_cortex_a55 does not list l1d_cache_refill"
    )
    assert settings["l1d_access"] == "armv8_cortex_a55/l1d_cache/ type=8 config=0x4"
    found = CountersMeter(tree({}), kernel.open).availability()
    assert "does not count l1d_refill, branch_mispredicts, memory_access" in found.reason
    assert found.remedy == "", "such a processor is no virtual machine"


def test_units_with_codes_of_their_own_are_asked_for_them(tree) -> None:
    root = tree(listed("apple_firestorm_pmu", "cycles=0x02", "instructions=140", kind=10))
    codes = {
        event.name: event.code
        for event in counter_events(root)
        if event.is_hardware and event.unsupported is None
    }
    assert codes == {"cycles": EventCode(10, 0x02), "instructions": EventCode(10, 0x8C)}


def test_x86_with_two_kinds_of_cores_counts_generic_events_on_each(tree) -> None:
    root = tree(
        {
            "sys/bus/event_source/devices/cpu_core/type": "4\n",
            "sys/bus/event_source/devices/cpu_atom/type": "10\n",
            "sys/bus/event_source/devices/cpu_lowpower/type": "12\n",
        }
    )
    codes = {event.channel: event.code for event in counter_events(root)}
    assert codes["cycles@cpu_core"] == EventCode(0, 4 << 32)
    assert codes["l1d_loads@cpu_atom"] == EventCode(3, 10 << 32)
    assert codes["cycles@cpu_lowpower"] == EventCode(0, 12 << 32)


def test_events_that_the_processor_lacks_are_absent_not_zero(tree) -> None:
    kernel = FakeKernel(
        lambda code, task, include_kernel: (
            errno.ENOENT if code.kind == HARDWARE or code.kind == 3 else 0
        )
    )
    root = tree(PROCESS)
    found = values(root, kernel)
    assert not any(channel.startswith(("cycles", "instructions", "l1d")) for channel in found)
    assert "page_faults.count" in found
    availability = CountersMeter(root, kernel.open, kernel.read).availability()
    assert availability.available
    assert "does not count cycles, instructions" in availability.reason
    assert "run on the machine itself" in availability.remedy


def test_where_the_kernel_may_not_be_counted_user_mode_is_and_the_name_says_so(tree) -> None:
    kernel = FakeKernel(lambda code, task, include_kernel: errno.EACCES if include_kernel else 0)
    availability = CountersMeter(tree(PROCESS | RPI4), kernel.open).availability()
    assert availability.reason == (
        "/proc/sys/kernel/perf_event_paranoid is 2: only user mode is counted, without"
        " context_switches, cpu_migrations"
    )
    assert availability.available and "kernel.perf_event_paranoid=1" in availability.remedy
    found = values(tree(PROCESS | RPI4), kernel)
    assert "instructions:u.count" in found
    assert "page_faults:u.count" in found
    # they happen in the kernel only: 0 would be wrong
    assert not any("context_switches" in channel for channel in found)


def test_a_kernel_that_forbids_everything_says_what_to_do(tree) -> None:
    availability = CountersMeter(
        tree({**PROCESS, "proc/sys/kernel/perf_event_paranoid": "4\n"}),
        FakeKernel(lambda *_: errno.EACCES).open,
    ).availability()
    assert "perf_event_paranoid is 4" in availability.reason and availability.forbidden
    assert "sysctl kernel.perf_event_paranoid=1" in availability.remedy
    only_once = FakeKernel(
        lambda code, task, include_kernel: (
            errno.EACCES if include_kernel and code == EventCode(SOFTWARE, 1) else 0
        )
    )
    found = CountersMeter(tree(PROCESS), only_once.open).availability()
    assert found.reason.endswith("is 2: only user mode is counted")
    in_a_container = CountersMeter(tree(PROCESS), FakeKernel(lambda *_: errno.EPERM).open)
    assert "inside a container" in in_a_container.availability().remedy  # the setting allows it


def test_a_thread_that_ends_meanwhile_is_passed_over(tree) -> None:
    kernel = FakeKernel(lambda code, task, include_kernel: errno.ESRCH if task == 105 else 0)
    assert values(tree(PROCESS | RPI4), kernel)["instructions.count"] == 20.0


def test_an_event_that_fails_in_one_thread_leaves_no_handle_open(tree) -> None:
    kernel = FakeKernel(lambda code, task, include_kernel: errno.EMFILE if task == 101 else 0)
    with pytest.raises(OSError, match="had exited"):
        values(tree(PROCESS | RPI4), kernel)
    for handle in kernel.opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


@pytest.mark.parametrize("name", ["gracemont", "Tremont", "goldmont_plus", "skylake"])
def test_atoms_count_their_own_l1_misses_for_the_kernel_has_no_generic_one(name: str, tree) -> None:
    root = tree({"sys/bus/event_source/devices/cpu/caps/pmu_name": f"{name}\n"})
    (event,) = (event for event in counter_events(root) if event.name == "l1d_load_misses")
    own = EventCode(3, 0x10000) if name == "skylake" else EventCode(4, 0x08D1)
    assert event.code == own
