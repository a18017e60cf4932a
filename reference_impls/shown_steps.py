"""How many steps are done, for the harness to show while the training goes on: eight bytes of
memory that both share, so that nothing is written between steps. Standard library only, Python 3.6
grammar."""

import mmap
import os
import struct

VARIABLE, NAME = "EDGE_TRAINING_STEPS", "edge-training-steps"
"""The harness's memory as a path below /proc, and what it is called there."""
COUNT = struct.Struct("q")


def is_counter(path: str) -> bool:
    """Whether this is the memory of a harness on this machine, in this namespace."""
    try:
        return os.readlink(path).startswith("/memfd:{} ".format(NAME))
    except OSError:
        return False


class ShownSteps:
    """The count of this run; nobody sees it where the harness cannot be reached."""

    def __init__(self) -> None:
        memory = mmap.mmap(-1, COUNT.size)
        path = os.environ.get(VARIABLE, "")
        if is_counter(path):
            handle = os.open(path, os.O_RDWR)
            memory = mmap.mmap(handle, COUNT.size)
            os.close(handle)
        self._count = memoryview(memory).cast("q")

    def show(self, steps: int) -> None:
        """Set it: a fraction of a microsecond."""
        self._count[0] = steps
