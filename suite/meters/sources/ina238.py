"""INA238 and its kin: power monitors of one channel, such as at the input of NVIDIA's Jetson AGX
Thor."""

from collections.abc import Iterator

from suite.machine.procfs import device_tree, natural_order, read_text
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability, Moments

HWMON = "sys/class/hwmon"
CHIP = "ina238"
KIN = ("ina219", "ina220", "ina226", "ina230", "ina231", "ina237", CHIP, "ina260")
THOR = "nvidia,tegra264"
INPUT_RAIL = "VIN"  # as tegrastats of JetPack 7 names it; the driver has no label


class Ina238Meter(ChannelMeter):
    """Channel ``VIN`` (W), the input of an AGX Thor; on any other board a channel per chip,
    ``<chip>.<n>``, which no total names: nobody knows what an INA219 on a Raspberry Pi measures.

    Sources: Linux hwmon/ina238 (power in microwatts); jetson_stats 7.2, which takes Thor's INA238
    for its input rail.
    """

    name = "ina238"
    period_s = 0.2
    moments = Moments.RANDOM
    description = (
        "power from single-channel monitors (INA219 to INA260), such as the one at the input of a"
        " Jetson AGX Thor"
    )
    absent = MeterAvailability(
        False,
        "there is no INA219, INA226, INA238 or INA260 (a Jetson AGX Thor has one at its input)",
        "on other Jetson boards, the meter `ina3221` is read instead",
    )
    unreadable = MeterAvailability(
        False,
        "the INA238's power cannot be read",
        "run the suite as root, or let its user read /sys/class/hwmon",
        forbidden=True,
    )

    def find(self) -> Iterator[MeterChannel]:
        """The chips' own products of voltage and current."""
        chips = [
            (folder, chip)
            for folder in natural_order((self._root / HWMON).glob("hwmon*"))
            if (chip := read_text(folder / "name")) in KIN
        ]
        is_input = [chip for _, chip in chips] == [CHIP] and THOR in (
            device_tree(self._root, "compatible") or ""
        )
        for number, (folder, chip) in enumerate(chips):
            name = INPUT_RAIL if is_input else f"{chip}.{number}"
            yield MeterChannel(name, "W", file_reader(folder / "power1_input", 1e-6))

    def silence(self) -> str:
        """A board's input is always there."""
        return "no INA238 can be read"


METER = Ina238Meter
