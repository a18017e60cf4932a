"""The Raspberry Pi 5's power management chip: voltage and current of its rails."""

import re
from collections.abc import Mapping, Sequence

from suite.meters.background import BackgroundMeter
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments
from suite.meters.tool import find_tool, run_tool

COMMAND = "vcgencmd"
ARGUMENT = "pmic_read_adc"
# " VDD_CORE_A current(7)=1.08053000A", and from other firmware "VDD_CORE_A=1.0805A"
LINE = re.compile(
    r"^\s*(\w+)_([AV])(?:\s+(?:current|volt(?:age)?)\(\d+\))?=(-?\d+(?:\.\d+)?)[AV]\s*$",
    re.MULTILINE,
)


class Rpi5PmicMeter(BackgroundMeter):
    """Channels ``<rail>.power`` (W) for rails with voltage and current, and ``EXT5V.voltage`` (V),
    the board's input.

    The rails do not include USB devices, the fan and the chip's losses, so their sum is an estimate
    of the board's power. A firmware call takes milliseconds and is made in a background thread.
    Source: Raspberry Pi documentation, vcgencmd.
    """

    name = "rpi5-pmic"
    period_s = 1.0
    moments = Moments.RANDOM
    description = "voltage and current of the Raspberry Pi 5's regulator"

    _command: Sequence[str] = ()
    _children_s = 0.0

    def availability(self) -> MeterAvailability:
        """Whether the firmware reports rails: a Raspberry Pi 4 has the program, but not the
        sensor."""
        tool = find_tool(self._root, COMMAND)
        if tool is None:
            return MeterAvailability(
                False,
                f"there is no {COMMAND} (it belongs to Raspberry Pi OS)",
                "on a Raspberry Pi 5: sudo apt install raspi-utils",
            )
        try:
            rails = parse_pmic(run_tool([str(tool), ARGUMENT])[0])
        except OSError as error:
            return MeterAvailability(
                False,
                f"the firmware does not answer: {error}",
                "add the user to the group video; a Raspberry Pi 4 needs an external meter",
                forbidden=True,
            )
        if not rails:
            return MeterAvailability(
                False,
                "the firmware reports no rail; only the Raspberry Pi 5 has this sensor",
                "use an external meter (docs/measuring.md)",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Start the background thread."""
        self._command = [str(find_tool(self._root, COMMAND)), ARGUMENT]
        super().open(process)

    def helper_cost_s(self) -> float:
        """CPU time of the thread and of the program."""
        return super().helper_cost_s() + self._children_s

    def measure(self) -> Mapping[str, tuple[float, str]]:
        """Ask the firmware."""
        answer, cost_s = run_tool(self._command)
        self._children_s += cost_s
        rails = parse_pmic(answer)
        if not rails:
            raise ValueError(f"no rail in the firmware's answer: {answer[:100]!r}")
        return rails


def parse_pmic(text: str) -> dict[str, tuple[float, str]]:
    """Value and unit by channel, from either of the firmware's formats: power of every rail with
    voltage and current, input voltage."""
    amperes = {name: float(value) for name, kind, value in LINE.findall(text) if kind == "A"}
    volts = {name: float(value) for name, kind, value in LINE.findall(text) if kind == "V"}
    found = {
        f"{name}.power": (amperes[name] * volts[name], "W") for name in amperes if name in volts
    }
    if found and "EXT5V" in volts:
        found["EXT5V.voltage"] = (volts["EXT5V"], "V")
    return found


METER = Rpi5PmicMeter
