"""INA3221: the power monitors on NVIDIA Jetson modules, three rails each."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from suite.machine.procfs import in_order, integer, text
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments, Reading

HWMON = "sys/bus/i2c/drivers/ina3221"  # mainline driver, JetPack 5 and later
IIO = "sys/bus/i2c/drivers/ina3221x"  # NVIDIA's driver, JetPack 3 and 4
IIO_FOLDERS = ("iio:device*", "iio_device")  # JetPack 4, JetPack 3
NOT_CONNECTED = "NC"
AVERAGED_SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)  # what the chip can average


@dataclass(frozen=True)
class Rail:
    """A rail by its board's name, and the function that reads its power in W; None when it cannot
    be read."""

    name: str
    power_w: Callable[[], float | None]


class Ina3221Meter:
    """One channel per rail (W), named as in the board's device tree; a PowerRule names those that
    make the total.

    A reading's time is the middle of its transfer, which takes a millisecond on the I2C bus. Where
    the chip's averaging may be set (as root), it averages over as much of the period as it can
    during a run, and is set back afterwards: by default a reading is one conversion of a
    millisecond. Its configuration is in run.json. Sources: Linux hwmon/ina3221, NVIDIA Jetson Linux
    Developer Guide (JetPack 4: "Software-Based Power Consumption Modeling").
    """

    name = "ina3221"
    period_s = 0.2
    moments = Moments.RANDOM
    description = "power of a Jetson module's rails"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._rails: list[Rail] = []
        self._samples_before: dict[Path, str] = {}

    def availability(self) -> MeterAvailability:
        """Whether a rail can be read; some releases allow only root."""
        rails = _rails(self._root)
        if not rails and _chips(self._root):
            return MeterAvailability(
                False,
                f"the INA3221 {', '.join(chip.parent.parent.name for chip in _chips(self._root))}"
                " has no labels, so what its rails feed is unknown",
                "label its inputs in the device tree, or use a meter outside the board"
                " (docs/measuring.md)",
            )
        if not rails:
            return MeterAvailability(
                False,
                "there is no INA3221 (Jetson modules have it, the Nano 2GB has not)",
                "use a meter outside the board (docs/measuring.md)",
            )
        if all(rail.power_w() is None for rail in rails):
            return MeterAvailability(
                False,
                "the INA3221's files cannot be read",
                "run the suite as root, or let its user read them",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Find the rails, and set the chips' averaging where the kernel allows it."""
        self._rails = _rails(self._root)
        for chip in _chips(self._root):
            before = text(chip / "samples")
            if before is not None and _set_averaging(chip, self.period_s):
                self._samples_before[chip / "samples"] = before

    def settings(self) -> dict[str, str]:
        """Samples per average, time of all conversions (ms) and shunts (micro-ohms) of every chip
        that shows them."""
        return {
            f"{chip.parent.parent.name}.{name}": value
            for chip in _chips(self._root)
            for name in (
                "samples",
                "update_interval",
                *(f"shunt{number}_resistor" for number in (1, 2, 3)),
            )
            if (value := text(chip / name)) is not None
        }

    def read(self) -> list[Reading]:
        """One reading per rail that can be read; raises OSError when none can."""
        readings = []
        for rail in self._rails:
            before_ns = time.monotonic_ns()
            power_w = rail.power_w()
            if power_w is not None:
                readings.append(
                    Reading(
                        (before_ns + time.monotonic_ns()) // 2, self.name, rail.name, power_w, "W"
                    )
                )
        if not readings:
            raise OSError("no rail of the INA3221 can be read")
        return readings

    def close(self) -> None:
        """Set the chips' averaging back."""
        for path, before in self._samples_before.items():
            path.write_text(before, encoding="utf-8")
        self._samples_before.clear()


def _chips(root: Path) -> list[Path]:
    """The chips under the mainline driver, by bus and address; NVIDIA's driver shows no
    configuration."""
    return [
        chip
        for device in in_order((root / HWMON).glob("*-*"))
        for chip in in_order(device.glob("hwmon/hwmon*"))
    ]


def _iio_chips(root: Path) -> list[Path]:
    """The chips under NVIDIA's driver, by bus and address."""
    devices = in_order((root / IIO).glob("*-*"))
    return [
        chips[0]
        for device in devices
        if (chips := [chip for name in IIO_FOLDERS for chip in in_order(device.glob(name))])
    ]


def _set_averaging(chip: Path, period_s: float) -> bool:
    """Have the chip average over the longest time that is not above ``period_s``; False where that
    is so already, or not allowed.

    The interval is read at one sample: some kernels' ``update_interval`` is the time of an average,
    others' (6.1) that of one sample.
    """
    samples = integer(chip / "samples")
    if not samples:
        return False
    chosen = samples
    try:
        (chip / "samples").write_text("1\n", encoding="utf-8")
        interval_ms = integer(chip / "update_interval") or math.inf
        chosen = max(
            [
                samples,
                *(count for count in AVERAGED_SAMPLES if count * interval_ms <= period_s * 1e3),
            ]
        )
        (chip / "samples").write_text(f"{chosen}\n", encoding="utf-8")
    except OSError:
        return False
    return chosen != samples


def _rails(root: Path) -> list[Rail]:
    """The connected rails of every monitor, under either driver.

    Of rails with one label (a carrier board with a monitor of its own) the one of the lowest bus
    and address, the module's, has the plain name; the others have their chip's after it,
    ``VDD_IN@1-0041``.
    """
    found = [
        (chip.parent.parent.name, rail) for chip in _chips(root) for rail in _hwmon_rails(chip)
    ]
    found += [(chip.parent.name, rail) for chip in _iio_chips(root) for rail in _iio_rails(chip)]
    named: dict[str, Rail] = {}
    for device, rail in found:
        if rail.name and rail.name != NOT_CONNECTED:
            name = rail.name if rail.name not in named else f"{rail.name}@{device}"
            named.setdefault(name, replace(rail, name=name))
    return list(named.values())


def _hwmon_rails(chip: Path) -> list[Rail]:
    """Channels 1 to 3; the driver's further channels are shunt voltages and their sum."""

    def reader(number: int) -> Callable[[], float | None]:
        def power_w() -> float | None:
            millivolts, milliamperes = (
                integer(chip / f"in{number}_input"),
                integer(chip / f"curr{number}_input"),
            )
            return (
                None
                if millivolts is None or milliamperes is None
                else millivolts * milliamperes * 1e-6
            )

        return power_w

    return [Rail(text(chip / f"in{number}_label") or "", reader(number)) for number in (1, 2, 3)]


def _iio_rails(chip: Path) -> list[Rail]:
    def reader(number: int) -> Callable[[], float | None]:
        def power_w() -> float | None:
            milliwatts = integer(chip / f"in_power{number}_input")
            return None if milliwatts is None else milliwatts * 1e-3

        return power_w

    return [Rail(text(chip / f"rail_name_{number}") or "", reader(number)) for number in (0, 1, 2)]


METER = Ina3221Meter
