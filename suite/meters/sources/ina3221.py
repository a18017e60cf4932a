"""INA3221: the power monitors on NVIDIA Jetson modules, three rails each."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from suite.machine.procfs import natural_order, read_integer, read_text
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability, MeteredProcess, Moments

HWMON = "sys/bus/i2c/drivers/ina3221"  # mainline driver, JetPack 5 and later
IIO = "sys/bus/i2c/drivers/ina3221x"  # NVIDIA's driver, JetPack 3 and 4
IIO_FOLDERS = ("iio:device*", "iio_device")  # JetPack 4, JetPack 3
NOT_CONNECTED = "NC"
AVERAGED_SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)  # what the chip can average
PowerReader = Callable[[], float | None]


class Ina3221Meter(ChannelMeter):
    """One channel per rail (W), named as in the board's device tree; a PowerRule names those that
    make the total.

    A transfer takes a millisecond on the I2C bus. Where the chip's averaging may be set (as root),
    it averages over as much of the period as it can during a run, and is set back afterwards: by
    default a reading is one conversion of a millisecond. Its configuration is in run.json. Sources:
    Linux hwmon/ina3221, NVIDIA Jetson Linux Developer Guide (JetPack 4: "Software-Based Power
    Consumption Modeling").
    """

    name = "ina3221"
    period_s = 0.2
    moments = Moments.RANDOM
    description = "power of a Jetson module's rails"

    absent = MeterAvailability(
        False,
        "there is no INA3221 (Jetson modules have one, the Nano 2GB does not)",
        "use a meter outside the board (docs/measuring.md)",
    )
    unreadable = MeterAvailability(
        False,
        "the INA3221's files cannot be read",
        "run the suite as root, or let its user read them",
        forbidden=True,
    )

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__(root)
        self._samples_before: dict[Path, str] = {}

    def availability(self) -> MeterAvailability:
        """Whether a rail can be read; some releases allow only root."""
        if not any(self.find()) and _chips(self._root):
            return MeterAvailability(
                False,
                f"the INA3221 {', '.join(chip.parent.parent.name for chip in _chips(self._root))}"
                " has no labels, so what its rails feed is unknown",
                "label its inputs in the device tree, or use a meter outside the board"
                " (docs/measuring.md)",
            )
        return super().availability()

    def open(self, process: MeteredProcess) -> None:
        """Find the rails, and set the chips' averaging where the kernel allows it."""
        super().open(process)
        for chip in _chips(self._root):
            before = read_text(chip / "samples")
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
            if (value := read_text(chip / name)) is not None
        }

    def find(self) -> Iterator[MeterChannel]:
        """The connected rails of every monitor, under either driver.

        Of rails with one label (a carrier board with a monitor of its own) the one of the lowest
        bus and address, the module's, has the plain name; the others have their chip's after it,
        ``VDD_IN@1-0041``.
        """
        found = [
            (chip.parent.parent.name, *rail)
            for chip in _chips(self._root)
            for rail in _hwmon_rails(chip)
        ]
        found += [
            (chip.parent.name, *rail)
            for chip in _iio_chips(self._root)
            for rail in _iio_rails(chip)
        ]
        named = set()
        for device, label, power_w in found:
            if label and label != NOT_CONNECTED:
                name = label if label not in named else f"{label}@{device}"
                if name not in named:
                    named.add(name)
                    yield MeterChannel(name, "W", power_w)

    def silence(self) -> str:
        """A module's rails are always there."""
        return "no rail of the INA3221 can be read"

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
        for device in natural_order((root / HWMON).glob("*-*"))
        for chip in natural_order(device.glob("hwmon/hwmon*"))
    ]


def _iio_chips(root: Path) -> list[Path]:
    """The chips under NVIDIA's driver, by bus and address."""
    devices = natural_order((root / IIO).glob("*-*"))
    return [
        chips[0]
        for device in devices
        if (chips := [chip for name in IIO_FOLDERS for chip in natural_order(device.glob(name))])
    ]


def _set_averaging(chip: Path, period_s: float) -> bool:
    """Have the chip average over the longest time that is not above ``period_s``; False where that
    is so already, or not allowed.

    The interval is read at one sample: some kernels' ``update_interval`` is the time of an average,
    others' (6.1) that of one sample.
    """
    samples = read_integer(chip / "samples")
    if not samples:
        return False
    chosen = samples
    try:
        (chip / "samples").write_text("1\n", encoding="utf-8")
        interval_ms = read_integer(chip / "update_interval") or math.inf
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


def _hwmon_rails(chip: Path) -> Iterator[tuple[str, PowerReader]]:
    """Channels 1 to 3; the driver's further channels are shunt voltages and their sum."""

    def power_reader(number: int) -> PowerReader:
        def power_w() -> float | None:
            millivolts = read_integer(chip / f"in{number}_input")
            milliamperes = read_integer(chip / f"curr{number}_input")
            if millivolts is None or milliamperes is None:
                return None
            return millivolts * milliamperes * 1e-6

        return power_w

    for number in (1, 2, 3):
        yield read_text(chip / f"in{number}_label") or "", power_reader(number)


def _iio_rails(chip: Path) -> Iterator[tuple[str, PowerReader]]:
    for number in (0, 1, 2):
        power_w = file_reader(chip / f"in_power{number}_input", 1e-3)
        yield read_text(chip / f"rail_name_{number}") or "", power_w


METER = Ina3221Meter
