from pathlib import Path

import pytest

from suite.machine.storage import disk_of, mount_of

MOUNTINFO = r"""
22 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw
30 22 0:25 / /tmp rw,nosuid shared:5 - tmpfs tmpfs rw
31 22 0:40 /@data /srv/my\040data rw - btrfs /dev/sda1 rw,subvol=/@data
32 22 259:0 / /mnt/fast rw - ext4 /dev/nvme0n1 rw
33 22 0:50 / /mnt/fast rw - nfs4 server:/export rw
34 22 254:0 / /mnt/vault rw - ext4 /dev/mapper/vault rw
"""


@pytest.fixture
def board(tree) -> Path:
    """An SD card with partitions, a USB disk under btrfs, NVMe without partitions, and an encrypted
    volume."""
    return tree(
        {
            "proc/self/mountinfo": MOUNTINFO,
            "sys/devices/mmc/block/mmcblk0/stat": "",
            "sys/devices/mmc/block/mmcblk0/mmcblk0p2/partition": "2",
            "sys/devices/usb/block/sda/sda1/partition": "1",
            "sys/devices/nvme/block/nvme0n1/stat": "",
            "sys/devices/virtual/block/dm-0/stat": "",
            "sys/dev/block/179:2": "-> ../../devices/mmc/block/mmcblk0/mmcblk0p2",
            "sys/dev/block/259:0": "-> ../../devices/nvme/block/nvme0n1",
            "sys/dev/block/254:0": "-> ../../devices/virtual/block/dm-0",
            "sys/class/block/sda1": "-> ../../devices/usb/block/sda/sda1",
        }
    )


@pytest.mark.parametrize(
    ("folder", "disk"),
    [
        ("/home/me/data", "mmcblk0"),
        ("/tmp/data", None),
        ("/tmpfoo", "mmcblk0"),  # not below /tmp
        ("/srv/my data/cifar", "sda"),  # btrfs: its own device number, found by name
        ("/mnt/fast/data", None),  # the network mount hides the NVMe
        ("/mnt/vault", "dm-0"),
    ],
)
def test_a_folder_is_on_the_whole_disk_under_its_mount(
    board: Path, folder: str, disk: str | None
) -> None:
    mount = mount_of(Path(folder), board)
    assert mount is not None
    found = disk_of(mount, board)
    assert (found and found.name) == disk


def test_without_a_mount_table_nothing_is_known(tree) -> None:
    assert mount_of(Path("/data"), tree({})) is None


def test_on_this_machine_the_mount_has_the_number_that_stat_reports() -> None:
    here = Path(__file__).resolve()
    device = here.stat().st_dev
    mount = mount_of(here)
    assert mount is not None
    assert mount.number == f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"
