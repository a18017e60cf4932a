"""The events that are counted, their codes on each kind of processor core, and perf_event_open(2)
through ctypes: counts of a task and of every task that it starts from then on."""

import ctypes
import os
import platform
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reference_impls.contract import SECONDS_PER_NS
from suite.catalog.counter_events import AT
from suite.machine.procfs import natural_order, read_integer, read_text

SYSCALL_NUMBERS = {"x86_64": 298, "aarch64": 241, "armv7l": 364, "armv6l": 364, "i686": 336}
ATTRIBUTE_BYTES = 64  # the structure's first published size, which every kernel takes
READ_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
CLOSE_ON_EXEC = 8


@dataclass(frozen=True)
class EventCode:
    """The kernel's code of an event: ``kind`` is a PERF_TYPE or a PMU's type, ``config`` the event
    within it."""

    kind: int
    config: int


@dataclass(frozen=True)
class Count:
    """An event's count, the time for which it was enabled, and the time for which it was counted.

    When more events are enabled than the processor has counters, the kernel multiplexes them, and
    ``running_s`` is less than ``enabled_s``.
    """

    count: int
    enabled_s: float
    running_s: float


def is_known_machine() -> bool:
    """Whether the system call's number is known for this machine."""
    return platform.machine() in SYSCALL_NUMBERS


def open_event(code: EventCode, task: int, include_kernel: bool) -> int:
    """Start counting in a thread (0: the calling one) and in all threads and processes that it
    starts from now on.

    Returns a handle for :func:`read_event`; close it with os.close. Raises OSError with the
    kernel's errno: ENOENT, ENODEV and EOPNOTSUPP for an event that does not exist here, EACCES and
    EPERM where /proc/sys/kernel/perf_event_paranoid forbids it, ESRCH for a thread that has exited.
    """
    flags = INHERIT | EXCLUDE_HYPERVISOR | (0 if include_kernel else EXCLUDE_KERNEL)
    attribute = struct.pack(
        "=IIQQQQQIIQ", code.kind, ATTRIBUTE_BYTES, code.config, 0, 0, READ_TIMES, flags, 0, 0, 0
    )
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.syscall(
        ctypes.c_long(SYSCALL_NUMBERS[platform.machine()]),
        ctypes.c_char_p(attribute),
        ctypes.c_int(task),
        ctypes.c_int(-1),  # on any processor
        # in no group: inherited events cannot be read as a group before Linux 6.13
        ctypes.c_int(-1),
        ctypes.c_ulong(CLOSE_ON_EXEC),
    )
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(handle)


def read_event(handle: int) -> Count:
    """The count so far, including threads and processes that have exited."""
    count, enabled_ns, running_ns = struct.unpack("=QQQ", os.read(handle, 24))
    return Count(count, enabled_ns * SECONDS_PER_NS, running_ns * SECONDS_PER_NS)


SOFTWARE, HARDWARE, CACHE = 1, 0, 3  # PERF_TYPE_SOFTWARE, _HARDWARE, _HW_CACHE
# PERF_PMU_TYPE_SHIFT: which kind of core a generic event is of, on processors with two kinds
PMU_SHIFT = 32
DEVICES = "sys/bus/event_source/devices"


@dataclass(frozen=True)
class CounterEvent:
    """One event on one kind of core. ``name`` is the suite's name: one per meaning, whatever the
    processor.

    ``pmu`` is the kernel's name of the counting unit; ``event`` the kernel's name of the event.
    ``channel`` names the core's kind where the machine has several. ``unsupported`` says why the
    unit cannot count it; None: it may. ``only_in_kernel`` events never happen in user mode: where
    the kernel may not be counted, they would read 0, which is wrong.
    """

    name: str
    unit: str
    pmu: str
    event: str
    code: EventCode
    channel: str
    unsupported: str | None = None
    only_in_kernel: bool = False

    @property
    def is_hardware(self) -> bool:
        """Counted by the processor; software events are counted by the kernel."""
        return self.code.kind != SOFTWARE

    @property
    def description(self) -> str:
        """The event's identity for the record: unit, the kernel's name, type and config of
        perf_event_open(2)."""
        return f"{self.pmu}/{self.event}/ type={self.code.kind} config={self.code.config:#x}"


def _software(
    name: str, event: str, config: int, unit: str = "events", only_in_kernel: bool = False
) -> CounterEvent:
    return CounterEvent(
        name, unit, "software", event, EventCode(SOFTWARE, config), name, None, only_in_kernel
    )


