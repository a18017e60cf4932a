"""``system.json``: the machine and its software, as found before the run. Unknown fields are None,
with a note."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference_impls.contract import boot_id
from suite.machine.board_digest import BoardDigest, board_digest
from suite.machine.interfaces import describe_links
from suite.machine.power_settings import PowerSettings, read_power_settings
from suite.machine.procfs import device_tree, find_in_file, memory_bytes, read_text
from suite.machine.storage import storage_of

CORES, POWER_CHANGES = "cpu_cores", "power_changes"
REASONS = {
    "board": "neither /proc/device-tree/model nor /sys/class/dmi/id has the machine's name",
    "cpu_model": "/proc/cpuinfo has no 'model name' or 'Model' line",
    "cpu_cores": "the recorded system does not state it",
    "memory_size_bytes": "/proc/meminfo has no MemTotal",
    "cpu_governor": "the kernel offers no cpufreq governor for cpu0",
    "operating_system": "/etc/os-release is missing",
    "boot": "/proc/sys/kernel/random/boot_id is missing",
    POWER_CHANGES: "the run has not ended, or this node's settings were not read after its end",
    "framework_version": "the implementation did not log it",
}
"""Why a field is None."""


@dataclass(frozen=True)
class SystemDescription:
    """The system that ran the run. ``notes`` has, by field name, the reason why a field is None.

    ``power_mode`` is the label of ``power_settings``, which were read before the run;
    ``power_changes`` is what was set differently after it (None, with a note, until the run ends).
    A note on ``cpu_cores`` says how many cores are online, where this process may use fewer.
    """

    schema: int
    device: str  # the device profile's name
    board: str | None  # the firmware's or device tree's name for the machine
    # entries of the device tree's root, the board's own first; empty without a device tree
    compatible: tuple[str, ...]
    board_digest: str | None  # tells boards of one kind apart: suite.machine.board_digest
    architecture: str
    cpu_model: str | None
    cpu_cores: int | None  # usable by this process
    memory_size_bytes: int | None
    power_mode: str | None
    power_settings: PowerSettings
    power_changes: tuple[str, ...] | None
    cpu_governor: str | None
    storage_medium: str | None
    kernel: str
    operating_system: str | None
    boot: str | None
    python: str
    framework: str
    framework_version: str | None
    libraries: Mapping[str, str]
    # names of the GPUs that NVIDIA's driver lists; a Jetson's own is not among them
    gpus: tuple[str, ...]
    # network interfaces that are up: interface, kind, speed_mbit_s, reason
    links: tuple[Mapping[str, Any], ...]
    notes: Mapping[str, str]


def board_name(root: Path = Path("/")) -> str | None:
    """The machine's name: the device tree's model on ARM boards, else DMI's vendor and product,
    else None."""
    model = device_tree(root, "model")
    if model:
        return model
    dmi = [read_text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    return " ".join(part for part in dmi if part) or None


@dataclass(frozen=True)
class Software:
    """The framework of a run, with libraries and Python of its environment; all empty for a node
    that only runs ranks, where Python is that of its recorder."""

    framework: str = ""
    framework_version: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None


def describe_system(
    device: str,
    software: Software,
    data: Path,
    root: Path = Path("/"),
    *,
    with_identity: bool = True,
) -> SystemDescription:
    """The description of the machine below ``root`` and of the storage of the folder ``data``;
    never raises for a missing file.

    ``with_identity`` False leaves the board's digest out.
    """
    storage, settings = storage_of(data, root), read_power_settings(root)
    identity = (
        board_digest(root)
        if with_identity
        else BoardDigest(None, None, "left out by --no-identity")
    )
    values = {
        "board": board_name(root),
        "board_digest": identity.digest,
        "cpu_model": cpu_model(root),
        "cpu_cores": len(os.sched_getaffinity(0)) if root == Path("/") else None,
        "memory_size_bytes": memory_bytes(root, "MemTotal"),
        "cpu_governor": read_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        or None,
        "operating_system": find_in_file(root / "etc/os-release", r'^PRETTY_NAME="?([^"\n]+)"?'),
        "boot": boot_id(str(root)),
        "power_mode": settings.label,
        POWER_CHANGES: None,
        "storage_medium": None if storage.medium is None else storage.medium.value,
        "framework_version": software.framework_version,
    }
    reasons = {
        **REASONS,
        "board_digest": identity.reason,
        "power_mode": settings.notes.get("mode"),
        "storage_medium": storage.evidence,
    }
    return SystemDescription(
        schema=1,
        device=device,
        compatible=device_tree_compatible(root),
        power_settings=settings,
        architecture=platform.machine(),
        kernel=platform.release(),
        python=software.python or platform.python_version(),
        framework=software.framework,
        libraries=dict(software.libraries),
        gpus=nvidia_gpus(root),
        links=describe_links(root),
        notes={
            **{name: reasons[name] or "unknown" for name, value in values.items() if value is None},
            **_cores_note(values["cpu_cores"]),
        },
        **values,  # type: ignore[arg-type]
    )


def device_tree_compatible(root: Path) -> tuple[str, ...]:
    """The ``compatible`` entries of the device tree's root, the most specific first; empty without
    a device tree."""
    return tuple(entry for entry in (device_tree(root, "compatible") or "").split("\0") if entry)


def nvidia_gpus(root: Path) -> tuple[str, ...]:
    """The names of the GPUs that NVIDIA's driver lists, in the order of their addresses on the bus;
    empty without it."""
    folders = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    return tuple(
        name for path in folders if (name := find_in_file(path, r"^Model:\s*(.+)$")) is not None
    )


def _cores_note(usable: object) -> dict[str, str]:
    """The note on cores that this process may not use; empty if there are none."""
    online = os.cpu_count()
    return (
        {CORES: f"usable by this process; {online} are online"}
        if isinstance(usable, int) and online is not None and online > usable
        else {}
    )


def cpu_model(root: Path = Path("/")) -> str | None:
    """The kernel's name of the processor."""
    return find_in_file(root / "proc/cpuinfo", r"^(?:model name|Model)\s*:\s*(.+)$")
