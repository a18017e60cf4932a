"""Memory: available memory of the machine, resident memory of the implementation."""

import os
import re
import time
from pathlib import Path

from suite.machine.process_tree import process_tree
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

_KILOBYTES = re.compile(rb"^(\w+):\s+(\d+) kB$", re.MULTILINE)
PAGE_SIZE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryMeter:
    """Channels in bytes: ``available`` (free or reclaimable without swapping), ``used`` (total less available), ``swap_used``,
    ``process_tree_rss`` and ``largest_process_peak_rss`` (the highest peak of any one process, a rank for example, since its start);
    and ``process_tree_size`` (processes).

    ``process_tree_rss`` is the sum of the processes' resident sets: a page that forked workers share counts once per process. The
    kernel's proportional set size would be exact, but reading it walks every page table with the memory map locked (6 ms for 0.5 GB),
    which would slow down the training. Source: proc(5).
    """

    name = "memory"
    period_s = 1.0
    description = "memory and swap of the machine, resident memory of the implementation"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._pid = 0

    def availability(self) -> MeterAvailability:
        """MemAvailable exists since Linux 3.14."""
        path = self._root / "proc/meminfo"
        if path.is_file() and b"MemAvailable:" in path.read_bytes():
            return AVAILABLE
        return MeterAvailability(False, "/proc/meminfo has no MemAvailable", "mount /proc; Linux 3.14 or later is needed")

    def open(self, process: MeteredProcess) -> None:
        """Store the process."""
        self._pid = process.pid

    def read(self) -> list[Reading]:
        """One reading per channel; those of the implementation while it runs."""
        t_ns, machine = time.monotonic_ns(), _sizes_bytes(self._root / "proc/meminfo")
        values = {
            "available": machine["MemAvailable"],
            "used": machine["MemTotal"] - machine["MemAvailable"],
            "swap_used": machine["SwapTotal"] - machine["SwapFree"],
        }
        readings = [Reading(t_ns, self.name, channel, value, "B") for channel, value in values.items()]
        return readings + self._implementation()

    def close(self) -> None:
        """Nothing to release."""

    def _implementation(self) -> list[Reading]:
        pids = process_tree(self._root, self._pid)
        t_ns = time.monotonic_ns()
        resident = [size for size in (_resident_bytes(self._root / "proc" / str(pid) / "statm") for pid in pids) if size]
        if not resident:
            return []
        readings = [
            Reading(t_ns, self.name, "process_tree_rss", sum(resident), "B"),
            Reading(t_ns, self.name, "process_tree_size", len(resident), "processes"),
        ]
        peaks = [size for pid in pids if (size := _sizes_bytes(self._root / "proc" / str(pid) / "status").get("VmHWM"))]  # a zombie has none
        return [*readings, Reading(t_ns, self.name, "largest_process_peak_rss", max(peaks), "B")] if peaks else readings


def _sizes_bytes(path: Path) -> dict[str, int]:
    """Lines like ``MemTotal:  16 kB``, as bytes by name; empty once the file is gone."""
    try:
        return {name.decode(): int(kilobytes) * 1024 for name, kilobytes in _KILOBYTES.findall(path.read_bytes())}
    except OSError:
        return {}


def _resident_bytes(path: Path) -> int | None:
    """Resident set of a process; 0 for a zombie, None once it is gone."""
    try:
        return int(path.read_bytes().split()[1]) * PAGE_SIZE_BYTES
    except OSError:
        return None


METER = MemoryMeter
