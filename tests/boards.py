"""Recorded machines of the device profiles as trees below a root of their own: no /proc or /sys of
this machine is read."""

from pathlib import Path

from suite.catalog.devices import Device, RecordedMachine
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters

SERIAL_NUMBER = "4207120008815"
"""A made-up serial number: it must never appear in what the suite writes."""
CPUS = "sys/devices/system/cpu"


def plant(root: Path, recorded: RecordedMachine, serial_number: str = SERIAL_NUMBER) -> Path:
    """Write the recorded machine below ``root``, with this serial number; returns ``root``."""
    for folder in ("proc/device-tree", "sys/class/dmi/id", "etc"):
        (root / folder).mkdir(parents=True)
    if recorded.compatible:
        (root / "proc/device-tree/compatible").write_bytes(
            b"".join(entry.encode() + b"\0" for entry in recorded.compatible)
        )
        (root / "proc/device-tree/serial-number").write_text(serial_number + "\0")
    else:
        (root / "sys/class/dmi/id/board_serial").write_text(serial_number + "\n")
    _write(root / "sys/class/dmi/id", recorded.dmi)
    if recorded.cpu_model is not None:
        (root / "proc/cpuinfo").write_text(f"processor\t: 0\nmodel name\t: {recorded.cpu_model}\n")
    for part in recorded.tree:
        _write(root / part.folder, part.files)
    _link_policies(root)
    return root


def planted(root: Path, device: Device, serial_number: str = SERIAL_NUMBER) -> Path:
    """The tree of the profile's recorded."""
    assert device.recorded is not None, f"rules/devices/{device.name}.toml has no [recorded]"
    return plant(root, device.recorded, serial_number)


def readings_of(root: Path) -> list[tuple[int, str, str, float, str]]:
    """One reading of every meter that finds its files in the tree: time, source, channel, value,
    unit."""
    rows = []
    for meter in open_meters(root):
        if (
            meter.name in ("counters", "jtop", "nvml", "tegrastats", "rpi5-pmic")
            or not meter.availability().available
        ):
            continue  # these read the kernel, a library or a program, not files
        meter.open(MeteredProcess(1, root))
        rows += [
            (reading.t_ns, reading.source, reading.channel, reading.value, reading.unit)
            for reading in meter.read()
        ]
        meter.close()
    return rows


def _write(folder: Path, files: tuple[str, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for entry in files:
        name, _, content = entry.partition(": ")
        if content.startswith("-> "):
            (folder / name).symlink_to(content.removeprefix("-> "))
        else:
            (folder / name).write_text(content if content.endswith("\n") else content + "\n")


def _link_policies(root: Path) -> None:
    """What the kernel makes of every policy and every core: cpu<n>/cpufreq, a link, and
    cpu<n>/online."""
    for policy in (root / CPUS / "cpufreq").glob("policy*"):
        for core in (policy / "affected_cpus").read_text().split():
            (root / CPUS / f"cpu{core}").mkdir()
            (root / CPUS / f"cpu{core}/cpufreq").symlink_to(f"../cpufreq/{policy.name}")
            (root / CPUS / f"cpu{core}/online").write_text("1\n")
