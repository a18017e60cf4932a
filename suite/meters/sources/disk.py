"""Disk: operations and bytes of the block device that holds the data set."""

import re
import time

from suite.errors import SuiteError
from suite.machine.storage import disk_of, mount_of
from suite.meters.meter import AVAILABLE, MachineMeter, MeterAvailability, MeteredProcess, Reading

CHANNELS = (  # channel, field of the kernel's counters, scale, unit
    ("read_operations", 0, 1.0, "operations"),
    ("read_bytes", 2, 512.0, "B"),  # a sector is 512 bytes here, whatever the device's own is
    ("write_operations", 4, 1.0, "operations"),
    ("write_bytes", 6, 512.0, "B"),
    ("busy", 9, 1e-3, "s"),
)
_NVME_DRIVE = re.compile(r"(nvme\d+)(n\d+)")


class DiskMeter(MachineMeter):
    """Channels ``read_operations``, ``write_operations``, ``read_bytes``, ``write_bytes`` and
    ``busy`` (s with a request in flight) of the whole disk that holds the data set, counted since
    boot.

    Counters, so that a lost reading loses nothing. Source: Linux block/stat.
    """

    name = "disk"
    period_s = 1.0
    description = "operations and bytes of the block device that holds the data set"

    def availability(self) -> MeterAvailability:
        """Whether there is any block device; the one that holds the data set is found when a run
        starts."""
        if any((self._root / "sys/block").glob("*/stat")):
            return AVAILABLE
        return MeterAvailability(
            False,
            "/sys/block shows no device",
            "mount /sys; if the suite runs in a container, run it on the host instead",
        )

    def open(self, process: MeteredProcess) -> None:
        """Find the disk; raises SuiteError when the data set is on none (memory, a network)."""
        folder = process.data_directory.resolve()
        mount = mount_of(folder, self._root)
        disk = disk_of(mount, self._root) if mount else None
        if disk is None:
            what = f"{mount.file_system} ({mount.source})" if mount else "an unknown file system"
            raise SuiteError(
                f"{folder} is on {what}, which cannot be traced to a disk of this machine; put the"
                " data set on a local disk to measure it."
            )
        # requests of an NVMe drive with several controllers go to its paths, nvme0c0n1: up to Linux
        # 6.1 they alone are counted
        path = _NVME_DRIVE.sub(r"\1c*\2", disk.name)
        paths = sorted((self._root / "sys/block").glob(f"{path}/stat"))
        self._counters = paths or [disk / "stat"]

    def read(self) -> list[Reading]:
        """One reading per counter that the kernel counts: up to Linux 5.8 it counts no time of a
        software RAID."""
        t_ns = time.monotonic_ns()
        counted = [map(int, each.read_bytes().split()) for each in self._counters]
        fields = [sum(each) for each in zip(*counted, strict=True)]
        return [
            Reading(t_ns, self.name, channel, fields[index] * scale, unit)
            for channel, index, scale, unit in CHANNELS
            if channel != "busy" or fields[index] or not fields[0]
        ]


METER = DiskMeter
