"""Finds the device profile of this machine, with the evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.devices import GENERIC, Device, Identity, has_part, load_device, load_devices
from suite.errors import SuiteError
from suite.machine.procfs import read_text
from suite.machine.system import board_name, cpu_model, device_tree_compatible

AUTO = "auto"
PartsOf = Callable[[Identity], tuple[str, ...]]
DMI_FILES = ("product_name", "product_version", "product_family", "board_name")


@dataclass(frozen=True)
class Identification:
    """A machine's device profile, and the evidence for it."""

    device: Device
    evidence: str


def identify(system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile of the machine below ``system_root``, by its device tree, else by DMI, else by
    its CPU model; generic if none matches."""
    devices, model = load_devices(root), cpu_model(system_root)
    entries = dict.fromkeys(device_tree_compatible(system_root), "/proc/device-tree/compatible")
    devices = tuple(each for each in devices if not each.identity.is_of_another(entries))
    models = {} if model is None else {model: "/proc/cpuinfo"}
    sources: tuple[tuple[str, Mapping[str, str], PartsOf], ...] = (
        ("device tree", entries, lambda identity: identity.compatible),
        ("DMI names", _dmi(system_root), lambda identity: identity.dmi),
        ("CPU model", models, lambda identity: identity.cpu_model),
    )
    # Names are tried in their order: a device tree lists the board before its family, so a board's
    # own profile wins over its family's. Of several parts in one name the longest decides.
    for _, names, parts_of in sources:
        for name, file in names.items():
            matching = [
                (len(part), device)
                for device in devices
                for part in parts_of(device.identity)
                if has_part(name, part)
            ]
            if matching:
                best = max(matching, key=lambda match: match[0])[1]
                return Identification(best, f"{file} holds {name!r}")
    board = board_name(system_root) or "an unnamed board"
    known = [source for source, names, _ in sources if names]
    reason = (
        f"no profile matches its {' or '.join(known)}"
        if known
        else "it has no device tree, no DMI names and no CPU model"
    )
    return Identification(load_device(GENERIC, root), f"{board}: {reason}")


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
        name = read_text(system_root / "sys/class/dmi/id" / file)
        if name:
            names[name] = f"/sys/class/dmi/id/{file}"
    return names
