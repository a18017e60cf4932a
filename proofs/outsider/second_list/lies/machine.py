"""Lies about the system and the device."""

from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "system and device"


@lie(SUBJECT, EDITED, "a cheap machine looks fast", NOTHING)
def a_cheaper_processor(copy: ForgedCopy) -> None:
    """The server's processor is called a small Celeron."""
    copy.system["cpu_model"] = "Intel(R) Celeron(R) N5105 @ 2.00GHz"


@lie(SUBJECT, EDITED, "a board of ARM looks fast", "the instruction set")
def an_arm_processor(copy: ForgedCopy) -> None:
    """The processor is called a Cortex-A76, the rest is left."""
    copy.system["cpu_model"] = "Cortex-A76"


@lie(
    SUBJECT,
    FABRICATED,
    "a Raspberry Pi 5 that is as fast as a server",
    "cores and memory in the readings; x86-64 packages",
)
def a_raspberry_pi(copy: ForgedCopy) -> None:
    """Device, board, processor, instruction set, memory and kernel of a Raspberry Pi 5, in request,
    log, system and command."""
    copy.request["platform"] = "raspberry-pi-5"
    copy.set_logged("submission_platform", "raspberry-pi-5")
    copy.option("--device", "raspberry-pi-5")
    copy.run["device_evidence"] = "device tree: Raspberry Pi 5 Model B Rev 1.0"
    copy.system.update(
        device="raspberry-pi-5",
        board="Raspberry Pi 5 Model B Rev 1.0",
        architecture="aarch64",
        cpu_model="Cortex-A76",
        cpu_cores=4,
        memory_size_bytes=8452636672,
        kernel="6.6.31+rpt-rpi-2712",
        cpu_governor="ondemand",
        storage_medium="SD card",
    )
    copy.system["notes"] = {"power_mode": copy.system["notes"]["power_mode"]}


@lie(SUBJECT, EDITED, "less memory, a cheaper machine", "used and available memory")
def less_memory(copy: ForgedCopy) -> None:
    """2 GB of memory."""
    copy.system["memory_size_bytes"] = 2 * 2**30


@lie(SUBJECT, EDITED, "half of the cores", "the readings have two")
def a_core_less(copy: ForgedCopy) -> None:
    """One core."""
    copy.system["cpu_cores"] = 1


@lie(SUBJECT, ERROR, "nothing; a slip", "kibibytes for bytes: less than the implementation uses")
def memory_in_kibibytes(copy: ForgedCopy) -> None:
    """The memory is in KiB."""
    copy.system["memory_size_bytes"] //= 1024


@lie(
    SUBJECT,
    EDITED,
    "an older, slower framework looks fast",
    "a build that nobody can install; " + NOTHING,
)
def an_older_framework(copy: ForgedCopy) -> None:
    """PyTorch 1.0.0, in log, system and packages."""
    copy.system["framework_version"] = copy.system["libraries"]["torch"] = "1.0.0"
    copy.set_logged("framework_version", "1.0.0")


@lie(SUBJECT, ERROR, "nothing", "the log's version")
def framework_of_another_environment(copy: ForgedCopy) -> None:
    """system.json has another version than the log."""
    copy.system["framework_version"] = copy.system["libraries"]["torch"] = "2.12.0+cpu"


@lie(SUBJECT, ERROR, "nothing", "torch is not among the packages")
def packages_of_another_environment(copy: ForgedCopy) -> None:
    """The packages are those of the harness."""
    copy.system["libraries"] = {"numpy": "2.4.6", "pyarrow": "25.0.0", "typer": "0.16.0"}


@lie(SUBJECT, EDITED, "a power mode of 10 W", "a profile without power modes")
def a_power_mode(copy: ForgedCopy) -> None:
    """Power mode 10W, the note deleted."""
    copy.system["power_mode"] = "10W"
    copy.system["notes"].pop("power_mode")


@lie(SUBJECT, EDITED, "a slow card looks fast", NOTHING)
def an_sd_card(copy: ForgedCopy) -> None:
    """The storage medium is an SD card."""
    copy.system["storage_medium"] = "SD card"
    copy.system["notes"].pop("storage_medium", None)


@lie(SUBJECT, ERROR, "nothing", "the kernel is a Linux")
def another_operating_system(copy: ForgedCopy) -> None:
    """Windows."""
    copy.system["operating_system"] = "Windows 11 Pro"


@lie(SUBJECT, ERROR, "nothing", "the log's boot")
def another_boot(copy: ForgedCopy) -> None:
    """system.json is of another boot."""
    copy.system["boot"] = "99999999-2222-4333-8444-555555555555"


@lie(SUBJECT, EDITED, "a Jetson without its fan", "an x86-64 processor on that board")
def a_jetson_board(copy: ForgedCopy) -> None:
    """The board is a Jetson AGX Orin; the device stays generic."""
    copy.system["board"] = "NVIDIA Jetson AGX Orin Developer Kit"
    copy.system["notes"].pop("board")


@lie(SUBJECT, ERROR, "nothing; a slip", "the board is not named, and the evidence names one")
def evidence_of_another_board(copy: ForgedCopy) -> None:
    """The device was found by the device tree of a Raspberry Pi 4."""
    copy.run["device_evidence"] = "device tree: Raspberry Pi 4 Model B Rev 1.4"


@lie(
    SUBJECT,
    EDITED,
    "a governor that the board is not sold with does not show",
    "no clock is read, and the governor needs one; " + NOTHING,
)
def a_governor(copy: ForgedCopy) -> None:
    """The governor is ondemand, the note deleted."""
    copy.system["cpu_governor"] = "ondemand"
    copy.system["notes"].pop("cpu_governor")


@lie(SUBJECT, EDITED, "a new kernel", "a kernel that is newer than the run; " + NOTHING)
def a_kernel_of_the_future(copy: ForgedCopy) -> None:
    """Linux 9.1."""
    copy.system["kernel"] = "9.1.0-edge"


@lie(
    SUBJECT,
    EDITED,
    "results of a fast link look like those of a slow one",
    NOTHING + " with one rank",
)
def a_slow_link(copy: ForgedCopy) -> None:
    """The link states 10 Mbit/s."""
    for link in copy.system["links"]:
        link["speed_mbit_s"] = 10
        link["reason"] = None
