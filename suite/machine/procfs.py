"""Reads small files of /proc and /sys, which some boards lack and some let only root read."""

import re
from collections.abc import Iterable
from pathlib import Path


def read_text(path: Path) -> str | None:
    """A file's content without the white space around it; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return None


def device_tree(root: Path, name: str) -> str | None:
    """A property of the device tree's root; None without one. /proc/device-tree is a link to the
    other folder, which containers may lack."""
    return (
        read_text(root / "proc/device-tree" / name)
        or read_text(root / "sys/firmware/devicetree/base" / name)
        or None
    )


def find_in_file(path: Path, pattern: str) -> str | None:
    """What the first group of ``pattern`` matches in a file, where ``^`` is the start of a line;
    None where it matches nothing."""
    found = re.search(pattern, read_text(path) or "", re.MULTILINE)
    return None if found is None else found[1].strip()


def read_integer(path: Path) -> int | None:
    """The integer in a file; None when the file cannot be read or has other content."""
    content = read_text(path)
    try:
        return int(content) if content else None
    except ValueError:
        return None


def memory_bytes(root: Path, name: str) -> int | None:
    """A size in /proc/meminfo; None where it has none of that name."""
    kilobytes = find_in_file(root / "proc/meminfo", rf"^{name}:\s*(\d+) kB")
    return None if kilobytes is None else int(kilobytes) * 1024


def read_integers(path: Path, scale: int = 1) -> tuple[int, ...]:
    """The whole numbers in a file, times ``scale``, sorted; empty when it cannot be read."""
    return tuple(
        sorted(int(part) * scale for part in (read_text(path) or "").split() if part.isdigit())
    )


def natural_order(paths: Iterable[Path]) -> list[Path]:
    """Paths in natural order of their names: zone2 before zone10."""
    return sorted(
        paths,
        key=lambda path: [
            int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)
        ],
    )


def kills_for_memory(root: Path = Path("/")) -> int | None:
    """Processes that the kernel has killed for lack of memory since it started (/proc/vmstat,
    oom_kill); None if it does not count them."""
    kills = find_in_file(root / "proc/vmstat", r"^oom_kill (\d+)")
    return None if kills is None else int(kills)


def kills_since(before: int | None) -> int | None:
    """How many more processes it has killed than ``before``; None if either number is unknown."""
    now = kills_for_memory()
    return None if now is None or before is None else now - before