# linux/perf_event.h, perf_sw_ids
SOFTWARE_EVENTS = (
    _software("task_clock", "task-clock", 1, "ns"),
    _software("page_faults", "page-faults", 2),
    _software("major_faults", "major-faults", 6),
    _software("context_switches", "context-switches", 3, only_in_kernel=True),
    _software("cpu_migrations", "cpu-migrations", 4, only_in_kernel=True),
)
# linux/perf_event.h, perf_hw_id and perf_hw_cache_id: x86 and others. There is no generic event for
# every access of the L1 data cache.
GENERIC_EVENTS = (
    ("cycles", "cycles", HARDWARE, 0),
    ("instructions", "instructions", HARDWARE, 1),
    ("l1d_loads", "L1-dcache-loads", CACHE, 0x00000),
    ("l1d_load_misses", "L1-dcache-load-misses", CACHE, 0x10000),
    ("branches", "branches", HARDWARE, 4),
    ("branch_mispredicts", "branch-misses", HARDWARE, 5),
)
# Arm Architecture Reference Manual, PMU common events: Cortex-A57, A72, A76, A78AE, Carmel. The
# cycle counter and six others fit at once. The kernel's generic names are not used: its
# cache-misses is the L1D refill there.
ARM_EVENTS = (
    ("cycles", "cpu_cycles", 0x11),
    ("instructions", "inst_retired", 0x08),
    ("l1d_access", "l1d_cache", 0x04),
    ("l1d_refill", "l1d_cache_refill", 0x03),
    ("branches", "br_pred", 0x12),
    ("branch_mispredicts", "br_mis_pred", 0x10),
    ("memory_access", "mem_access", 0x13),
)
ARM_PMUS = ("armv8_*", "armv7_*", "armv9_*", "arm_pmu*")
# of Apple's units, whose codes are their own
OTHER_NAMES = {"cpu_cycles": "cycles", "inst_retired": "instructions"}
OWN_CODES = ("apple_*",)
HYBRID_PMUS = ("cpu_core", "cpu_atom", "cpu_lowpower")  # x86
RAW = 4  # PERF_TYPE_RAW
# Of Intel's N and J processors, for which the kernel has no generic L1-dcache-load-misses
# (arch/x86/events/intel/core.c, glp_hw_cache_event_ids); tools/perf/pmu-events/arch/x86 has theirs.
ATOMS = frozenset({"goldmont_plus", "Tremont", "gracemont"})
ATOM_EVENTS = {"l1d_load_misses": ("mem_load_uops_retired.l1_miss", RAW, 0x08D1)}


def counter_events(root: Path = Path("/")) -> tuple[CounterEvent, ...]:
    """Every event on each kind of core of the machine below ``root``; opening one that is not
    ``unsupported`` shows whether it can be counted."""
    devices = root / DEVICES
    arm = [
        pmu
        for pattern in (*ARM_PMUS, *OWN_CODES)
        for pmu in natural_order(devices.glob(pattern))
        if read_integer(pmu / "type") is not None
    ]
    if arm:
        return (
            *SOFTWARE_EVENTS,
            *(event for pmu in arm for event in _arm_events(pmu, several=len(arm) > 1)),
        )
    hybrid = [
        devices / name for name in HYBRID_PMUS if read_integer(devices / name / "type") is not None
    ]
    return (
        *SOFTWARE_EVENTS,
        *(
            event
            for pmu in hybrid or [devices / "cpu"]
            for event in _generic_events(pmu, is_hybrid=bool(hybrid))
        ),
    )


def _arm_events(pmu: Path, several: bool) -> Iterator[CounterEvent]:
    """Raw events. A unit opens raw events that it lacks, too, and counts 0: what the kernel does
    not list for it is unsupported."""
    kind, listed = read_integer(pmu / "type") or 0, pmu / "events"
    for name, event, config in ARM_EVENTS:
        unsupported = None
        if listed.is_dir():
            event, own = next(
                (
                    (each, code)
                    for each in (event, OTHER_NAMES.get(event, event))
                    if (code := _code(listed / each)) is not None
                ),
                (event, None),
            )
            unsupported = f"{pmu.name} does not list {event}" if own is None else None
            config = config if own is None else own
        yield CounterEvent(
            name,
            "events",
            pmu.name,
            event,
            EventCode(kind, config),
            f"{name}{AT}{pmu.name}" if several else name,
            unsupported,
        )


def _generic_events(pmu: Path, is_hybrid: bool) -> Iterator[CounterEvent]:
    core = (read_integer(pmu / "type") or 0) << PMU_SHIFT if is_hybrid else 0
    own = ATOM_EVENTS if read_text(pmu / "caps/pmu_name") in ATOMS else {}
    for name, event, kind, config in GENERIC_EVENTS:
        event, kind, config = own.get(name, (event, kind, config))
        yield CounterEvent(
            name,
            "events",
            pmu.name,
            event,
            EventCode(kind, config | core),
            f"{name}{AT}{pmu.name}" if is_hybrid else name,
        )


def _code(path: Path) -> int | None:
    """The code in an event's file, ``event=0x11``; None where there is no such file, or it has
    other terms."""
    match = re.fullmatch(r"event=(0x[0-9a-f]+|\d+)", read_text(path) or "")
    return int(match[1], 0) if match else None
