"""Page cache: the share of the data set that is in memory during the run."""

import time

from suite.machine.page_cache import data_files, residency
from suite.meters.meter import MachineMeter, MeteredProcess, Reading

MAX_FILES = 1000


class PageCacheMeter(MachineMeter):
    """Channel ``resident`` (share of the data set's bytes that is in memory), read at both ends of
    each epoch too; of more than 1,000 files, of 1,000 evenly spread ones.

    All files of a large data set would cost more than the other meters together. Source:
    mincore(2).
    """

    name = "page-cache"
    period_s = 10.0
    description = "share of the data set that is in memory"

    def open(self, process: MeteredProcess) -> None:
        """Choose the files; raises OSError for files whose residency the kernel does not report."""
        files = data_files(process.data_directory, process.data_files)
        if len(files) > MAX_FILES:
            files = [files[index * len(files) // MAX_FILES] for index in range(MAX_FILES)]
        self._files = files
        found = residency(self._files)
        if found.reason is not None:
            raise PermissionError(found.reason)
        if not found.size_bytes:
            raise FileNotFoundError(f"{process.data_directory} holds no data")

    def read(self) -> list[Reading]:
        """The share now."""
        t_ns, found = time.monotonic_ns(), residency(self._files)
        if not found.size_bytes:
            return []
        share = (found.resident_bytes or 0) / found.size_bytes
        return [Reading(t_ns, self.name, "resident", share, "ratio")]


METER = PageCacheMeter
