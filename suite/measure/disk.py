"""Disk: operations and bytes of the block device that holds the data."""
import os
from pathlib import Path

from suite.measure.meter import Availability, Reading, Subject

SECTOR_BYTES = 512  # the unit of /sys/block/*/stat, whatever the device's own sectors are
FIELDS = {"read_operations": (0, 1, "operations"), "read": (2, SECTOR_BYTES, "B"), "written_operations": (4, 1, "operations"), "written": (6, SECTOR_BYTES, "B")}


class DiskMeter:
    """Counters since boot, as the kernel keeps them: rates are differences, taken when figures are derived."""

    name = "disk"
    period_s = 1.0
    description = "read and write operations and bytes of the device that holds the data"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._stat: Path | None = None

    def availability(self) -> Availability:
        """Wherever the kernel shows block devices."""
        there = (self._root / "sys/dev/block").is_dir()
        return Availability(there, "" if there else "/sys/dev/block is missing", "" if there else "mount /sys")

    def open(self, subject: Subject) -> None:
        """Find the device; raises FileNotFoundError where the data lie on no block device (a network or memory file system)."""
        device = os.stat(subject.data_directory).st_dev
        path = self._root / f"sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
        if not path.exists():
            raise FileNotFoundError(f"{subject.data_directory} lies on no block device (a network or memory file system)")
        self._stat = path

    def read(self, t_ns: int) -> list[Reading]:
        """The counters of this moment."""
        if self._stat is None:
            return []
        counts = [int(word) for word in self._stat.read_text().split()]
        return [Reading(t_ns, self.name, channel, float(counts[index] * scale), unit) for channel, (index, scale, unit) in FIELDS.items()]

    def close(self) -> None:
        """Nothing to let go of."""
