"""The load of this machine before a run: what other programs take of its cores now, and which
programs."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from suite.machine.process_tree import process_tree
from suite.meters.meter import MeteredProcess
from suite.meters.sources.load import LoadMeter

MIN_CORES = 0.02
SHOWN = 3


@dataclass(frozen=True)
class MachineLoad:
    """Means over ``seconds``: ``cores`` of the machine, and of these ``foreign`` and ``stolen``
    ones.

    ``waiting`` is the share of the time in which at least one task waited for a CPU; None where the
    kernel has no pressure stall information. ``programs`` are the busiest other programs that ran
    all the time: name, process id and cores.
    """

    seconds: float
    cores: int
    foreign: float
    stolen: float
    waiting: float | None
    programs: tuple[tuple[str, int, float], ...]


class LoadWatch:
    """The load by other programs from its making on; the caller's own processes, and those that it
    has started and that ended, are its own."""

    def __init__(self) -> None:
        self._meter = LoadMeter()
        self._meter.open(MeteredProcess(os.getpid(), Path.cwd()))
        self._began_s, self._before = time.monotonic(), _values(self._meter)

    def rates(self) -> tuple[dict[str, float], float]:
        """What each channel has counted so far, per second, and the seconds."""
        after, took_s = _values(self._meter), time.monotonic() - self._began_s
        before = self._before
        counted = {name: after[name] - before[name] for name in before if name in after}
        return {name: count / took_s for name, count in counted.items()}, took_s

    def foreign_cores(self) -> float:
        """Mean of the cores that other programs and the hypervisor took so far."""
        rate, _ = self.rates()
        return max(0.0, rate["busy"] - rate["own"] + rate["steal"])

    def waiting(self) -> float | None:
        """Share of the time in which at least one task waited for a CPU so far; None where the
        kernel has no pressure stall information."""
        return self.rates()[0].get("cpu.some")


def measure_load(seconds: float) -> MachineLoad:
    """Measure for ``seconds``; the caller's own processes are not foreign."""
    watch, programs = LoadWatch(), _programs()
    time.sleep(seconds)
    (rate, took_s), later = watch.rates(), _programs()
    used = {
        key: (cpu_s - programs[key]) / took_s for key, cpu_s in later.items() if key in programs
    }
    busiest = sorted(
        ((name, pid, cores) for (name, pid), cores in used.items() if cores > MIN_CORES),
        key=lambda each: -each[2],
    )
    foreign = max(0.0, rate["busy"] - rate["own"])
    return MachineLoad(
        took_s,
        os.cpu_count() or 1,
        foreign,
        rate["steal"],
        rate.get("cpu.some"),
        tuple(busiest[:SHOWN]),
    )


def _values(meter: LoadMeter) -> dict[str, float]:
    return {reading.channel: reading.value for reading in meter.read()}


def _programs() -> Mapping[tuple[str, int], float]:
    """CPU seconds by name and process id of every process but this one and its descendants."""
    own, found = set(process_tree(Path("/"), os.getpid())), {}
    for process in psutil.process_iter(("name", "pid", "cpu_times")):
        times = process.info["cpu_times"]
        if times is not None and process.pid not in own:
            found[str(process.info["name"]), process.pid] = times.user + times.system
    return found
