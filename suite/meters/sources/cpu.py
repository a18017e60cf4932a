"""CPU: utilisation and frequency of every core, and CPU time of the implementation."""

import time

from suite.catalog.core_clocks import CORE_CLOCK
from suite.machine.process_tree import cpu_s, process_tree
from suite.machine.procfs import natural_order, read_integer
from suite.meters.meter import (
    MachineMeter,
    MeteredProcess,
    Reading,
)


class CpuMeter(MachineMeter):
    """Channels ``utilisation.total`` and ``utilisation.core<n>`` (% of the time since the previous
    reading), ``frequency.core<n>`` (Hz, where the kernel has cpufreq) and ``process_tree`` (CPU
    seconds so far).

    iowait counts as idle and steal as busy. Sources: proc(5), Linux admin-guide/pm/cpufreq.
    """

    name = "cpu"
    period_s = 1.0
    description = "utilisation and frequency of every core, CPU seconds of the implementation"

    def open(self, process: MeteredProcess) -> None:
        """Store the process, and find the cores' frequencies."""
        self._pid = process.pid
        self._before: dict[str, tuple[int, int]] = {}
        cores = natural_order((self._root / "sys/devices/system/cpu").glob("cpu[0-9]*"))
        scaled = [
            (core.name.removeprefix("cpu"), core / "cpufreq/scaling_cur_freq") for core in cores
        ]
        self._frequencies = [
            (f"{CORE_CLOCK}{core}", path) for core, path in scaled if path.is_file()
        ]

    def read(self) -> list[Reading]:
        """One reading per channel; utilisation from the second call on."""
        readings = self._utilisation()
        for channel, path in self._frequencies:
            kilohertz = read_integer(path)
            if kilohertz is not None:  # a core that is offline has none
                readings.append(
                    Reading(time.monotonic_ns(), self.name, channel, kilohertz * 1000.0, "Hz")
                )
        pids = process_tree(self._root, self._pid)
        if pids:
            readings.append(
                Reading(
                    time.monotonic_ns(), self.name, "process_tree", cpu_s(self._root, pids), "s"
                )
            )
        return readings

    def _utilisation(self) -> list[Reading]:
        t_ns, now, before = time.monotonic_ns(), self._busy_and_total(), self._before
        self._before = now
        readings = []
        for channel, (busy, total) in now.items():
            busy_before, total_before = before.get(channel, (busy, total))
            if total > total_before:  # the kernel's idle and iowait counts may step back a little
                percent = 100.0 * (busy - busy_before) / (total - total_before)
                readings.append(
                    Reading(t_ns, self.name, channel, min(max(percent, 0.0), 100.0), "%")
                )
        return readings

    def _busy_and_total(self) -> dict[str, tuple[int, int]]:
        """Busy and total clock ticks by channel; user and nice include the guest fields."""
        found = {}
        for line in (self._root / "proc/stat").read_text(encoding="ascii").splitlines():
            name, *fields = line.split()
            if not name.startswith("cpu"):
                break
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[:8])
            busy = user + nice + system + irq + softirq + steal
            found["utilisation." + ("total" if name == "cpu" else "core" + name[3:])] = (
                busy,
                busy + idle + iowait,
            )
        return found


METER = CpuMeter
