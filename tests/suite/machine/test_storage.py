"""One tree per kind of storage."""

from pathlib import Path

import pytest

from suite.machine.storage import Medium, Storage, storage_of

# SCSI block device characteristics: rotation rate in the next two bytes
PAGE_B1 = "\x00\x31\x00\x3c"
TURNS_5400, TURNS_NOT, SAYS_NOTHING = (
    PAGE_B1 + "\x15\x18",
    PAGE_B1 + "\x00\x01",
    PAGE_B1 + "\x00\x00",
)


def on(
    number: str,
    disk: str,
    partition: str = "",
    file_system: str = "ext4",
    source: str = "/dev/x",
    **files: str,
) -> dict[str, str]:
    """A root file system on a disk below /sys/devices."""
    tree = {
        "proc/self/mountinfo": f"22 1 {number} / / rw - {file_system} {source} rw\n",
        f"sys/dev/block/{number}": f"-> ../../devices/{disk}{partition}",
        **{f"sys/devices/{disk}/{name.replace('__', '/')}": text for name, text in files.items()},
        f"sys/devices/{disk}/stat": "",
    }
    return tree | ({f"sys/devices/{disk}{partition}/partition": "1"} if partition else {})


MACHINES = {
    "SD card": (
        on(
            "179:2", "mmc/block/mmcblk0", "/mmcblk0p2", device__type="SD\n", queue__rotational="0\n"
        ),
        Medium.SD,
        "mmcblk0",
    ),
    "eMMC": (
        on(
            "179:1",
            "mmc/block/mmcblk0",
            "/mmcblk0p1",
            device__type="MMC\n",
            queue__rotational="0\n",
        ),
        Medium.EMMC,
        "mmcblk0",
    ),
    "NVMe": (
        on("259:1", "pci/nvme/nvme0/nvme0n1", "/nvme0n1p1", queue__rotational="0\n"),
        Medium.NVME,
        "nvme0n1",
    ),
    "USB HDD": (
        on(
            "8:1",
            "pci/usb2/2-1/host0/block/sda",
            "/sda1",
            queue__rotational="1\n",
            device__vpd_pgb1=TURNS_5400,
        ),
        Medium.USB_HDD,
        "sda",
    ),
    "USB SSD": (
        on(
            "8:1",
            "pci/usb2/2-1/host0/block/sda",
            "/sda1",
            queue__rotational="1\n",
            device__vpd_pgb1=TURNS_NOT,
        ),
        Medium.USB,
        "sda",
    ),
    "USB stick": (
        on(
            "8:1",
            "pci/usb2/2-1/host0/block/sda",
            "/sda1",
            queue__rotational="1\n",
            device__vpd_pgb1=SAYS_NOTHING,
        ),
        Medium.USB,
        "sda",
    ),
    "USB disk, older kernel": (
        on("8:1", "pci/usb2/2-1/host0/block/sda", "/sda1", queue__rotational="1\n"),
        Medium.USB,
        "sda",
    ),
    "SATA SSD": (
        on("8:17", "pci/ata1/host1/block/sdb", "/sdb1", queue__rotational="0\n"),
        Medium.SATA,
        "sdb",
    ),
    "virtual machine": (
        on("254:0", "virtio/block/vda", queue__rotational="1\n"),
        Medium.VIRTUAL,
        "vda",
    ),
    "Xen guest": (on("202:1", "xen/block/xvda", "/xvda1"), Medium.VIRTUAL, "xvda"),
    "compressed memory": (on("252:0", "virtual/block/zram0"), Medium.MEMORY, "zram0"),
    "memory disk": (on("1:0", "virtual/block/ram0"), Medium.MEMORY, "ram0"),
    "disk of another bus": (on("8:0", "pci/host0/block/sda"), None, "the kind of sda is unknown"),
    "over SSH": (
        {"proc/self/mountinfo": "22 1 0:20 / / rw - fuse.sshfs me@host:/data rw\n"},
        Medium.NETWORK,
        None,
    ),
    "NFS root": (
        {"proc/self/mountinfo": "22 1 0:20 / / rw - nfs4 server:/root rw\n"},
        Medium.NETWORK,
        None,
    ),
    "live system": (
        {"proc/self/mountinfo": "22 1 0:20 / / rw - tmpfs tmpfs rw\n"},
        Medium.MEMORY,
        None,
    ),
    "container": (
        {"proc/self/mountinfo": "22 1 0:20 / / rw - overlay overlay rw\n"},
        None,
        None,
    ),
    "nothing": ({}, None, None),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_medium_follows_from_the_disks_bus(tree, machine: str) -> None:
    files, medium, device = MACHINES[machine]
    found = storage_of(Path("/data"), tree(files))
    assert found.medium == medium
    assert (device or "") in found.evidence
    assert found.evidence


def test_encryption_over_a_volume_is_what_lies_below(tree) -> None:
    files = on("254:0", "virtual/block/dm-1") | {
        "sys/devices/virtual/block/dm-1/slaves/dm-0": "-> ../../dm-0",
        "sys/devices/virtual/block/dm-0/slaves/nvme0n1p3": (
            "-> ../../../../pci/nvme/nvme0n1/nvme0n1p3"
        ),
        "sys/devices/pci/nvme/nvme0n1/nvme0n1p3/partition": "3",
        "sys/devices/pci/nvme/nvme0n1/queue/rotational": "0\n",
    }
    found = storage_of(Path("/data"), tree(files))
    assert found == Storage(Medium.NVME, "the disk is nvme0n1")


def test_an_unknown_kind_of_card_is_not_guessed(tree) -> None:
    found = storage_of(
        Path("/data"), tree(on("179:2", "mmc/block/mmcblk0", "/mmcblk0p2", device__type="SDIO\n"))
    )
    assert found.medium is None
    assert "'SDIO'" in found.evidence
