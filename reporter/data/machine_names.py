"""What a machine is called: by its profile, else by its processor, else by its board; never
"generic"."""

import re
from functools import cache

from reporter.data.frames import ALIKE, NODE_MACHINES, Row, is_known
from suite.catalog.devices import Device, load_devices

UNKNOWN = "unknown machine"
GPU = "cuda"  # an entry's accelerator
_NOISE = re.compile(
    r"\((?:R|TM|C)\)|\bCPU\b|\bProcessor\b|\bwith Radeon\b.*|@.*|\b\d+-Core\b", re.IGNORECASE
)


def machine_name(entry: Row) -> str:
    """The short name: the profile's; of a machine without a profile the processor's, else the
    board's."""
    return str(entry["device"]) if profile_of(entry) is not None else _own_name(entry)


def machine_title(entry: Row) -> str:
    """The full name: the profile's title; of a machine without a profile the processor's name, else
    the board's; then those of other nodes that differ."""
    profile = profile_of(entry)
    return (_own_name(entry) if profile is None else profile.title) + _other_nodes(entry)


def short_title(entry: Row) -> str:
    """The profile's short title, which fits a table's cell; of a machine without a profile the
    processor's name, else the board's; then those of other nodes that differ."""
    profile = profile_of(entry)
    own = _own_name(entry) if profile is None else profile.short_title or profile.title
    return own + _other_nodes(entry)


def system_name(entry: Row, name: str = "") -> str:
    """The short title, or another name of the machine; "4 × " before it for a cluster of four, "4
    nodes: " where they are not alike."""
    nodes, times = entry["nodes"], " nodes: " if _other_nodes(entry) else " × "
    count = f"{int(nodes)}{times}" if is_known(nodes) and nodes > 1 else ""
    return count + (name or short_title(entry))


def profile_of(entry: Row) -> Device | None:
    """The profile of the entry's machine; None for the one that any machine has."""
    return _profiles().get(str(entry["device"]))


def _other_nodes(entry: Row) -> str:
    others = entry.get(NODE_MACHINES)
    return f" with {others}" if is_known(others) and others != ALIKE else ""


def first_title(entry: Row) -> str:
    """The full name of the first node's machine."""
    return machine_title({**entry, NODE_MACHINES: ALIKE})


def _own_name(entry: Row) -> str:
    """The GPU's name where it trained, else the processor's, without trade marks and clock; a
    profile that is not known keeps its name."""
    if str(entry["device"]) not in _profiles():
        return str(entry["device"])
    for column in (*(("gpu",) if entry.get("accelerator") == GPU else ()), "cpu_model", "board"):
        if is_known(entry.get(column)) and (
            name := " ".join(_NOISE.sub(" ", str(entry[column])).split())
        ):
            return name
    return UNKNOWN


@cache
def _profiles() -> dict[str, Device | None]:
    """Of every known device; None for the one that any machine has."""
    return {device.name: None if device.is_fallback else device for device in load_devices()}
