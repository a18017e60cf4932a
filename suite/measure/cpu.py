"""CPU: utilisation of every core and of the run's processes, and the cores' clocks."""
from pathlib import Path

import psutil

from suite.measure.meter import Availability, Reading, Subject
from suite.measure.processes import process_tree


class CpuMeter:
    """Utilisation in per cent since the previous reading, frequency in Hz, CPU seconds of the process tree."""

    name = "cpu"
    period_s = 1.0
    description = "utilisation and frequency per core, CPU time of the run's processes"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._pid = 0

    def availability(self) -> Availability:
        """Wherever /proc/stat is."""
        there = (self._root / "proc/stat").exists()
        return Availability(there, "" if there else "/proc/stat is missing", "" if there else "mount /proc")

    def open(self, subject: Subject) -> None:
        """Begin the first interval."""
        self._pid = subject.pid
        psutil.cpu_percent(percpu=True)

    def read(self, t_ns: int) -> list[Reading]:
        """One reading per core, their mean, clocks and CPU time."""
        cores = psutil.cpu_percent(percpu=True)
        readings = [Reading(t_ns, self.name, f"utilisation.core{index}", value, "%") for index, value in enumerate(cores)]
        readings.append(Reading(t_ns, self.name, "utilisation.total", sum(cores) / len(cores), "%"))
        readings += [Reading(t_ns, self.name, f"frequency.core{core}", hertz, "Hz") for core, hertz in self._frequencies_hz()]
        readings.append(Reading(t_ns, self.name, "process_tree_time", self._process_time_s(), "s"))
        return readings

    def close(self) -> None:
        """Nothing to let go of."""

    def _process_time_s(self) -> float:
        times = [process.cpu_times() for process in process_tree(self._pid)]
        return sum(time.user + time.system for time in times)

    def _frequencies_hz(self) -> list[tuple[int, float]]:
        found = []
        for path in sorted(self._root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")):
            found.append((int(path.parent.parent.name[3:]), float(path.read_text()) * 1000))
        return found
