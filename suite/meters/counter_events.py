"""The events that are counted, and their codes on each kind of processor."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import in_order, integer
from suite.meters.perf_event import EventCode

SOFTWARE, HARDWARE, CACHE = 1, 0, 3  # PERF_TYPE_SOFTWARE, _HARDWARE, _HW_CACHE


@dataclass(frozen=True)
class CounterEvent:
    """One event by the suite's name: its unit, and one code per kind of processor in this machine (big and little cores differ).

    ``only_in_kernel`` events never happen in user mode: where the kernel may not be counted, they would read 0, which is wrong.
    """

    name: str
    unit: str
    codes: tuple[EventCode, ...]
    only_in_kernel: bool = False

    @property
    def is_hardware(self) -> bool:
        """Counted by the processor; software events are counted by the kernel."""
        return any(code.kind != SOFTWARE for code in self.codes)


# linux/perf_event.h, perf_sw_ids
SOFTWARE_EVENTS = (
    CounterEvent("task_clock", "ns", (EventCode(SOFTWARE, 1),)),
    CounterEvent("page_faults", "events", (EventCode(SOFTWARE, 2),)),
    CounterEvent("major_faults", "events", (EventCode(SOFTWARE, 6),)),
    CounterEvent("context_switches", "events", (EventCode(SOFTWARE, 3),), only_in_kernel=True),
    CounterEvent("cpu_migrations", "events", (EventCode(SOFTWARE, 4),), only_in_kernel=True),
)
# linux/perf_event.h, perf_hw_id and perf_hw_cache_id: x86
GENERIC_CODES: Mapping[str, EventCode] = {
    "cycles": EventCode(HARDWARE, 0),
    "instructions": EventCode(HARDWARE, 1),
    "l1d_access": EventCode(CACHE, 0x00000),  # loads; x86 has no generic event for stores
    "l1d_refill": EventCode(CACHE, 0x10000),
    "branches": EventCode(HARDWARE, 4),
    "branch_mispredicts": EventCode(HARDWARE, 5),
}
# Arm Architecture Reference Manual, PMU common events: Cortex-A57, A72, A76, A78AE, Carmel. The cycle counter and six others fit
# at once. The kernel's generic names are not used: its cache-misses is the L1D refill there.
ARM_CONFIGS: Mapping[str, int] = {
    "cycles": 0x11,
    "instructions": 0x08,
    "l1d_access": 0x04,
    "l1d_refill": 0x03,
    "branches": 0x12,
    "branch_mispredicts": 0x10,
    "memory_access": 0x13,
}
ARM_PMUS = ("armv8_*", "armv7_*", "apple_*", "arm_pmu*")


def events(root: Path = Path("/")) -> tuple[CounterEvent, ...]:
    """Every event to try on the machine below ``root``; opening an event shows whether it can be counted."""
    devices = root / "sys/bus/event_source/devices"
    arm = [kind for pattern in ARM_PMUS for pmu in in_order(devices.glob(pattern)) if (kind := integer(pmu / "type")) is not None]
    if arm:
        hardware = tuple(CounterEvent(name, "events", tuple(EventCode(kind, config) for kind in arm)) for name, config in ARM_CONFIGS.items())
    else:
        hardware = tuple(CounterEvent(name, "events", (code,)) for name, code in GENERIC_CODES.items())
    return SOFTWARE_EVENTS + hardware
