"""Faults that the rules of suite.compliance.rules.plausibility find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed, sealed
from tests.faults.edits.file_edits import set_system
from tests.faults.edits.log_edits import set_device
from tests.faults.edits.power_mode_edits import claim_orin_on_raspberry_pi
from tests.faults.edits.reading_edits import add_idle_utilisation
from tests.faults.edits.table_edits import (
    change_second_node,
    overload,
    scale_column,
    scale_power,
    scale_unit,
    set_cell,
    speed_up,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-possible": (
        *both("hardly any power", scale_power(0.001)),
        *both("power with the wrong sign", scale_power(-1)),
        *both("90 W through a Jetson Nano", overload("nano", 15.0)),
        recomputed(
            "the second node's power with the wrong sign",
            change_second_node(scale_unit("W", -1)),
            ranks=2,
        ),
    ),
    "power-above-idle": (
        *both("a third of the power", scale_power(0.33)),
        *both(
            "a busy machine before the run, a tenth of the power",
            lambda bundle: [add_idle_utilisation(90.0)(bundle), scale_power(0.1)(bundle)],
        ),
        *both("a tenth of the power", scale_power(0.1)),
        recomputed(
            "a tenth of the second node's power",
            change_second_node(scale_unit("W", 0.1)),
            ranks=2,
        ),
        recomputed(
            "the second node draws less than it did idle",
            change_second_node(scale_unit("W", 0.4)),
            ranks=2,
        ),
    ),
    "flop-rate": both("a hundred times a Raspberry Pi 4", speed_up("raspberry-pi-4", 100)),
    "losses-possible": (
        *(
            fault
            for value in (float("nan"), float("inf"), -1.0)
            for fault in both(f"a loss of {value}", set_cell("loss", 20, value))
        ),
        *both("one loss for all steps", scale_column("loss", 0, 2.3)),
        *both("losses of a trained model", scale_column("loss", 0.1)),
        *both("losses ten times as large", scale_column("loss", 10)),
    ),
    "machine-fits-profile": (
        sealed("a Raspberry Pi's device tree as an Orin", claim_orin_on_raspberry_pi),
        *(
            sealed(f"{name} = {value!r} in system.json", set_system(name, value))
            for name, value in (("cpu_cores", 0), ("memory_size_bytes", "much"))
        ),
        *(
            sealed(f"as the device {device}", set_device(device))
            for device in ("orin", "raspberry-pi-5", "nano", "no-such-device")
        ),
    ),
}
