"""Which device profile this machine is, and by what evidence."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.devices import GENERIC, Device, load_device, load_devices
from suite.errors import SuiteError
from suite.machine.system import board_name

AUTO = "auto"


@dataclass(frozen=True)
class Identification:
    """Which profile a machine is, and by what."""

    device: Device
    evidence: str


def identify(system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile of the machine below ``system_root``: the device tree decides, and without one it is generic."""
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
    """The profile asked for; a machine that is another device is refused, while ``generic`` suits every machine.

    Raises SuiteError saying what was found and what to type.
    """
    found = identify(system_root, root)
    if name in (AUTO, found.device.name):
        return found
    wanted = load_device(name, root)
    if wanted.name == GENERIC:
        return Identification(wanted, f"asked for; {found.evidence}")
    raise SuiteError(
        f"This machine is not the device {name!r} ({wanted.title}): found {found.device.name!r} ({found.evidence}). "
        f"Type `--device {found.device.name}` or `--device auto`."
    )


def _compatible(system_root: Path) -> tuple[str, ...]:
    try:
        raw = (system_root / "proc/device-tree/compatible").read_bytes()
    except OSError:
        return ()
    return tuple(part for part in raw.decode("ascii", errors="replace").split("\0") if part)
