"""Faults that the rules of suite.compliance.rules.sensors find, by check."""

from tests.faults.edits.fault import Fault, in_turn, recomputed
from tests.faults.edits.file_edits import set_system
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.reading_edits import leave_meter_out


def _without_temperature(kernel: str) -> Fault:
    return recomputed(
        f"a Raspberry Pi 5 without temperatures, on {kernel}",
        in_turn(
            set_everywhere("platform", "raspberry-pi-5"),
            set_system("kernel", kernel),
            leave_meter_out("temperature"),
        ),
    )


FAULTS: dict[str, tuple[Fault, ...]] = {
    "board-sensors": (_without_temperature("6.6.31+rpt-rpi-2712"),),
    "board-sensors-elsewhere": (_without_temperature("6.1.0-18-arm64"),),
}
