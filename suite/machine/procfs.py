"""Reads small files of /proc and /sys, which some boards lack and some let only root read."""

import re
from collections.abc import Iterable
from pathlib import Path


def text(path: Path) -> str | None:
    """A file's content without the white space around it; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return None


def device_tree(root: Path, name: str) -> str | None:
    """A property of the device tree's root; None without one. /proc/device-tree is a link to the
    other folder, which containers may lack."""
    return (
        text(root / "proc/device-tree" / name)
        or text(root / "sys/firmware/devicetree/base" / name)
        or None
    )


def integer(path: Path) -> int | None:
    """The integer in a file; None when the file cannot be read or has other content."""
    content = text(path)
    try:
        return int(content) if content else None
    except ValueError:
        return None


def memory_bytes(root: Path, name: str) -> int | None:
    """A size in /proc/meminfo; None where it has none of that name."""
    found = re.search(rf"^{name}:\s*(\d+) kB", text(root / "proc/meminfo") or "", re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Paths in natural order of their names: zone2 before zone10."""
    return sorted(
        paths,
        key=lambda path: [
            int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)
        ],
    )
