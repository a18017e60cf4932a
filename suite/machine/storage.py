"""The block device that holds a folder, from the mount table, and its storage medium: SD card,
eMMC, NVMe, SATA, USB, virtual disk, network or memory."""

import enum
import re
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import natural_order, read_text


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
    mounts = [_mount(line) for line in (read_text(root / "proc/self/mountinfo") or "").splitlines()]
    above = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    return max(reversed(above), key=lambda mount: len(mount.point.parts), default=None)


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
            return _whole_disk(entry)
    return None


def _whole_disk(entry: Path) -> Path:
    device = entry.resolve()
    return device.parent if (device / "partition").exists() else device


def _mount(line: str) -> Mount:
    left, _, right = line.partition(" - ")
    number, _, point = left.split()[2:5]
    file_system, source = right.split()[:2]
    return Mount(number, Path(_unescaped(point)), file_system, _unescaped(source))


def _unescaped(field: str) -> str:
    """The kernel writes white space and backslashes as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "ceph", "glusterfs")
MEMORY = ("tmpfs", "ramfs")


class Medium(str, enum.Enum):
    """Kinds of storage, by how they are connected."""

    SD = "SD"
    EMMC = "eMMC"
    NVME = "NVMe"
    SATA = "SATA"
    USB_HDD = "USB HDD"
    USB = "USB"  # flash, or a disk that does not report whether it rotates
    VIRTUAL = "virtual disk"
    NETWORK = "network"
    MEMORY = "memory"


@dataclass(frozen=True)
class Storage:
    """A folder's storage. ``medium`` is None when it is unknown; ``evidence`` says how it was
    found, or why not."""

    medium: Medium | None
    evidence: str


def storage_of(folder: Path, root: Path) -> Storage:
    """The storage of ``folder``; /proc and /sys are read below ``root``."""
    mount = mount_of(folder.resolve() if root == Path("/") else folder, root)
    if mount is None:
        return Storage(None, "/proc/self/mountinfo cannot be read")
    source = f"{mount.source} ({mount.file_system})"
    if mount.file_system in NETWORK:
        return Storage(Medium.NETWORK, f"{folder} is mounted from {source}")
    if mount.file_system in MEMORY:
        return Storage(Medium.MEMORY, f"{folder} is on {mount.file_system}")
    disk = disk_of(mount, root)
    if disk is None:
        where = f"{mount.file_system} ({mount.source})"
        return Storage(
            None, f"{folder} is on {where}, which cannot be traced to a disk of this machine"
        )
    disk = _physical(disk)
    medium, evidence = _medium(disk)
    if medium is Medium.USB and _rotates(disk):
        return Storage(Medium.USB_HDD, f"{evidence} and reports that it rotates")
    return Storage(medium, evidence)


def _physical(disk: Path) -> Path:
    """The first real disk under encryption, volumes and arrays."""
    below = natural_order((disk / "slaves").glob("*"))
    if not below:
        return disk
    return _physical(_whole_disk(below[0]))


def _rotates(disk: Path) -> bool:
    """Whether the disk itself reports a rotating medium (SCSI block device characteristics, page
    B1h: 1 for one that does not rotate, else revolutions per minute). The kernel takes one that
    reports nothing for rotating on USB: behind many bridges, a solid-state disk."""
    try:
        return int.from_bytes((disk / "device/vpd_pgb1").read_bytes()[4:6], "big") > 1
    except OSError:
        return False


def _medium(disk: Path) -> tuple[Medium | None, str]:
    """The medium, by the kernel's name of the disk, its card type and its bus."""
    name, where = disk.name, str(disk)
    if name.startswith("mmcblk"):
        kind = read_text(disk / "device/type")
        return {"SD": Medium.SD, "MMC": Medium.EMMC}.get(
            kind or ""
        ), f"/sys/block/{name}/device/type is {kind!r}"
    if name.startswith("nvme"):
        return Medium.NVME, f"the disk is {name}"
    if name.startswith(("vd", "xvd")):
        return Medium.VIRTUAL, f"the disk is {name}"
    if name.startswith(("zram", "ram")):
        return Medium.MEMORY, f"the disk is {name}"
    if name.startswith("sd") and "/usb" in where:
        return Medium.USB, f"{name} is on the USB bus"
    if name.startswith("sd") and "/ata" in where:
        return Medium.SATA, f"{name} is on the SATA bus"
    return None, f"the kind of {name} is unknown"
