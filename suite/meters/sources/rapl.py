"""RAPL: the energy counters of Intel's and AMD's processors."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import natural_order, read_integer, read_text
from suite.meters.channels import ChannelMeter, MeterChannel
from suite.meters.meter import MeterAvailability

POWERCAP = "sys/class/powercap"
ZONE = re.compile(r"intel-rapl:(\d+)(?::\d+)?$")  # intel-rapl-mmio has the same packages again
DIE = re.compile(r"(package-\d+)-die-\d+$")
AMD = re.compile(r"^vendor_id\s*:\s*(AuthenticAMD|HygonGenuine)$", re.MULTILINE)
MAX_W, MIN_ELAPSED_S = 2000.0, 1.0  # no counter grows faster; it is bounded for a second at least


@dataclass
class _Domain:
    """A counter that wraps, extended into one that does not. One that fell without a wrap (suspend,
    a driver loaded anew) is not read any more."""

    channel: str
    folder: Path
    range_uj: int
    before_uj: int | None = None
    before_s: float = 0.0
    wraps: int = 0
    is_lost: bool = False

    def energy_j(self) -> float | None:
        """Energy since the counter was last 0 before the run, J; None when it cannot be read."""
        now_uj, now_s = read_integer(self.folder / "energy_uj"), time.monotonic()
        if now_uj is None or self.is_lost:
            return None
        if self.before_uj is not None and now_uj < self.before_uj:
            longest_uj = MAX_W * max(MIN_ELAPSED_S, now_s - self.before_s) * 1e6
            if not 0 <= self.range_uj - self.before_uj + now_uj <= longest_uj:
                self.is_lost = True
                return None
            self.wraps += 1
        self.before_uj, self.before_s = now_uj, now_s
        return (now_uj + self.wraps * self.range_uj) * 1e-6


class RaplMeter(ChannelMeter):
    """One channel per domain, a counter in J without wraps: ``package-<n>``, ``dram-<n>``,
    ``core-<n>``, ``uncore-<n>``, ``psys``.

    A package of several dies has a zone per die, ``package-<n>-die-<m>``, and ``dram-<n>-die-<m>``.
    AMD's dies all show the counter of their package: the first one is read. Two zones that the
    kernel names alike keep apart by their zone's number. The period is far shorter than the time in
    which a counter wraps (at least a minute, at 1 kW). Sources: Linux power/powercap; Intel SDM
    volume 3, "Platform Specific Power Management Support".
    """

    name = "rapl"
    period_s = 0.5
    description = "energy counters of the processor's packages and memory"

    absent = MeterAvailability(
        False,
        "the kernel has no RAPL domain (Intel and AMD processors have one, virtual machines"
        " rarely)",
        "on a PC, load the driver: `modprobe intel_rapl_msr`; elsewhere use a meter outside"
        " the machine",
    )
    unreadable = MeterAvailability(  # since 2020 the kernel allows only root
        False,
        f"/{POWERCAP}/*/energy_uj can be read by root only",
        f"sudo chmod a+r /{POWERCAP}/intel-rapl*/energy_uj",
        forbidden=True,
    )

    def find(self) -> Sequence[MeterChannel]:
        """The domains' counters, from their values now."""
        self._domains = _domains(self._root)
        return [MeterChannel(domain.channel, "J", domain.energy_j) for domain in self._domains]

    def silence(self) -> str:
        """A processor's counters are always there; some are set back."""
        are_lost = any(domain.is_lost for domain in self._domains)
        return "no RAPL domain can be read" + ": their counters were reset" * are_lost


def _domains(root: Path) -> list[_Domain]:
    """The domains of every package and die; the channel of a part of a package has the package's
    number, and is unique."""
    zones = [
        (zone, folder)
        for folder in natural_order((root / POWERCAP).glob("intel-rapl:*"))
        if (zone := ZONE.match(folder.name))
    ]
    repeated = (
        _repeated_dies(root) if AMD.search(read_text(root / "proc/cpuinfo") or "") else frozenset()
    )
    zones = [(zone, folder) for zone, folder in zones if zone[1] not in repeated]
    named = [(folder, channel) for zone, folder in zones if (channel := _channel(folder, zone[1]))]
    names = Counter(channel for _, channel in named)
    return [
        _Domain(
            channel if names[channel] == 1 else f"{channel}:{folder.name.partition(':')[2]}",
            folder,
            read_integer(folder / "max_energy_range_uj") or 0,
        )
        for folder, channel in named
    ]


def _repeated_dies(root: Path) -> frozenset[str]:
    """The zones' numbers of every die but the first of its package.

    Two dies of a Threadripper 1950X both showed the 68 W of the package:
    https://github.com/mlco2/codecarbon/issues/1274.
    """
    first: dict[str, str] = {}
    repeated = set()
    for folder in natural_order((root / POWERCAP).glob("intel-rapl:*")):
        die, number = DIE.match(read_text(folder / "name") or ""), folder.name.partition(":")[2]
        if die is not None and first.setdefault(die[1], number) != number:
            repeated.add(number)
    return frozenset(repeated)


def _channel(folder: Path, parent_zone: str) -> str | None:
    """``dram-0-die-1`` for the zone ``dram`` below ``package-0-die-1``; the zone's own name for a
    package, and for psys."""
    name = read_text(folder / "name")
    parent = read_text(folder.parent / f"intel-rapl:{parent_zone}" / "name") or parent_zone
    return name if not name or name == parent else f"{name}-{parent.removeprefix('package-')}"


METER = RaplMeter
