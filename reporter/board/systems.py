"""Names of systems that fit a table's cell or a card."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from reporter.data.frames import known
from reporter.data.machine_names import machine_title, profile_of
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError

SINGLE_BOARD = "raspberry-pi-"
"""How the names of the Raspberry Pis' profiles begin."""


def system_name(entry: Mapping[str, Any]) -> str:
    """The device by its short title, of a machine without a profile its processor; "4 × " before it for a cluster of four."""
    profile = profile_of(entry)
    name = (profile.short_title or profile.title) if profile is not None else machine_title(entry)
    return f"{int(entry['nodes'])} × {name}" if known(entry["nodes"]) and entry["nodes"] > 1 else name


@cache
def framework_name(name: str) -> str:
    """The framework's title without what stands in parentheses or behind a comma; its name where this version does not know it."""
    try:
        return re.split(r",| \(", load_framework(name).title)[0]
    except SuiteError:
        return name


def is_single_pi(entry: Mapping[str, Any]) -> bool:
    """Whether the system is one Raspberry Pi."""
    return str(entry["device"]).startswith(SINGLE_BOARD) and entry["nodes"] == 1
