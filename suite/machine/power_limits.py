"""Power limits of x86 processors: what RAPL caps, per zone and time window."""

from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import in_order, integer, text

POWERCAP = "sys/class/powercap"
PACKAGE = "package"


@dataclass(frozen=True)
class PowerLimit:
    """One limit of one RAPL zone, W; ``zone`` is the kernel's name of the zone, ``constraint``
    long_term, short_term or peak_power."""

    zone: str
    name: str
    constraint: str
    limit_w: float
    window_s: float | None

    @property
    def is_of_package(self) -> bool:
        """Whether it limits a whole processor package over time: what firmware calls PL1 and
        PL2."""
        return self.name.startswith(PACKAGE) and self.constraint in ("long_term", "short_term")


def limit_files(root: Path) -> list[Path]:
    """The files that hold the limits, in microwatts, in order of zones: those by MSR (intel-rapl)
    and by MMIO, which hold together."""
    return [
        path
        for zone in in_order((root / POWERCAP).glob("intel-rapl*:*"))
        for path in in_order(zone.glob("constraint_*_power_limit_uw"))
    ]


def read_power_limits(root: Path = Path("/")) -> tuple[PowerLimit, ...]:
    """Every power limit that the kernel shows; empty without RAPL, as on ARM. Source: Linux
    power/powercap/powercap."""
    found = []
    for path in limit_files(root):
        zone, stem = path.parent, path.name.removesuffix("_power_limit_uw")
        microwatts, window_us = integer(path), integer(zone / f"{stem}_time_window_us")
        if microwatts is not None:
            names = text(zone / "name") or zone.name, text(zone / f"{stem}_name") or stem
            found.append(
                PowerLimit(
                    zone.name,
                    *names,
                    microwatts * 1e-6,
                    None if window_us is None else window_us * 1e-6,
                )
            )
    return tuple(found)
