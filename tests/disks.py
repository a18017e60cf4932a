"""Disks for tests: a loop device with a file system, which needs root (where it cannot be made, the
test is skipped), and a simulated one."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SIZE_BYTES = 16 * 2**20


@contextmanager
def own_disk(folder: Path) -> Iterator[Path]:
    """The disk's mount point, below ``folder``; unmounted afterwards."""
    image, mount = folder / "disk.img", folder / "disk"
    mount.mkdir()
    with image.open("wb") as stream:
        stream.truncate(SIZE_BYTES)
    _must("mke2fs", "-q", "-F", str(image))
    _must("mount", "-o", "loop", str(image), str(mount))
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], capture_output=True)


def simulated_disk(root: Path, point: str, number: str = "8:1", file_system: str = "ext4") -> None:
    """A mount table with a partition of the disk 8:0."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(
        f"1 0 {number} / {point} rw - {file_system} /dev/sda1 rw\n"
    )
    partition = root / "sys/devices/sda/sda1"
    partition.mkdir(parents=True)
    (partition / "partition").write_text("1\n")
    (partition.parent / "dev").write_text("8:0\n")
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:1").symlink_to(partition)


def _must(*command: str) -> None:
    """Run a command that needs root, or skip with its error output."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed (e2fsprogs, mount)")
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        pytest.skip(f"a disk of its own cannot be made here: {command[0]}: {ran.stderr.strip()}")
