"""The machine of a bundle: the fields of system.json that describe it, and in which of them two
machines differ."""

from collections.abc import Collection, Mapping
from typing import Any

BOARD_DIGEST = "board_digest"
MACHINE = (
    "device",
    "board",
    "architecture",
    "cpu_model",
    "cpu_cores",
    "gpus",
    "memory_size_bytes",
    "power_mode",
    "cpu_governor",
    "storage_medium",
    "kernel",
    "operating_system",
    BOARD_DIGEST,
)
"""Fields of system.json that describe the machine; the others describe the framework."""
OF_KIND = tuple(
    name for name in MACHINE if name not in ("kernel", "operating_system", BOARD_DIGEST)
)
"""Fields that two machines of one kind, in one power mode, share."""
MEMORY_TOLERANCE = 0.01
"""Of MemTotal: what firmware and kernel keep for themselves differs by some KiB from one start of a
machine to the next."""


def different_fields(
    system: Mapping[str, Any], other: Mapping[str, Any], fields: Collection[str] = MACHINE
) -> list[str]:
    """The fields in which two systems differ; memory sizes may, by MEMORY_TOLERANCE, and a board
    without a digest may be any."""
    return [name for name in fields if not _is_alike(name, system.get(name), other.get(name))]


def _is_alike(name: str, value: Any, other: Any) -> bool:
    if name == "gpus":  # bundles of earlier versions lack it
        return (value or []) == (other or [])
    if name == BOARD_DIGEST and None in (value, other):
        return True
    is_size = name == "memory_size_bytes" and all(
        isinstance(each, int) and not isinstance(each, bool) for each in (value, other)
    )
    return (
        abs(value - other) <= MEMORY_TOLERANCE * max(value, other)
        if is_size
        else bool(value == other)
    )
