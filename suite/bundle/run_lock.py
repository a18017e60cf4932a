"""The lock in the directory of a run, which the processes hold that run or close the run."""

import fcntl
import os
from pathlib import Path

from suite.bundle.layout import LOCK
from suite.errors import SuiteError
from suite.files.file_lock import take_lock
from suite.files.shell_command import shell_command


def is_held(directory: Path) -> bool:
    """A process runs or closes the run in this directory."""
    try:
        # of a stranger's folder, it may be a pipe or a link
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        handle = os.open(directory / LOCK, flags)
    except OSError:
        return False
    try:
        return not take_lock(handle, fcntl.LOCK_SH)  # two that ask do not hold it for each other
    finally:
        os.close(handle)


def refuse_running(directory: Path) -> None:
    """Raise SuiteError for a run that still runs: its records change."""
    if is_held(directory):
        wait = f"wait for its end: `{shell_command('suite watch', directory)}`"
        raise SuiteError(f"{directory} still runs", wait)
