"""``system.json``: the machine and its software, as found before the run. Unknown fields are None, with a note."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import boot_id
from suite.machine.interfaces import describe_links
from suite.machine.storage import storage_of

CORES = "cpu_cores"


@dataclass(frozen=True)
class SystemDescription:
    """The system that ran the run. ``notes`` has, by field name, the reason why a field is None.

    A note on ``cpu_cores`` says how many cores are online, where this process may use fewer.
    """

    schema: int
    device: str  # the device profile's name
    board: str | None  # the firmware's or device tree's name for the machine
    architecture: str
    cpu_model: str | None
    cpu_cores: int | None  # usable by this process
    memory_size_bytes: int | None
    power_mode: str | None
    cpu_governor: str | None
    storage_medium: str | None
    kernel: str
    operating_system: str | None
    boot: str | None
    python: str
    framework: str
    framework_version: str | None
    libraries: Mapping[str, str]
    links: tuple[Mapping[str, Any], ...]  # network interfaces that are up: interface, kind, speed_mbit_s, reason
    notes: Mapping[str, str]


def board_name(root: Path = Path("/")) -> str | None:
    """The machine's name: the device tree's model on ARM boards, else DMI's vendor and product, else None."""
    model = _text(root / "proc/device-tree/model")
    if model:
        return model
    dmi = [_text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    return " ".join(part for part in dmi if part) or None


def describe(
    device: str, framework: str, framework_version: str | None, libraries: Mapping[str, str], data: Path, root: Path = Path("/")
) -> SystemDescription:
    """The description of the machine below ``root`` and of the storage of the folder ``data``; never raises for a missing file."""
    storage = storage_of(data, root)
    found = {
        "board": board_name(root),
        "cpu_model": cpu_model(root),
        "cpu_cores": len(os.sched_getaffinity(0)) if root == Path("/") else None,
        "memory_size_bytes": _memory_size_bytes(root),
        "cpu_governor": _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "operating_system": _operating_system(root),
        "boot": boot_id(str(root)),
    }
    reasons = {
        "board": "neither /proc/device-tree/model nor /sys/class/dmi/id has the machine's name",
        "cpu_model": "/proc/cpuinfo has no 'model name' or 'Model' line",
        "cpu_cores": "not read from a recorded tree",
        "memory_size_bytes": "/proc/meminfo has no MemTotal",
        "cpu_governor": "the kernel offers no cpufreq governor for cpu0",
        "operating_system": "/etc/os-release is missing",
        "boot": "/proc/sys/kernel/random/boot_id is missing",
        "power_mode": "this device profile has no power modes that can be read",
        "storage_medium": storage.evidence,
        "framework_version": "the implementation did not log it",
    }
    values = {
        **found,
        "power_mode": None,
        "storage_medium": None if storage.medium is None else storage.medium.value,
        "framework_version": framework_version,
    }
    return SystemDescription(
        schema=1,
        device=device,
        architecture=platform.machine(),
        kernel=platform.release(),
        python=platform.python_version(),
        framework=framework,
        libraries=dict(libraries),
        links=describe_links(root),
        notes={**{name: reasons[name] for name, value in values.items() if value is None}, **_cores_note(found["cpu_cores"])},
        **values,  # type: ignore[arg-type]
    )


def _cores_note(usable: object) -> dict[str, str]:
    """The note on cores that this process may not use; empty if there are none."""
    online = os.cpu_count()
    return {CORES: f"usable by this process; {online} are online"} if isinstance(usable, int) and online is not None and online > usable else {}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ") or None
    except OSError:
        return None


def _field(path: Path, pattern: str) -> str | None:
    match = re.search(pattern, _text(path) or "", re.MULTILINE)
    return match.group(1).strip() if match else None


def cpu_model(root: Path = Path("/")) -> str | None:
    """The kernel's name of the processor."""
    return _field(root / "proc/cpuinfo", r"^(?:model name|Model)\s*:\s*(.+)$")


def _memory_size_bytes(root: Path) -> int | None:
    kilobytes = _field(root / "proc/meminfo", r"^MemTotal:\s*(\d+) kB")
    return int(kilobytes) * 1024 if kilobytes else None


def _operating_system(root: Path) -> str | None:
    return _field(root / "etc/os-release", r'^PRETTY_NAME="?([^"\n]+)"?')
