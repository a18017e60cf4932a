"""Faults that the rules of suite.compliance.rules.machine find, by check."""

from typing import Any

from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed
from tests.faults.edits.file_edits import set_run, set_system, update_system
from tests.faults.edits.log_edits import set_device
from tests.faults.edits.power_mode_edits import claim_orin_on_raspberry_pi
from tests.faults.edits.reading_edits import add_constant_channel, scale_readings, silence_clocks
from tests.faults.edits.table_edits import rename_source, set_frequency, set_reading


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
            in_turn(
                lambda bundle: bundle.system["notes"].pop("boot", None), set_system("boot", None)
            ),
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
    "framework-installed": (
        *both("another version installed", _as_pytorch(numpy="1.0", torch="9.9.9+cpu")),
        *both("another framework installed", _as_pytorch(numpy="1.0", tensorflow_cpu="1.0")),
        *both("no framework installed", _as_pytorch(numpy="1.0")),
        *both("no NumPy installed", lambda bundle: bundle.system["libraries"].pop("numpy")),
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
    "device-evidence": (
        *both(
            "the evidence of an Orin for a Raspberry Pi 4",
            in_turn(set_device("raspberry-pi-4"), set_run("device_evidence", "p3701")),
        ),
        *both(
            "no evidence",
            in_turn(set_device("raspberry-pi-4"), set_run("device_evidence", "")),
        ),
    ),
    "board-fits-profile": (
        *both("a power mode on a machine without any", set_system("power_mode", "15W")),
        *both(
            "a Xavier NX's rail on a Nano",
            in_turn(set_device("nano"), rename_source("um25c", "ina3221", "VDD_IN")),
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
        *both("eight times the cycles", scale_readings("counters", "cycles", 8.0)),
        *both(
            "a Raspberry Pi 5 at its highest clock with the governor powersave",
            in_turn(
                set_frequency("raspberry-pi-5", 2.4e9),
                update_system({"architecture": "aarch64", "cpu_governor": "powersave"}),
            ),
        ),
    ),
    "governor-read": both("a governor and no clock", silence_clocks("ondemand")),
    "readings-fit-machine": (
        *(
            sealed(f"{name} = {value} in system.json", set_system(name, value))
            for name, value in (("cpu_cores", 64), ("memory_size_bytes", 10**6))
        ),
        *both(
            "more memory in use than there is",
            set_reading("memory", "process_tree_rss", 4, 1e15),
        ),
    ),
    "cores-described": both("one core described, two read", set_system("cpu_cores", 1)),
    "memory-whole": both(
        "half of the described memory used or available",
        lambda bundle: [
            add_constant_channel("memory", name, "B", bundle.system["memory_size_bytes"] / 4)(
                bundle
            )
            for name in ("used", "available")
        ],
    ),
}
