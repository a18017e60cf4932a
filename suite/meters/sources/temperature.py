"""Temperature: the kernel's thermal zones, and the sensors of chips that have none."""

import time
from collections import Counter
from pathlib import Path

from suite.machine.procfs import in_order, integer, text
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

ABSENT_MILLIDEGREES = -200_000  # a Jetson's zone reads -256 degrees while its part is switched off


class TemperatureMeter:
    """One channel per sensor (degC), named after the thermal zone's type or the chip and its label
    (``nvme Composite``).

    A sensor that cannot be read at the moment (a GPU in suspend) is left out. Sources: Linux
    thermal/sysfs-api, hwmon/sysfs-interface.
    """

    name = "temperature"
    period_s = 2.0
    description = "thermal zones, and sensors of chips without one"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._sensors: list[tuple[str, Path]] = []

    def availability(self) -> MeterAvailability:
        """Boards have thermal zones, virtual machines usually nothing."""
        if self._find():
            return AVAILABLE
        return MeterAvailability(
            False,
            "neither /sys/class/thermal nor /sys/class/hwmon has a temperature",
            "a virtual machine has none: run on the machine itself; on a PC, load the chip's driver"
            " with `sensors-detect` (lm-sensors)",
        )

    def open(self, process: MeteredProcess) -> None:
        """Find the sensors."""
        self._sensors = self._find()

    def read(self) -> list[Reading]:
        """One reading per sensor that can be read."""
        readings = []
        for channel, path in self._sensors:
            millidegrees = integer(path)
            if millidegrees is not None and millidegrees > ABSENT_MILLIDEGREES:
                readings.append(
                    Reading(time.monotonic_ns(), self.name, channel, millidegrees / 1000, "degC")
                )
        return readings

    def close(self) -> None:
        """Nothing to release."""

    def _find(self) -> list[tuple[str, Path]]:
        found = [
            (text(zone / "type") or zone.name, zone / "temp")
            for zone in in_order((self._root / "sys/class/thermal").glob("thermal_zone*"))
        ]
        for chip in in_order((self._root / "sys/class/hwmon").glob("hwmon*")):
            if (chip / "device/temp").exists():
                continue  # the kernel lists a thermal zone here again
            for path in in_order(chip.glob("temp*_input")):
                label = text(
                    path.with_name(path.name.replace("_input", "_label"))
                ) or path.name.removesuffix("_input")
                found.append((f"{text(chip / 'name') or chip.name} {label}", path))
        return _distinct([(channel, path) for channel, path in found if path.is_file()])


def _distinct(sensors: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Number the sensors that have the same name."""
    total, seen, named = Counter(channel for channel, _ in sensors), Counter[str](), []
    for channel, path in sensors:
        named.append((f"{channel}.{seen[channel]}" if total[channel] > 1 else channel, path))
        seen[channel] += 1
    return named


METER = TemperatureMeter
