"""Memory: available memory of the machine, resident memory of the implementation."""

import re
import time
from pathlib import Path

from suite.machine.process_tree import process_tree
from suite.meters.meter import (
    AVAILABLE,
    MachineMeter,
    MeterAvailability,
    MeteredProcess,
    Reading,
    readings_of,
)

_KILOBYTES = re.compile(rb"^(\w+):\s+(\d+) kB$", re.MULTILINE)
PSS_PAUSE = 1000.0  # times the CPU time of a reading


class MemoryMeter(MachineMeter):
    """Channels in bytes: ``available`` (free or reclaimable without swapping), ``used`` (total less
    available), ``swap_used``, ``process_tree_rss``, ``process_tree_pss`` and
    ``largest_process_peak_rss`` (the highest peak of any one process, a rank for example, since its
    start); and ``process_tree_size`` (processes).

    ``process_tree_rss`` is the sum of the processes' resident sets: a page that forked workers
    share counts once per process. ``process_tree_pss`` is the sum of their proportional set sizes:
    such a page counts once. The kernel walks the page tables for it, 10 ms for 0.5 GB. It is read
    of several processes only, and after a reading not before a thousand times the CPU time that it
    took: at most a thousandth of a core. Sources: proc(5), Linux ABI/testing/procfs-smaps_rollup
    (4.14).
    """

    name = "memory"
    period_s = 1.0
    description = "memory and swap of the machine, resident memory of the implementation"

    _next_pss_s = 0.0

    def availability(self) -> MeterAvailability:
        """MemAvailable exists since Linux 3.14."""
        path = self._root / "proc/meminfo"
        if path.is_file() and b"MemAvailable:" in path.read_bytes():
            return AVAILABLE
        return MeterAvailability(
            False, "/proc/meminfo has no MemAvailable", "mount /proc; Linux 3.14 or later is needed"
        )

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
        readings = [
            Reading(t_ns, self.name, channel, value, "B") for channel, value in values.items()
        ]
        return readings + self._implementation()

    def _implementation(self) -> list[Reading]:
        """Both sizes of a process come from one reading of its status: one that exits has neither,
        and no peak is below its resident set."""
        t_ns = time.monotonic_ns()
        statuses = {
            pid: _sizes_bytes(self._root / "proc" / str(pid) / "status")
            for pid in process_tree(self._root, self._pid)
        }
        # a zombie has none
        resident = {
            pid: status
            for pid, status in statuses.items()
            if status.get("VmRSS") and "VmHWM" in status
        }
        if not resident:
            return []
        rss, peak = ([status[key] for status in resident.values()] for key in ("VmRSS", "VmHWM"))
        values = {
            "process_tree_rss": (float(sum(rss)), "B"),
            "process_tree_size": (float(len(resident)), "processes"),
            "largest_process_peak_rss": (float(max(peak)), "B"),
        }
        return readings_of(self.name, t_ns, values) + self._proportional(list(resident))

    def _proportional(self, pids: list[int]) -> list[Reading]:
        """The sum of the proportional set sizes of several processes, where it is due and each can
        be read; of one it is the resident set."""
        if len(pids) < 2 or time.monotonic() < self._next_pss_s:
            return []
        t_ns, began_s = time.monotonic_ns(), time.thread_time()
        sizes = [
            _sizes_bytes(self._root / "proc" / str(pid) / "smaps_rollup").get("Pss") for pid in pids
        ]
        self._next_pss_s = time.monotonic() + PSS_PAUSE * (time.thread_time() - began_s)
        known = [size for size in sizes if size is not None]
        is_known = len(known) >= len(pids) - 1  # one may have exited meanwhile
        if not known or not is_known:
            return []
        return [Reading(t_ns, self.name, "process_tree_pss", sum(known), "B")]


def _sizes_bytes(path: Path) -> dict[str, int]:
    """Lines like ``MemTotal:  16 kB``, as bytes by name; empty once the file is gone."""
    try:
        return {
            name.decode(): int(kilobytes) * 1024
            for name, kilobytes in _KILOBYTES.findall(path.read_bytes())
        }
    except OSError:
        return {}


METER = MemoryMeter
