"""Priorities of processes (setpriority(2)): -20 is the highest, 19 the lowest. To raise one needs
root or CAP_SYS_NICE."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from suite.errors import SuiteError

GENERATOR_NICE = -10
"""The generator stands for a camera or a network: the programs that it feeds should not delay
it."""


def set_priority(pid: int, nice: int) -> None:
    """Set a process's priority; raises SuiteError where the user may not."""
    if not -20 <= nice <= 19:
        raise SuiteError(f"{nice} is not a priority; priorities are -20 (highest) to 19 (lowest).")
    try:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    except PermissionError:
        raise SuiteError(
            f"A priority of {nice} needs root or CAP_SYS_NICE; priorities of 0 to 19 need neither."
        ) from None


@contextmanager
def raised(nice: int = GENERATOR_NICE) -> Iterator[int]:
    """This process with a higher priority, where it may have one; gives the priority that it really
    has."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        yield os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
