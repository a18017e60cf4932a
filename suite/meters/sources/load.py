"""Load: CPU time of the machine and of the suite's own processes, waiting (PSI), and bytes that the
implementation reads and writes."""

import os
import time
from pathlib import Path

from suite.machine.process_tree import (
    CLOCK_TICKS_PER_S,
    ProcessAccount,
    Usages,
    cpu_usages,
    descendants,
    io_usages,
)
from suite.machine.procfs import read_text
from suite.meters.meter import (
    MachineMeter,
    MeterAvailability,
    MeteredProcess,
    Reading,
)

PRESSURE = "proc/pressure"
PRESSURES = (("cpu", ("some",)), ("io", ("some", "full")), ("memory", ("some", "full")))


class LoadMeter(MachineMeter):
    """Channels ``busy`` and ``steal`` (CPU seconds of all cores since boot, and those that the
    hypervisor gave to others), ``own`` (CPU seconds of the suite's processes: the harness with its
    recorders and helper programs, and the implementation with all its processes on this machine,
    the exited ones included), ``<cpu|io|memory>.some`` and ``.full`` (s since boot in which some
    task, or every task, waited for it), ``read`` and ``written`` (B between the implementation's
    processes and storage, the exited ones included).

    ``busy`` less ``own`` is the time of other programs and of the kernel's own threads. Sources:
    proc(5), Linux accounting/psi.
    """

    name = "load"
    period_s = 1.0
    description = (
        "CPU time of the suite's processes and of all processes; time waited for CPU, disk"
        " and memory; bytes that the implementation read and wrote"
    )

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__(root)
        self._own, self._implementation = ProcessAccount(), ProcessAccount()
        self._read, self._written = ProcessAccount(), ProcessAccount()

    def availability(self) -> MeterAvailability:
        """Every Linux has /proc/stat; the reason says where it has no pressure stall
        information."""
        found = super().availability()
        if not found.available or read_text(self._root / PRESSURE / "cpu"):
            return found
        return MeterAvailability(
            True,
            "the kernel has no pressure stall information; the other channels are read",
            "start the kernel with psi=1",
        )

    def open(self, process: MeteredProcess) -> None:
        """Store the implementation's process; the harness's is the one that reads."""
        self._pids = (process.pid, os.getpid())

    def read(self) -> list[Reading]:
        """One reading per channel that the kernel has."""
        t_ns, machine = time.monotonic_ns(), self._machine_s()
        processes = cpu_usages(self._root, self._pids, self._own.members)
        values = {**machine, "own": self._own.update(processes), **self._pressure_s()}
        readings = [
            Reading(t_ns, self.name, channel, value, "s") for channel, value in values.items()
        ]
        return readings + self._bytes(
            descendants(processes, self._pids[0], self._implementation.members)
        )

    def _machine_s(self) -> dict[str, float]:
        """Busy and stolen CPU time since boot; user and nice include the guest fields, iowait is
        idle."""
        with (self._root / "proc/stat").open(encoding="ascii") as stream:
            user, nice, system, _, _, irq, softirq, steal = map(int, stream.readline().split()[1:9])
        return {
            "busy": (user + nice + system + irq + softirq) / CLOCK_TICKS_PER_S,
            "steal": steal / CLOCK_TICKS_PER_S,
        }

    def _pressure_s(self) -> dict[str, float]:
        """Seconds since boot; lines like ``some avg10=0.00 avg60=0.00 avg300=0.00
        total=13036280884`` (µs)."""
        found = {}
        for resource, kinds in PRESSURES:
            for line in (read_text(self._root / PRESSURE / resource) or "").splitlines():
                kind, total = line.partition(" ")[0], line.rpartition("total=")[2]
                if kind in kinds and total.isdigit():
                    found[f"{resource}.{kind}"] = int(total) * 1e-6
        return found

    def _bytes(self, processes: Usages) -> list[Reading]:
        """Bytes of the implementation's processes, and none before the first of them can be
        read."""
        self._implementation.update(processes)
        t_ns, counts = time.monotonic_ns(), io_usages(self._root, processes)
        if not counts[0] and not self._read.members:
            return []
        totals = zip(("read", "written"), (self._read, self._written), counts, strict=True)
        return [
            Reading(t_ns, self.name, channel, account.update(usages), "B")
            for channel, account, usages in totals
        ]


METER = LoadMeter
