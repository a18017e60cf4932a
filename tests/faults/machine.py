"""Faults that the rules of suite.compliance.rules.machine find, by rule."""

from typing import Any

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.file_edits import set_run, set_system, update_system
from tests.faults.edits.log_edits import set_device
from tests.faults.edits.reading_edits import add_constant_channel, silence_clocks
from tests.faults.edits.table_edits import (
    add_channel,
    rename_source,
    scale_counter,
    set_frequency,
)


def _as_pytorch(**libraries: str) -> Any:
    return set_system("libraries", libraries)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "system-described": (
        *(
            fault
            for name, value in (
                ("kernel", None),
                ("cpu_cores", "two"),
                ("memory_size_bytes", -1),
                ("cpu_model", 7),
                ("python", " "),
                ("gpus", "one"),
                ("notes", []),
            )
            for fault in both(f"{name} = {value!r}", set_system(name, value))
        ),
        *both(
            "a field without value and note",
            lambda bundle: [
                bundle.system["notes"].pop("boot", None),
                set_system("boot", None)(bundle),
            ],
        ),
        *both("a power mode that is noted as unknown", set_system("power_mode", "MAXN")),
    ),
    "system-possible": tuple(
        fault
        for values in (
            {"architecture": "x86_64", "kernel": "4.9.337-tegra"},
            {"architecture": "aarch64", "kernel": "6.1.0-amd64"},
            {"architecture": "aarch64", "cpu_model": "AMD EPYC 7763"},
            {"architecture": "x86_64", "cpu_model": "Cortex-A76"},
            {"memory_size_bytes": 25_000_000_000},
            {"python": "2.7.3"},
            {"operating_system": "Windows 11 Pro"},
        )
        for fault in both(
            ", ".join(f"{name} {value}" for name, value in values.items()),
            update_system(values),
        )
    ),
    "framework-installed": (
        *both("another version installed", _as_pytorch(numpy="1.0", torch="9.9.9+cpu")),
        *both("another framework installed", _as_pytorch(numpy="1.0", tensorflow_cpu="1.0")),
        *both("no framework installed", _as_pytorch(numpy="1.0")),
        *both("no NumPy installed", lambda bundle: bundle.system["libraries"].pop("numpy")),
    ),
    "device-evidence": (
        *both(
            "the evidence of an Orin for a Raspberry Pi 4",
            lambda bundle: [
                set_device("raspberry-pi-4")(bundle),
                set_run("device_evidence", "p3701")(bundle),
            ],
        ),
        *both(
            "no evidence",
            lambda bundle: [
                set_device("raspberry-pi-4")(bundle),
                set_run("device_evidence", "")(bundle),
            ],
        ),
    ),
    "clocks-possible": (
        *both("a Raspberry Pi 5 at 3.1 GHz", set_frequency("raspberry-pi-5", 3.1e9)),
        recomputed(
            "a core of any machine at 9 GHz",
            add_constant_channel("cpu", "frequency.core0", "Hz", 9e9),
        ),
        recomputed(
            "a core's measured clock at 9 GHz",
            add_constant_channel("cpu-clock", "frequency.core0", "Hz", 9e9),
        ),
        *both("eight times the cycles", scale_counter("cycles", 8)),
        *both(
            "a Raspberry Pi 5 at its highest clock with the governor powersave",
            lambda bundle: [
                set_frequency("raspberry-pi-5", 2.4e9)(bundle),
                bundle.system.update(architecture="aarch64", cpu_governor="powersave"),
            ],
        ),
    ),
    "governor-read": both("a governor and no clock", silence_clocks("ondemand")),
    "links-described": tuple(
        fault
        for name in ("wlan0", "wlp2s0")
        for fault in both(
            f"{name} as a wired link",
            set_system(
                "links",
                [{"interface": name, "kind": "wired", "speed_mbit_s": 1000, "reason": None}],
            ),
        )
    ),
    "cores-described": both("one core described, two read", set_system("cpu_cores", 1)),
    "whole-above-part": both(
        "a GPU of 40 W on a board of 6 W", add_channel("nvml", "gpu0.power", "W", 40.0)
    ),
    "board-fits-profile": (
        *both("a power mode on a machine without any", set_system("power_mode", "15W")),
        *both(
            "a Xavier NX's rail on a Nano",
            lambda bundle: [
                set_device("nano")(bundle),
                rename_source("um25c", "ina3221", "VDD_IN")(bundle),
            ],
        ),
    ),
}
