"""The network interfaces of this machine: which are up, what they are and how fast."""

from pathlib import Path
from typing import Any

from reference_impls.node import describe_interface
from suite.machine.procfs import integer, text

LOOPBACK = 772
"""ARPHRD_LOOPBACK of linux/if_arp.h: what leaves by it never leaves the machine."""


def interfaces_up(root: Path = Path("/")) -> tuple[str, ...]:
    """Names of the interfaces that can carry something, the loopback left out; the state "unknown" is that of drivers that never say."""
    folders = sorted((root / "sys/class/net").glob("*"))
    return tuple(each.name for each in folders if text(each / "operstate") in ("up", "unknown") and integer(each / "type") != LOOPBACK)


def describe_links(root: Path = Path("/")) -> tuple[dict[str, Any], ...]:
    """Of each interface that is up: its name, ``kind`` (wired, wireless, virtual), ``speed_mbit_s`` and, where that is None, the ``reason``."""
    return tuple({"interface": name, **describe_interface(name, str(root))} for name in interfaces_up(root))
