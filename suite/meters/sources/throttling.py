"""Throttling: whether heat, current or low voltage slowed the machine down."""

import math
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from suite.catalog.throttling import slows_processor
from suite.machine.procfs import natural_order, read_integer, read_text
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability
from suite.meters.tool import find_tool, run_tool

ACTIVE, EVENTS = "active", "events"  # units: 1 while active, and a counter
RASPBERRY_PI = "sys/devices/platform/soc*/soc*:firmware/get_throttled"
# mainline kernels (Fedora, Debian's own) have this instead: under-voltage alone
RASPBERRY_PI_HWMON = "rpi_volt"
FIRMWARE_BITS = {
    0: "under_voltage",
    1: "frequency_capped",
    2: "throttled",
    3: "soft_temperature_limit",
}
SINCE_BOOT = 16
CPUS = "sys/devices/system/cpu"
THERMAL = "sys/class/thermal"
MAX_SETTINGS = 50
ASKS_S = 30.0
"""How often vcgencmd, which takes a process, is asked while all is well."""


class ThrottlingMeter(ChannelMeter):
    """Channels in unit ``active`` (1 while active): ``under_voltage``, ``frequency_capped``,
    ``throttled`` and ``soft_temperature_limit`` of a Raspberry Pi, with ``….since_boot``, and
    ``cooling.<n>.<device>`` of devices that slow a processor down; in unit ``events`` (counters):
    ``over_current.<n>`` of a Jetson, ``thermal.core.<n>`` and ``thermal.package.<n>`` of x86, once
    per core and package.

    Cooling devices that slow no processor (fans, Wi-Fi, displays, alerts) are not read;
    suite.catalog.throttling lists those that do. The settings name the trip points at which they
    start. A lower limit of a clock is a reading of the meter ``power-mode``.

    Sources: Raspberry Pi documentation, get_throttled; Linux hwmon/raspberrypi-hwmon; NVIDIA Jetson
    Linux Developer Guide, over-current events; Linux admin-guide/thermal and thermal/sysfs-api.
    """

    name = "throttling"
    period_s = 1.0
    description = "throttling by heat, current or low voltage"

    absent = MeterAvailability(
        False,
        "the machine does not report throttling",
        "a virtual machine does not report it: if this is one, run on its host instead",
    )

    def settings(self) -> Mapping[str, str]:
        """The trip points at which a device slows a processor down: zone and device, type and
        temperature."""
        return dict(list(_trip_points(self._root))[:MAX_SETTINGS])

    def find(self) -> Iterator[MeterChannel]:
        """What the firmware, the boards' chips, the cores and the cooling devices report."""
        firmware = list(self._root.glob(RASPBERRY_PI))
        for path in firmware:
            flags = _Flags(path, self._root)
            for bit, name in FIRMWARE_BITS.items():
                yield MeterChannel(name, ACTIVE, partial(flags.bit, bit))
                yield MeterChannel(
                    f"{name}.since_boot", ACTIVE, partial(flags.bit, bit + SINCE_BOOT)
                )
        for path in (
            ()
            if firmware
            else natural_order(self._root.glob("sys/class/hwmon/hwmon*/in0_lcrit_alarm"))
        ):
            if read_text(path.with_name("name")) == RASPBERRY_PI_HWMON:
                yield MeterChannel(FIRMWARE_BITS[0], ACTIVE, partial(_is_active, path))
        for path in natural_order(self._root.glob("sys/class/hwmon/hwmon*/oc*_event_cnt")):
            name = path.name.removesuffix("_event_cnt")
            # an event that only raises an interrupt slows nothing
            if read_integer(path.with_name(f"{name}_throt_en")) != 0:
                yield MeterChannel(f"over_current.{name}", EVENTS, file_reader(path))
        for level in ("core", "package"):
            for path in _once_per(level, self._root):
                yield MeterChannel(
                    f"thermal.{level}.{path.parent.parent.name}", EVENTS, file_reader(path)
                )
        for folder in natural_order(self._root.glob(f"{THERMAL}/cooling_device*")):
            kind = read_text(folder / "type") or ""
            if slows_processor(kind):
                yield MeterChannel(
                    f"cooling.{folder.name.removeprefix('cooling_device')}.{kind}",
                    ACTIVE,
                    partial(_is_active, folder / "cur_state"),
                )


def _once_per(level: str, root: Path) -> Iterator[Path]:
    """One counter for each core or package: every thread of a core, and every core of a package,
    shows the same counter."""
    seen = set()
    for cpu in natural_order(root.glob(f"{CPUS}/cpu[0-9]*")):
        path, package, core = (
            cpu / part
            for part in (
                f"thermal_throttle/{level}_throttle_count",
                "topology/physical_package_id",
                "topology/core_id",
            )
        )
        key = (read_text(package) or cpu.name, read_text(core) if level == "core" else None)
        if path.exists() and key not in seen:
            seen.add(key)
            yield path


def _trip_points(root: Path) -> Iterator[tuple[str, str]]:
    """(zone and cooling device, type and temperature) of every trip point that is bound to a device
    that slows a processor."""
    for zone in natural_order(root.glob(f"{THERMAL}/thermal_zone*")):
        for link in natural_order(
            path for path in zone.glob("cdev*") if path.name.removeprefix("cdev").isdigit()
        ):
            device, trip = (
                read_text(link / "type") or "",
                read_integer(zone / f"{link.name}_trip_point"),
            )
            millidegrees = None if trip is None else read_integer(zone / f"trip_point_{trip}_temp")
            if slows_processor(device) and millidegrees is not None:
                named = f"{read_text(zone / 'type') or zone.name} {device}"
                yield (
                    f"{named} {trip}",
                    (
                        f"{read_text(zone / f'trip_point_{trip}_type') or 'trip'} at"
                        f" {millidegrees / 1000:g} degC"
                    ),
                )


class _Flags:
    """The firmware's flags, from the kernel's file. Some kernels leave it 0: as long as it is,
    vcgencmd is asked now and then (the flags since boot miss nothing), and always once it tells
    more."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path, self._asked_s, self._asks_s = path, -math.inf, ASKS_S
        self._told: int | None = None
        self._tool = find_tool(root, "vcgencmd")

    def bit(self, bit: int) -> float | None:
        """1 while the flag is set, else 0; None where it cannot be read."""
        flags = _hexadecimal(read_text(self._path))
        if not flags and self._tool is not None:
            now_s = time.monotonic()
            if now_s - self._asked_s > self._asks_s:
                self._asked_s, self._told = now_s, self._ask(self._tool)
                self._asks_s = ThrottlingMeter.period_s / 2 if self._told else ASKS_S
            flags = flags if self._told is None else self._told
        return None if flags is None else float(flags >> bit & 1)

    def _ask(self, tool: Path) -> int | None:
        try:
            return _hexadecimal(run_tool([str(tool), "get_throttled"])[0].partition("=")[2])
        except OSError:
            return None


def _hexadecimal(written: str | None) -> int | None:
    try:
        return int(written, 16) if written else None
    except ValueError:
        return None


def _is_active(path: Path) -> float | None:
    state = read_integer(path)
    return None if state is None else float(state > 0)


METER = ThrottlingMeter
