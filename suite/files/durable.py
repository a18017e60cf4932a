"""Files that survive a power cut: written beside their place, on the storage medium before they
have their name."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from suite.errors import SuiteError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def publish(path: Path, *, has_rivals: bool = False) -> Iterator[Path]:
    """A temporary file to write in the block; after it, the file replaces ``path`` at once. When
    the block raises, ``path`` stays as it was.

    The temporary file has one name, so that a killed writer's is replaced by the next one's. Where
    a file ``has_rivals``, processes that may write it at the same time, each has a name of its own.
    Raises OSError where ``path`` is a device or a pipe, before anything is written: root would
    replace /dev/null by a file.
    """
    refuse_special(path)
    own = f".{os.urandom(4).hex()}" if has_rivals else ""
    temporary = path.with_name(f".{path.name}{own}")
    try:
        yield temporary
        sync_to_storage(temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)


def refuse_no_place(path: Path) -> None:
    """Raise OSError where a file ``path`` cannot be written: before the work whose result it would
    have."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    refuse_special(path)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turn a failed write of the command's ``--output`` into a SuiteError that says so."""
    try:
        yield
    except OSError as error:
        raise SuiteError(
            f"{path} could not be written: {error.strerror or error}. Choose another --output."
        ) from error


def refuse_existing(path: Path, force: bool | None = None) -> None:
    """Raise SuiteError for a file, or a folder with something in it, unless ``force`` replaces it;
    None of a command without that option."""
    if not force and (path.is_file() or (path.is_dir() and any(path.iterdir()))):
        remedy = "remove it" if force is None else "replace it with --force"
        raise SuiteError(f"{path} exists", f"{remedy}, or choose another --output")


def refuse_no_folder(path: Path) -> None:
    """Raise OSError where there can be no folder ``path`` to write into: before the work whose
    results it would have. Leaves none behind."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    finally:
        for each in missing:
            with suppress(OSError):
                each.rmdir()


def refuse_output_folder(path: Path) -> None:
    """Raise SuiteError for a folder with something in it, and where none can be made: before the
    work whose results it would have."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise SuiteError(f"{path} exists and is not empty", "choose another --output")
    try:
        refuse_no_folder(path)
    except OSError as error:
        problem = f"{path} cannot be made: {error.strerror or error}"
        raise SuiteError(problem, "choose another --output") from error


def refuse_special(path: Path) -> None:
    """Raise OSError where ``path`` is there and is not a plain file."""
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "a folder, device or pipe has this name", str(path))


def sync_to_storage(path: Path) -> None:
    """Return when a file's bytes, or a folder's names, are on the storage medium."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
