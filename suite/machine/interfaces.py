"""The network interfaces of this machine: state, kind and speed."""

from pathlib import Path
from typing import Any

from reference_impls.node import describe_interface, public_interface
from suite.machine.procfs import read_integer, read_text

LOOPBACK = 772
"""ARPHRD_LOOPBACK of linux/if_arp.h."""


def interfaces_up(root: Path) -> tuple[str, ...]:
    """Names of the interfaces that are up, without the loopback; "unknown" is the state of drivers
    that do not report one."""
    folders = sorted((root / "sys/class/net").glob("*"))
    return tuple(
        each.name
        for each in folders
        if read_text(each / "operstate") in ("up", "unknown")
        and read_integer(each / "type") != LOOPBACK
    )


def describe_links(root: Path) -> tuple[dict[str, Any], ...]:
    """Name, ``kind`` (wired, wireless, virtual) and ``speed_mbit_s`` of each interface that is up;
    ``reason`` when the speed is None."""
    return tuple(
        {"interface": public_interface(name, str(root)), **describe_interface(name, str(root))}
        for name in interfaces_up(root)
    )
