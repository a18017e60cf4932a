"""Faults that the rules of suite.compliance.rules.power_mode find, by check."""

from suite.compliance.rules.power_mode import GIB
from tests.faults.edits.fault import Fault, both, recomputed, sealed
from tests.faults.edits.log_edits import set_device
from tests.faults.edits.power_mode_edits import (
    claim_jetson,
    claim_variant,
    lower_limits_in_mid_run,
    without_mode_on_second_node,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-mode-known": (
        *(
            fault
            for mode in (None, "", 7)
            for fault in both(f"an Orin in the mode {mode!r}", claim_jetson("orin", mode))
        ),
        *both(
            "a custom mode without its clocks",
            claim_jetson("orin", "custom mode 9", mode=None, is_custom=True, clocks=[]),
        ),
        *both("the settings of another mode", claim_jetson("orin", "MAXN", mode="MODE_15W")),
        sealed("an Orin Nano without any power settings", set_device("orin-nano")),
        recomputed(
            "a mode that the second node does not state",
            without_mode_on_second_node(claim_jetson("orin", "MAXN")),
            ranks=2,
        ),
    ),
    "power-mode-steady": (
        recomputed("another mode from the second epoch on", lower_limits_in_mid_run),
        recomputed(
            "another governor after the run",
            claim_variant(
                "raspberry-pi-4", power_changes=["policy0 governor: ondemand, then powersave"]
            ),
        ),
    ),
    "machine-variant": (
        recomputed("six cores of a Raspberry Pi 4", claim_variant("raspberry-pi-4", cpu_cores=6)),
        recomputed(
            "three GiB of a Raspberry Pi 4",
            claim_variant("raspberry-pi-4", memory_size_bytes=3 * GIB),
        ),
    ),
    "power-mode-listed": (
        recomputed("a mode that the profile lacks", claim_jetson("orin", "GPU_FREQ_100")),
        recomputed(
            "a mode with other clocks",
            claim_jetson(
                "orin", "MAXN", is_custom=True, differences=["GPU MAX_FREQ is 6 instead of 9"]
            ),
        ),
    ),
    "machine-virtual": (
        recomputed(
            "a virtual disk in a Raspberry Pi 4",
            claim_variant("raspberry-pi-4", storage_medium="virtual disk"),
        ),
    ),
}
