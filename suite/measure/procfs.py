"""Reads /proc and /sys below a root, so that a fake tree can stand for any board."""
import re
from pathlib import Path


def text(path: Path) -> str | None:
    """A small file's content without the white space around it; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return None


def integer(path: Path) -> int | None:
    """A file that holds one integer; None when it cannot be read or holds something else."""
    content = text(path)
    try:
        return int(content) if content else None
    except ValueError:
        return None


def in_order(paths: list[Path]) -> list[Path]:
    """Paths in the order of the numbers in their names: zone2 before zone10."""
    return sorted(paths, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)])


def kilobyte_fields(path: Path) -> dict[str, int]:
    """Lines like ``MemTotal:  16 kB`` as bytes by name; raises OSError when the file cannot be read."""
    found = re.findall(r"^(\w+):\s+(\d+) kB$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}
