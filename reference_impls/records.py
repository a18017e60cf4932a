"""A rank's log and step records, and gathering those of all ranks in rank 0's folder. Standard library only."""

import os

from reference_impls.communication import World
from reference_impls.contract import LogWriter, Outbox, RecordFile, StepWriter, last_link, log_name, steps_name


class Records:
    """A rank's ``log`` and ``steps``. Rank 0 writes its records to the folder as they come, and the other ranks' at every :meth:`gather`.

    Rank 0 appends to the log that the harness has begun, if there is one.
    """

    def __init__(self, world: World, directory: str) -> None:
        self._world = world
        self._outboxes = (Outbox(), Outbox())
        self._files = []  # type: List[Tuple[RecordFile, RecordFile]]
        begun = None  # type: Optional[str]
        if world.rank == 0:
            begun = last_link(os.path.join(directory, log_name(0)))
            self._files = [
                (
                    RecordFile(os.path.join(directory, log_name(rank)), rank == 0 and begun is not None),
                    RecordFile(os.path.join(directory, steps_name(rank))),
                )
                for rank in range(world.size)
            ]
        log, steps = self._files[0] if self._files else self._outboxes
        self.log, self.steps = LogWriter(log, world.rank, begun=begun), StepWriter(steps)

    def gather(self) -> None:
        """Write the other ranks' new records at rank 0 and sync them. All ranks call it, outside the measured region."""
        if self._world.size == 1:
            return
        log, steps = self._outboxes
        taken = self._world.gather((log.take(), steps.take()))
        for files, texts in zip(self._files[1:], taken[1:]):
            for file, text in zip(files, texts):
                file.write(text)
                file.sync()

    def close(self) -> None:
        """Gather the remaining records and close."""
        self.gather()
        self.steps.close()
        self.log.close()
        for files in self._files[1:]:
            for file in files:
                file.close()
