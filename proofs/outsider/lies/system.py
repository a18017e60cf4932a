"""Lies about the machine and what ran on it."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    add_channel,
    as_cores,
    as_machine,
    ask,
    change_values,
    log_value,
    other_meter,
    rebuild,
    register,
    scale_power,
    state,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


@edited(
    "A server's run was submitted under the name of a small board, in request and log only",
    "the fastest small board",
    "device in request and log against system.json",
)
def _(b):
    state(b, "platform", "submission_platform", "nano")


@edited(
    "A server's run was submitted under the name of a small board, in system.json too",
    "the fastest small board",
    "architecture, memory and cores against the device's profile",
)
def _(b):
    state(b, "platform", "submission_platform", "raspberry-pi-4")
    b.system["device"] = "raspberry-pi-4"


@edited(
    "A server's run was given the whole description of a small board",
    "the fastest small board",
    "cores in the readings against system.json",
)
def _(b):
    as_machine(b, "raspberry-pi-4")
    as_cores(b, 2)


@edited(
    "A server's run was given the whole description of a small board, its readings too",
    "the fastest small board",
    NOTHING + "; what this board reaches in other people's runs",
)
def _(b):
    as_machine(b, "raspberry-pi-4")
    rebuild(b, noise=0.03, parts=(0.002, 0.001, 0.016, 0.0, 0.001))
    scale_power(b, lambda w: w * 0.9, idle=True)


@edited(
    "A faster board's run is called the slower board's of the same family",
    "the fastest board of its kind",
    NOTHING + "; the arithmetic per second against the device's peak, if the run is fast enough",
)
def _(b):
    as_machine(b, "nano")
    rebuild(b, noise=0.03, parts=(0.0003, 0.0002, 0.004, 0.0, 0.0002), eval_s=0.03)


@error(
    "The run was moved from one board's profile to another, only the device's name in system.json"
    " stayed",
    "device in system.json against request and log",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    b.system["device"] = "raspberry-pi-4"


@edited(
    "Eight cores were called two, and the readings of the six others taken out",
    "twice the speed per core",
    "counters' cycles and processor time against two cores",
)
def _(b):
    change_values(b, "counters", "cycles", lambda v: v * 8)
    change_values(b, "counters", "instructions", lambda v: v * 8)


@edited(
    "One core is described, and two are read",
    "twice the speed per core",
    "cpu_cores against the cores in the readings",
)
def _(b):
    b.system["cpu_cores"] = 1


@edited(
    "A board of eight gigabytes is described with four",
    "a cheaper board",
    "memory_size_bytes against memory in use and available",
    needs="real",
)
def _(b):
    b.system["memory_size_bytes"] = 2_000_000_000


@error(
    "A power mode is named that this machine does not have",
    "power mode against the device's profile",
)
def _(b):
    b.system["power_mode"] = "15W"


@edited(
    "The lowest power mode is stated for a run in the highest",
    "a fast entry among the frugal ones",
    "power mode against the power that was read",
)
def _(b):
    as_machine(b, "nano")
    b.system["power_mode"] = "5W"
    scale_power(b, lambda w: w * 2.2, idle=True)


@edited(
    "The governor is said to save power while the clock stays at its highest",
    "an untuned machine",
    "governor against frequency readings",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    b.system["cpu_governor"] = "powersave"
    add_channel(b, "cpu", "frequency.core0", "Hz", lambda s: 2.4e9)


@edited(
    "An overclocked board is shown as the one that is sold",
    "a faster board",
    "frequency readings against the board's highest clock",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    add_channel(b, "cpu", "frequency.core0", "Hz", lambda s: 3.1e9)


@error(
    "The kernel is one of another architecture", "kernel against architecture and operating system"
)
def _(b):
    b.system["kernel"] = "4.9.337-tegra"


@error("The kernel was left out", "system.json without kernel and without a note")
def _(b):
    b.system["kernel"] = None


@error("system.json is of an earlier boot", "boot in system.json against the log")
def _(b):
    b.system["boot"] = "22222222-2222-4222-8222-222222222222"


@error(
    "system.json is of another machine's run",
    "boot, framework version and cores against log and readings",
)
def _(b):
    b.system.update(
        boot="33333333-3333-4333-8333-333333333333", framework_version="2.0", cpu_cores=16
    )


@edited(
    "The framework's version was raised in system.json",
    "an entry for a version that was not used",
    "framework_version in system.json against the log",
)
def _(b):
    b.system["framework_version"] = "2.0"


@edited(
    "The framework's version was raised in log and system.json, not among the libraries",
    "an entry for a version that was not used",
    "framework_version against the libraries in system.json",
    needs="real",
)
def _(b):
    b.system["framework_version"] = "2.20.0"
    log_value(b, "framework_version", "2.20.0")


@error(
    "Another framework is named in system.json", "framework in system.json against request and log"
)
def _(b):
    b.system["framework"] = "tensorflow"


@edited(
    "A framework was renamed everywhere, its libraries are still those of the other",
    "an entry for another framework",
    "libraries in system.json against the framework",
    needs="real",
)
def _(b):
    state(b, "framework", "framework", "tensorflow")
    b.system["framework"] = "tensorflow"
    b.run["run_id"] = b.run["run_id"].replace("pytorch", "tensorflow")


@edited(
    "An ARM architecture with a processor of AMD",
    "a server among the boards",
    "architecture against cpu_model",
)
def _(b):
    b.system["architecture"] = "aarch64"


@edited(
    "The board is named and the note still says that nothing names it",
    "a name for an unnamed machine",
    "board against its own note in system.json and device_evidence in run.json",
)
def _(b):
    b.system["board"] = "Raspberry Pi 5 Model B Rev 1.0"


@edited(
    "Storage is called an SD card, and it was a disk in memory",
    "no stalls from a slow card",
    "storage medium against bytes and times of the disk",
)
def _(b):
    b.system["storage_medium"] = "SD card"
    rebuild(b, parts=(0.00001, 0.001, 0.016, 0.0, 0.001))


@error(
    "The module with 64 gigabytes is described under the profile of 32",
    "memory_size_bytes against the device's profile",
)
def _(b):
    as_machine(b, "orin")
    b.system["memory_size_bytes"] = 65_863_159_808


@edited(
    "A module of twelve cores is described with its cores switched off, and uses them",
    "a frugal mode",
    "cores in the readings against system.json",
)
def _(b):
    as_machine(b, "orin")
    as_cores(b, 12)


@edited("A wireless link is called wired", "an entry in another group")
def _(b):
    b.system["links"][0].update(interface="wlan0", kind="wired", speed_mbit_s=1000, reason=None)


@edited(
    "Evidence for the device is that of another board",
    "the fastest small board",
    "device_evidence in run.json against system.json",
)
def _(b):
    as_machine(b, "raspberry-pi-4")
    b.run["device_evidence"] = "/proc/device-tree/model says NVIDIA Jetson AGX Orin Developer Kit"


@error(
    "A workload was run that this device is not asked to run",
    "workload against the rulebook's list for the device",
)
def _(b):
    as_machine(b, "nano")
    state(b, "workload", "submission_benchmark", "vgg11")


@edited(
    "A rail of another family of boards is read on this one",
    "less energy",
    "rails of the readings against the device",
)
def _(b):
    as_machine(b, "nano")
    other_meter(b, "ina3221", {"VDD_IN": 0.6})


@fabricated(
    "Memory is told as a round number of gigabytes, typed in by hand",
    "a machine that nobody has",
    "memory of exactly 25 gigabytes against what a kernel leaves",
)
def _(b):
    b.system["memory_size_bytes"] = 25_000_000_000


@fabricated(
    "The operating system is years older than the kernel and the framework allow",
    "a machine that nobody has",
    "operating system against kernel and Python",
    needs="real",
)
def _(b):
    b.system["operating_system"] = "Debian GNU/Linux 7 (wheezy)"
    b.system["python"] = "2.7.3"


@error("The number of cores is a text, memory is negative", "system.json against its own format")
def _(b):
    b.system["cpu_cores"] = "two"
    b.system["memory_size_bytes"] = -1


@edited(
    "A graphics card of a workstation trained, and the description names a small board",
    "the fastest small board",
    "readings of the card against the board's profile",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    ask(b, "accelerator", "cuda")
    add_channel(b, "nvml", "gpu0.power", "W", lambda s: 120 + 5 * np.sin(s))
