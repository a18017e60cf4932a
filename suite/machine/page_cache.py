"""The page cache: how much of the data set is in memory, and emptying or filling it before a
run."""

import ctypes
import enum
import mmap
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

DROP_CACHES = Path("proc/sys/vm/drop_caches")
CHUNK_BYTES = 2**20
COLD = "cold"
_MAP_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True)
class Residency:
    """Size of files and how much of it is in memory; None, with the ``reason``, where the kernel
    does not report it."""

    size_bytes: int
    resident_bytes: int | None
    reason: str | None = None

    @property
    def is_cold(self) -> bool | None:
        """Whether less than 1 % is in memory; None where that is unknown."""
        return None if self.resident_bytes is None else self.resident_bytes * 100 < self.size_bytes


class DropMethod(str, enum.Enum):
    """How the page cache was emptied."""

    WHOLE_MACHINE = "drop_caches"  # root only; drops other programs' files too
    PER_FILE = "posix_fadvise"  # the data set's files only


def data_files(directory: Path, listed: Sequence[str] = ()) -> list[Path]:
    """The plain files that are listed, or without a list all below the folder, in a fixed order."""
    found = map(Path, listed or directory.rglob("*"))
    return sorted(path for path in found if not path.is_symlink() and path.is_file())


def residency(files: Iterable[Path]) -> Residency:
    """Size of the files and how much of it is in memory now.

    Since Linux 5.2, mincore(2) reports every page as resident of a file that the caller neither
    owns nor may write: then it is None.
    """
    found = [(path, path.stat()) for path in files]
    size_bytes = sum(status.st_size for _, status in found)
    for path, status in found:
        if os.geteuid() not in (0, status.st_uid) and not os.access(path, os.W_OK):
            return Residency(
                size_bytes,
                None,
                f"{path} is neither owned nor writable by this user, so the kernel does not"
                " report how much of it is in memory",
            )
    return Residency(
        size_bytes, sum(_resident_bytes(path, status.st_size) for path, status in found)
    )


def drop_page_cache(files: Sequence[Path], root: Path = Path("/")) -> tuple[DropMethod, Residency]:
    """Empty the page cache: of the whole machine as root, else of the files, which needs only read
    permission; returns how, and what is in memory afterwards.

    Raises OSError when a file cannot be read. Pages that another program has mapped stay.
    """
    os.sync()  # dirty pages are not dropped
    method = DropMethod.WHOLE_MACHINE
    try:
        (root / DROP_CACHES).write_text("1\n", encoding="ascii")
    except OSError:
        method = DropMethod.PER_FILE
        for path in files:
            with path.open("rb") as stream:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return method, residency(files)


def fill_page_cache(files: Sequence[Path]) -> Residency:
    """Read every file once; returns how much is then in memory: less than all where memory is
    short.

    Raises OSError when a file cannot be read.
    """
    for path in files:
        with path.open("rb", buffering=0) as stream:
            while stream.read(CHUNK_BYTES):
                pass
    return residency(files)


@dataclass(frozen=True)
class CacheState:
    """A node's page cache at the start of a run: ``asked`` is cold or warm, ``how`` the method,
    ``resident_bytes`` what was in memory then.

    ``is_cold`` is None when that is unknown, for ``reason``.
    """

    asked: str
    is_cold: bool | None
    how: str | None
    size_bytes: int | None
    resident_bytes: int | None
    reason: str | None


def prepare_page_cache(directory: Path, asked: str, listed: Sequence[str] = ()) -> CacheState:
    """Empty the page cache of the data_files ("cold"), so that no run profits from an earlier one,
    or fill it ("warm"); never raises."""
    try:
        files = data_files(directory, listed)
        if asked == COLD:
            method, after = drop_page_cache(files)
            is_cold, how = after.is_cold, method.value
        else:
            is_cold, how, after = False, "read", fill_page_cache(files)
    except OSError as error:  # the implementation reports files that cannot be read
        return CacheState(asked, None, None, None, None, str(error))
    return CacheState(asked, is_cold, how, after.size_bytes, after.resident_bytes, after.reason)


def _resident_bytes(path: Path, size_bytes: int) -> int:
    """Bytes of the file that are in memory; the last page counts with the part that the file
    fills."""
    if size_bytes == 0:
        return 0
    pages = (ctypes.c_ubyte * -(-size_bytes // mmap.PAGESIZE))()
    _mincore(path, size_bytes, pages)
    last = (pages[len(pages) - 1] & 1) * (size_bytes - (len(pages) - 1) * mmap.PAGESIZE)
    return sum(bytes(pages[:-1]).translate(_LOWEST_BIT)) * mmap.PAGESIZE + last


_LOWEST_BIT = bytes(value & 1 for value in range(256))


def _mincore(path: Path, size_bytes: int, pages: "ctypes.Array[ctypes.c_ubyte]") -> None:
    """mincore(2) over the file, which is mapped without reading a page."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        address = libc.mmap(None, size_bytes, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
    finally:
        os.close(handle)
    if address == _MAP_FAILED:
        raise _error(path)
    try:
        if libc.mincore(address, size_bytes, pages) != 0:
            raise _error(path)
    finally:
        libc.munmap(address, size_bytes)


def _error(path: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(path))
