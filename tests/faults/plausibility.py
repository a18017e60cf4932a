"""Faults that the rules of suite.compliance.rules.plausibility find, by check."""

from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import set_device
from tests.faults.edits.reading_edits import (
    add_constant_channel,
    add_idle_utilisation,
    scale_cpu_time,
    set_around_run,
    set_values,
)
from tests.faults.edits.table_edits import (
    change_second_node,
    scale_column,
    scale_power,
    scale_unit,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-possible": (
        *both("hardly any power", scale_power(0.001)),
        *both("power with the wrong sign", scale_power(-1)),
        *both("90 W through a Jetson Nano", in_turn(set_device("nano"), scale_power(15.0))),
        recomputed(
            "the second node's power with the wrong sign",
            change_second_node(scale_unit("W", -1)),
            ranks=2,
        ),
    ),
    "power-plausible": (
        *both(
            "every ninth reading negative",
            set_values("um25c", "power", 9, lambda value: -value),
        ),
        *both(
            "every ninth reading a thousandfold",
            set_values("um25c", "power", 9, lambda value: 1000 * value),
        ),
    ),
    "whole-above-part": both(
        "a GPU of 40 W on a board of 6 W", add_constant_channel("nvml", "gpu0.power", "W", 40.0)
    ),
    "power-above-idle": (
        *both("a third of the power", scale_power(0.33)),
        *both(
            "a busy machine before the run, a tenth of the power",
            in_turn(add_idle_utilisation(90.0), scale_power(0.1)),
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
    "power-around-run": both(
        "half a watt before and after the run", set_around_run("um25c", "power", 0.5)
    ),
    "flop-cycles": both(
        "a Raspberry Pi 4 that used a fiftieth of the CPU time",
        in_turn(set_device("raspberry-pi-4"), scale_cpu_time(0.02)),
    ),
    "flop-rate": both(
        "a hundred times a Raspberry Pi 4",
        in_turn(set_device("raspberry-pi-4"), scale_column("compute_s", 0.01)),
    ),
}
