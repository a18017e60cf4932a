"""Throttling: whether heat, current or low voltage slowed the machine down."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import in_order, integer, text
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

ACTIVE, EVENTS = "active", "events"  # units: 1 while active, and a counter
RASPBERRY_PI = "sys/devices/platform/soc*/soc*:firmware/get_throttled"
FIRMWARE_BITS = {0: "under_voltage", 1: "frequency_capped", 2: "throttled", 3: "soft_temperature_limit"}
SINCE_BOOT = 16


@dataclass(frozen=True)
class _Sensor:
    """A channel and the function that reads it; None when it cannot be read."""

    channel: str
    unit: str
    read: Callable[[], float | None]


class ThrottlingMeter:
    """Channels in unit ``active`` (1 while active): ``under_voltage``, ``frequency_capped``, ``throttled`` and ``soft_temperature_limit`` of
    a Raspberry Pi, with ``….since_boot``, and ``cooling.<n>.<device>`` of devices that slow a processor down; in unit ``events`` (counters):
    ``over_current.<n>`` of a Jetson, ``thermal.core.<n>`` and ``thermal.package.<n>`` of x86.

    Sources: Raspberry Pi documentation, get_throttled; NVIDIA Jetson Linux Developer
    Guide, over-current events; Linux admin-guide/thermal and thermal/sysfs-api.
    """

    name = "throttling"
    period_s = 1.0
    description = "throttling by heat, current or low voltage"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._sensors: list[_Sensor] = []

    def availability(self) -> MeterAvailability:
        """Whether the machine reports any kind of throttling."""
        if list(self._find()):
            return AVAILABLE
        return MeterAvailability(False, "the machine does not report throttling", "a virtual machine has none: run on the machine itself")

    def open(self, process: MeteredProcess) -> None:
        """Find the sensors."""
        self._sensors = list(self._find())

    def read(self) -> list[Reading]:
        """One reading per channel that can be read."""
        readings = []
        for sensor in self._sensors:
            value = sensor.read()
            if value is not None:
                readings.append(Reading(time.monotonic_ns(), self.name, sensor.channel, value, sensor.unit))
        return readings

    def close(self) -> None:
        """Nothing to release."""

    def _find(self) -> Iterator[_Sensor]:
        for path in self._root.glob(RASPBERRY_PI):
            yield from _firmware(path)
        for path in in_order(self._root.glob("sys/class/hwmon/hwmon*/oc*_event_cnt")):
            yield _Sensor(f"over_current.{path.name.removesuffix('_event_cnt')}", EVENTS, _reader(path))
        for level in ("core", "package"):
            for path in in_order(self._root.glob(f"sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/{level}_throttle_count")):
                yield _Sensor(f"thermal.{level}.{path.parent.parent.name}", EVENTS, _reader(path))
        for folder in in_order(self._root.glob("sys/class/thermal/cooling_device*")):
            kind = text(folder / "type") or ""
            if "fan" not in kind.lower():
                yield _Sensor(f"cooling.{folder.name.removeprefix('cooling_device')}.{kind}", ACTIVE, _is_active(folder / "cur_state"))


def _firmware(path: Path) -> Iterator[_Sensor]:
    def flag(bit: int) -> Callable[[], float | None]:
        def read() -> float | None:
            flags = text(path)
            try:
                return float(int(flags, 16) >> bit & 1) if flags else None
            except ValueError:
                return None

        return read

    for bit, name in FIRMWARE_BITS.items():
        yield _Sensor(name, ACTIVE, flag(bit))
        yield _Sensor(f"{name}.since_boot", ACTIVE, flag(bit + SINCE_BOOT))


def _reader(path: Path) -> Callable[[], float | None]:
    return lambda: integer(path)


def _is_active(path: Path) -> Callable[[], float | None]:
    def read() -> float | None:
        state = integer(path)
        return None if state is None else float(state > 0)

    return read


METER = ThrottlingMeter
