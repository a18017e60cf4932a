"""Finds the device profile of this machine, with the evidence."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.devices import GENERIC, Device, load_device, load_devices
from suite.errors import SuiteError
from suite.machine.system import board_name

AUTO = "auto"


@dataclass(frozen=True)
class Identification:
    """A machine's device profile, and the evidence for it."""

    device: Device
    evidence: str


def identify(system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile of the machine below ``system_root``, by its device tree; the generic profile when it has none or none matches."""
    entries = _compatible(system_root)
    for device in load_devices(root):
        for part in device.identity.compatible:
            for entry in entries:
                if part in entry:
                    return Identification(device, f"/proc/device-tree/compatible holds {entry!r}")
    board = board_name(system_root) or "an unnamed board"
    reason = "no profile matches its device tree" if entries else "it has no device tree"
    return Identification(load_device(GENERIC, root), f"{board}: {reason}")


def resolve_device(name: str, system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile ``name``; "auto" is the machine's, and "generic" fits every machine.

    Raises SuiteError when the machine is another device, with the device found and the option to use.
    """
    found = identify(system_root, root)
    if name in (AUTO, found.device.name):
        return found
    wanted = load_device(name, root)
    if wanted.name == GENERIC:
        return Identification(wanted, f"asked for; {found.evidence}")
    raise SuiteError(
        f"This machine is not the device {name!r} ({wanted.title}): found {found.device.name!r} ({found.evidence}). "
        f"Use `--device {found.device.name}` or `--device auto`."
    )


def _compatible(system_root: Path) -> tuple[str, ...]:
    try:
        raw = (system_root / "proc/device-tree/compatible").read_bytes()
    except OSError:
        return ()
    return tuple(part for part in raw.decode("ascii", errors="replace").split("\0") if part)
