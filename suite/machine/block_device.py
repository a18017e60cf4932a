"""Finds the block device that holds a folder, from the mount table."""

import re
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import text


@dataclass(frozen=True)
class Mount:
    """A line of mountinfo (proc(5)): device number, mount point, file system, mounted source."""

    number: str
    point: Path
    file_system: str
    source: str


def mount_of(folder: Path, root: Path = Path("/")) -> Mount | None:
    """The mount that holds ``folder``; of two on the same mount point, the later one hides the
    earlier."""
    mounts = [_mount(line) for line in (text(root / "proc/self/mountinfo") or "").splitlines()]
    above = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    return (
        max(enumerate(above), key=lambda pair: (len(pair[1].point.parts), pair[0]))[1]
        if above
        else None
    )


def disk_of(mount: Mount, root: Path = Path("/")) -> Path | None:
    """The folder below /sys of a mount's whole disk; None when it has none (tmpfs, network,
    overlay).

    btrfs mounts have device numbers that are no block device's, so the source's name is tried next.
    """
    entries = [root / "sys/dev/block" / mount.number]
    if mount.source.startswith("/dev/"):
        entries.append(root / "sys/class/block" / Path(mount.source).name)
    for entry in entries:
        if entry.exists():
            device = entry.resolve()
            return device.parent if (device / "partition").exists() else device
    return None


def _mount(line: str) -> Mount:
    left, _, right = line.partition(" - ")
    number, _, point = left.split()[2:5]
    file_system, source = right.split()[:2]
    return Mount(number, Path(_unescaped(point)), file_system, _unescaped(source))


def _unescaped(field: str) -> str:
    """The kernel writes white space and backslashes as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)
