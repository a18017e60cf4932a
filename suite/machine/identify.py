"""Finds the device profile of this machine, with the evidence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.devices import GENERIC, Device, Identity, has_part, load_device, load_devices
from suite.errors import SuiteError
from suite.machine.procfs import text
from suite.machine.system import board_name, compatible, cpu_model

AUTO = "auto"
DMI_FILES = ("product_name", "product_version", "product_family", "board_name")


@dataclass(frozen=True)
class Identification:
    """A machine's device profile, and the evidence for it."""

    device: Device
    evidence: str


def identify(system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile of the machine below ``system_root``, by its device tree, else by DMI, else by
    its CPU model; generic if none matches."""
    devices = load_devices(root)
    entries, model = compatible(system_root), cpu_model(system_root)
    found = (
        _match(
            devices,
            lambda identity: identity.compatible,
            {entry: "/proc/device-tree/compatible" for entry in entries},
        )
        or _match(devices, lambda identity: identity.dmi, _dmi(system_root))
        or _match(
            devices,
            lambda identity: identity.cpu_model,
            {} if model is None else {model: "/proc/cpuinfo"},
        )
    )
    if found is not None:
        return found
    board = board_name(system_root) or "an unnamed board"
    sources = [
        name
        for name, value in (
            ("device tree", entries),
            ("DMI names", _dmi(system_root)),
            ("CPU model", model),
        )
        if value
    ]
    reason = (
        f"no profile matches its {' or '.join(sources)}"
        if sources
        else "it has no device tree, no DMI names and no CPU model"
    )
    return Identification(load_device(GENERIC, root), f"{board}: {reason}")


def _match(
    devices: Iterable[Device],
    parts_of: Callable[[Identity], tuple[str, ...]],
    names: Mapping[str, str],
) -> Identification | None:
    """The profile one of whose parts occurs in a name; ``names`` gives, by name, the file that
    holds it.

    Names are tried in their order: a device tree lists the board before its family, so a board's
    own profile wins over its family's. Of several parts in one name the longest decides.
    """
    profiles = list(devices)
    for name, file in names.items():
        matching = [
            (len(part), device)
            for device in profiles
            for part in parts_of(device.identity)
            if has_part(name, part)
        ]
        if matching:
            return Identification(
                max(matching, key=lambda match: match[0])[1], f"{file} holds {name!r}"
            )
    return None


def resolve_device(
    name: str, system_root: Path = Path("/"), root: Path | None = None
) -> Identification:
    """The profile ``name``; "auto" is the machine's, and "generic" fits every machine.

    Raises SuiteError when the machine is another device, with the device found and the option to
    use.
    """
    found = identify(system_root, root)
    if name in (AUTO, found.device.name):
        return found
    wanted = load_device(name, root)
    if wanted.name == GENERIC:
        return Identification(wanted, f"asked for; {found.evidence}")
    raise SuiteError(
        f"This machine is not the device {name!r} ({wanted.title}): found {found.device.name!r}"
        f" ({found.evidence}). Use `--device {found.device.name}` or `--device auto`."
    )


def _dmi(system_root: Path) -> dict[str, str]:
    """The machine's DMI names, and the file of each."""
    names = {}
    for file in DMI_FILES:
        name = text(system_root / "sys/class/dmi/id" / file)
        if name:
            names[name] = f"/sys/class/dmi/id/{file}"
    return names
