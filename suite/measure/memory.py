"""Memory: what the machine has left, swap, and what the run's processes hold."""
from pathlib import Path

import psutil

from suite.measure.meter import Availability, Reading, Subject
from suite.measure.processes import process_tree


class MemoryMeter:
    """Sizes in bytes; the process tree's resident set counts pages that forked workers share once per process."""

    name = "memory"
    period_s = 1.0
    description = "available and used memory, swap, resident set of the run's processes"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._pid = 0

    def availability(self) -> Availability:
        """Wherever /proc/meminfo is."""
        there = (self._root / "proc/meminfo").exists()
        return Availability(there, "" if there else "/proc/meminfo is missing", "" if there else "mount /proc")

    def open(self, subject: Subject) -> None:
        """Remember whose memory it is."""
        self._pid = subject.pid

    def read(self, t_ns: int) -> list[Reading]:
        """Machine and process tree."""
        machine, swap = psutil.virtual_memory(), psutil.swap_memory()
        values = {"available": machine.available, "used": machine.used, "swap_used": swap.used}
        held = sum(process.memory_info().rss for process in process_tree(self._pid))
        if held:
            values["process_tree_rss"] = held
        return [Reading(t_ns, self.name, channel, float(value), "B") for channel, value in values.items()]

    def close(self) -> None:
        """Nothing to let go of."""
