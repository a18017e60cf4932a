"""Temperature: the kernel's thermal zones, and the sensors of chips that have none."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from suite.machine.procfs import natural_order, read_integer, read_text
from suite.meters.channels import ChannelMeter, MeterChannel
from suite.meters.meter import MeterAvailability

# a Jetson's zone reads -256 degrees while its part is switched off, some PC's -50, an unset one
# 2**31 - 1; the coldest grade of chips works down to -40 degrees
POSSIBLE_MILLIDEGREES = range(-40_000, 250_000)
# drivers of some boards write 31 for 31 degrees (pi-hole/web #129); no machine is at 0.2 degrees
MAX_DEGREES = 200
# a Jetson's zone that tells alarms only: 100 or 50 degrees without one (Linux, max77620_thermal.c)
ALARMS = "PMIC-Die"


class TemperatureMeter(ChannelMeter):
    """One channel per sensor (degC), named after the thermal zone's type or the chip and its label
    (``nvme Composite``).

    A sensor that cannot be read at the moment (a GPU in suspend) is left out. Sources: Linux
    thermal/sysfs-api, hwmon/sysfs-interface.
    """

    name = "temperature"
    period_s = 2.0
    description = (
        "temperatures of thermal zones, and of the hwmon sensors of chips that have no thermal zone"
    )

    absent = MeterAvailability(
        False,
        "neither /sys/class/thermal nor /sys/class/hwmon has a temperature",
        "a virtual machine has no sensors: if this is one, run on its host instead; on a PC, load"
        " the chip's driver with `sensors-detect` (lm-sensors)",
    )

    def find(self) -> Iterator[MeterChannel]:
        """The sensors; those of the same name are numbered."""
        sensors = [(channel, path) for channel, path in self._named_files() if path.is_file()]
        total, seen = Counter(channel for channel, _ in sensors), Counter[str]()
        for channel, path in sensors:
            name = f"{channel}.{seen[channel]}" if total[channel] > 1 else channel
            yield MeterChannel(name, "degC", _celsius_reader(path))
            seen[channel] += 1

    def _named_files(self) -> list[tuple[str, Path]]:
        found = [
            (name, zone / "temp")
            for zone in natural_order((self._root / "sys/class/thermal").glob("thermal_zone*"))
            if (name := read_text(zone / "type") or zone.name) != ALARMS
        ]
        for chip in natural_order((self._root / "sys/class/hwmon").glob("hwmon*")):
            if (chip / "device/temp").exists():
                continue  # the kernel lists a thermal zone here again
            for path in natural_order(chip.glob("temp*_input")):
                label = read_text(
                    path.with_name(path.name.replace("_input", "_label"))
                ) or path.name.removesuffix("_input")
                found.append((f"{read_text(chip / 'name') or chip.name} {label}", path))
        return found


def _celsius_reader(path: Path) -> Callable[[], float | None]:
    def read() -> float | None:
        millidegrees = read_integer(path)
        if millidegrees is None or millidegrees not in POSSIBLE_MILLIDEGREES:
            return None
        return float(millidegrees) if 0 < millidegrees < MAX_DEGREES else millidegrees / 1000

    return read


METER = TemperatureMeter
