"""Disk: what the device that holds the data has read and written."""

import time
from pathlib import Path

from suite.errors import SuiteError
from suite.machine.block_device import disk_of, mount_of
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

CHANNELS = (  # channel, field of the kernel's counters, scale, unit
    ("read_operations", 0, 1.0, "operations"),
    ("read_bytes", 2, 512.0, "B"),  # a sector is 512 bytes here, whatever the device's own is
    ("write_operations", 4, 1.0, "operations"),
    ("write_bytes", 6, 512.0, "B"),
    ("busy", 9, 1e-3, "s"),
)


class DiskMeter:
    """Channels ``read_operations``, ``write_operations``, ``read_bytes``, ``write_bytes`` and ``busy`` (seconds with a request
    under way) of the whole disk that holds the data, counted since boot: a rate is a difference over a time, and a lost
    reading loses nothing. Source: Linux block/stat.
    """

    name = "disk"
    period_s = 1.0
    description = "operations and bytes of the block device that holds the data"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._counters: Path | None = None

    def availability(self) -> MeterAvailability:
        """Whether there is any block device to be seen; which one holds the data shows when a run starts."""
        if any((self._root / "sys/block").glob("*/stat")):
            return AVAILABLE
        return MeterAvailability(False, "/sys/block shows no device", "mount /sys; inside a container, run on the host")

    def open(self, process: MeteredProcess) -> None:
        """Find the disk; raises SuiteError when the data lies on none (memory, a network)."""
        folder = process.data_directory.resolve()
        mount = mount_of(folder, self._root)
        disk = disk_of(mount, self._root) if mount else None
        if disk is None:
            what = f"{mount.file_system} ({mount.source})" if mount else "an unknown file system"
            raise SuiteError(f"{folder} lies on {what}, which is on no disk of this machine; put the data on a local disk to have it measured.")
        self._counters = disk / "stat"

    def read(self) -> list[Reading]:
        """The counters as they are."""
        assert self._counters is not None
        t_ns, fields = time.monotonic_ns(), self._counters.read_bytes().split()
        return [Reading(t_ns, self.name, channel, int(fields[index]) * scale, unit) for channel, index, scale, unit in CHANNELS]

    def close(self) -> None:
        """Nothing is held."""
