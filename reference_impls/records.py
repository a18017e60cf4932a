"""A rank's log and step records, and gathering those of all ranks in rank 0's folder. Standard
library only."""

import ctypes
import os
from typing import Tuple

from reference_impls.communication import World
from reference_impls.contract import (
    LogWriter,
    Outbox,
    RecordFile,
    StepWriter,
    last_link,
    log_name,
    steps_name,
)


class Records:
    """A rank's ``log`` and ``steps``. Rank 0 writes its records to the folder as they come, and the
    other ranks' at every :meth:`gather`.

    Rank 0 appends to the log that the harness has begun, if there is one.
    """

    def __init__(self, world: World, directory: str) -> None:
        self._world = world
        self._outboxes = (Outbox(), Outbox())
        log, steps = self._outboxes  # type: Tuple[Sink, Sink]
        self._others = []  # type: List[Tuple[str, str]]
        self._directory = directory
        begun = None  # type: Optional[str]
        if world.rank == 0:
            log_path, steps_path = _paths(directory, 0)
            begun = last_link(log_path)
            log, steps = RecordFile(log_path, begun is not None), RecordFile(steps_path)
            self._others = [_paths(directory, rank) for rank in range(1, world.size)]
            for paths in self._others:
                for path in paths:
                    open(path, "x").close()
        self.log, self.steps = LogWriter(log, world.rank, begun=begun), StepWriter(steps)

    def gather(self) -> None:
        """Write the other ranks' new records at rank 0, and sync the file system once. All ranks
        call it, outside the measured region.

        Their files are open only while they are written: a process may have a thousand open files,
        a run more ranks.
        """
        if self._world.size == 1:
            return
        log, steps = self._outboxes
        taken = self._world.gather((log.take(), steps.take()))
        for paths, texts in zip(self._others, taken[1:]):
            for path, text in zip(paths, texts):
                if text:
                    with open(path, "a", encoding="utf-8") as stream:
                        stream.write(text)
        if taken:
            sync_file_system(self._directory)

    def close(self) -> None:
        """Gather the remaining records and close."""
        self.gather()
        self.steps.close()
        self.log.close()


def sync_file_system(folder: str) -> None:
    """Write everything of the folder's file system to the storage medium (syncfs(2)), with one
    commit of its journal where an fsync per file needs as many as there are files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(
                ctypes.get_errno(), "the file system of {} cannot be synced".format(folder)
            )
    finally:
        os.close(descriptor)


def _paths(directory: str, rank: int) -> Tuple[str, str]:
    return os.path.join(directory, log_name(rank)), os.path.join(directory, steps_name(rank))
