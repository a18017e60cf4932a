"""INA238: the power monitor at the input of NVIDIA's Jetson AGX Thor."""

import time
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import device_tree, in_order, integer, text
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments, Reading

HWMON = "sys/class/hwmon"
CHIP = "ina238"
THOR = "nvidia,tegra264"
INPUT_RAIL = "VIN"  # as tegrastats of JetPack 7 names it; the driver has no label


@dataclass(frozen=True)
class _Monitor:
    """One chip: its channel and its folder."""

    channel: str
    folder: Path

    def power_w(self) -> float | None:
        """The chip's own product of voltage and current, W; None when it cannot be read."""
        microwatts = integer(self.folder / "power1_input")
        return None if microwatts is None else microwatts * 1e-6


class Ina238Meter:
    """Channel ``VIN`` (W), the input of an AGX Thor; on any other board a channel per chip,
    ``ina238.<n>``, which no total names.

    Sources: Linux hwmon/ina238 (power in microwatts); jetson_stats 7.2, which takes Thor's INA238
    for its input rail.
    """

    name = "ina238"
    period_s = 0.2
    moments = Moments.RANDOM
    description = "power at the input of a Jetson AGX Thor"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._monitors: list[_Monitor] = []

    def availability(self) -> MeterAvailability:
        """Whether the kernel shows such a chip, and its power can be read."""
        monitors = _monitors(self._root)
        if not monitors:
            return MeterAvailability(
                False,
                "there is no INA238 (a Jetson AGX Thor has it at its input)",
                "other Jetson boards have an INA3221",
            )
        if all(monitor.power_w() is None for monitor in monitors):
            return MeterAvailability(
                False,
                "the INA238's power cannot be read",
                "run the suite as root, or let its user read /sys/class/hwmon",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Find the chips."""
        self._monitors = _monitors(self._root)

    def read(self) -> list[Reading]:
        """One reading per chip that can be read; raises OSError when none can."""
        readings = []
        for monitor in self._monitors:
            before_ns = time.monotonic_ns()
            power_w = monitor.power_w()
            if power_w is not None:
                readings.append(
                    Reading(
                        (before_ns + time.monotonic_ns()) // 2,
                        self.name,
                        monitor.channel,
                        power_w,
                        "W",
                    )
                )
        if not readings:
            raise OSError("no INA238 can be read")
        return readings

    def close(self) -> None:
        """Nothing to release."""


def _monitors(root: Path) -> list[_Monitor]:
    chips = [
        folder
        for folder in in_order((root / HWMON).glob("hwmon*"))
        if text(folder / "name") == CHIP
    ]
    is_input = len(chips) == 1 and THOR in (device_tree(root, "compatible") or "")
    return [
        _Monitor(INPUT_RAIL if is_input else f"{CHIP}.{number}", folder)
        for number, folder in enumerate(chips)
    ]


METER = Ina238Meter
