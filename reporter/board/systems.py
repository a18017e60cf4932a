"""Names of systems that fit a table's cell or a card."""

from collections.abc import Mapping
from typing import Any

from reporter.data.frames import known
from reporter.data.machine_names import short_title

SINGLE_BOARD = "raspberry-pi-"
"""How the names of the Raspberry Pis' profiles begin."""


def system_name(entry: Mapping[str, Any]) -> str:
    """The device by its short title, of a machine without a profile its processor; "4 × " before it
    for a cluster of four."""
    name = short_title(entry)
    return (
        f"{int(entry['nodes'])} × {name}" if known(entry["nodes"]) and entry["nodes"] > 1 else name
    )


def is_single_pi(entry: Mapping[str, Any]) -> bool:
    """Whether the system is one Raspberry Pi."""
    return str(entry["device"]).startswith(SINGLE_BOARD) and entry["nodes"] == 1
