"""The directory of a run: whether something is there before the run begins, and its lock, which the
processes hold that run or close the run, with a reserve of disk space for its last status."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from suite.bundle import layout
from suite.bundle.data_record import DATA
from suite.bundle.manifest import refuse_inside_run
from suite.bundle.run_lock import is_held
from suite.errors import SuiteError
from suite.files.file_lock import take_lock

BEFORE_RECORD = (
    layout.LOCK,
    layout.BASELOAD_RAW,
    layout.node_baseloads("[0-9]*")[1],
    DATA,
    layout.PRIVATE,
    layout.WITNESS,
    *(f".{name}*" for name in (DATA, layout.PRIVATE, layout.WITNESS, layout.RUN)),
)
"""Patterns of files that a run writes before its record is there; a leading dot is that of a file
that is being written."""
RESERVE_BYTES = 2**16
_WHO_BYTES = 200
_FULL = (errno.ENOSPC, errno.EDQUOT)


class RunLock:
    """Held inside the context. The kernel releases it when its last holder ends, however that ends.

    An implementation inherits it (``handle``): while it trains, nobody else closes the run. The
    file has RESERVE_BYTES of content, which :meth:`write` gives back to a full disk.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / layout.LOCK
        self.handle = -1

    def __enter__(self) -> "RunLock":
        """Take the lock; raises SuiteError when another process holds it, OSError when there is no
        space for the reserve."""
        self.handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not take_lock(self.handle):
                who = os.pread(self.handle, _WHO_BYTES, 0).split(b"\n")[0].decode(errors="replace")
                raise SuiteError(
                    f"{self._path.parent} still runs ({who or 'its process is unknown'}); wait for"
                    " its end, or end it with Ctrl-C."
                )
            self._fill()
        except BaseException:
            os.close(self.handle)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        os.close(self.handle)

    def remove(self) -> None:
        """Remove the file: the run needs it no more."""
        self._path.unlink(missing_ok=True)

    def write(self, write: Callable[[], None]) -> None:
        """Call ``write``; when the disk is full, once more after the reserve was given back."""
        try:
            write()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            os.ftruncate(self.handle, 0)
            write()

    def _fill(self) -> None:
        """Write who holds the lock, and zeros."""
        who = f"process {os.getpid()} on {os.uname().nodename}\n".encode()[:_WHO_BYTES]
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, who + bytes(RESERVE_BYTES - len(who)), 0)
        os.fsync(self.handle)


def make_output(path: Path, force: bool) -> None:
    """Create the run directory; one that is not empty is an error, unless ``force`` is set and it
    is a run's, which is then deleted."""
    has_something = is_taken(path)
    refuse_inside_run(path)
    if has_something:
        if not _is_run(path):
            raise SuiteError(
                f"{path} exists and is not a run directory (it has no {layout.RUN}): --force"
                " replaces runs only. Choose another --output."
            )
        if path.is_symlink():
            raise SuiteError(
                f"{path} is a symbolic link to the run {path.resolve()}; choose another --output,"
                " or name that run itself."
            )
        if not force:
            raise SuiteError(
                f"{path} holds a run; choose another --output, or type --force to replace it."
            )
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(
            f"The run directory {path} cannot be created: {error.strerror}; choose another"
            " --output."
        ) from error


def is_taken(path: Path) -> bool:
    """Whether something is where a run directory is to be made; raises SuiteError where it is a run
    that still runs."""
    if is_held(path):
        raise SuiteError(f"{path} holds a run that still runs; choose another --output.")
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def _is_run(path: Path) -> bool:
    """Whether this is a run directory, or all that is in it is what a run writes before its record:
    it was killed as it began."""
    if not path.is_dir():
        return False
    return (path / layout.RUN).is_file() or all(
        each.is_file() and any(map(each.match, BEFORE_RECORD)) for each in path.iterdir()
    )
