"""How much of the data the kernel holds in memory, and emptying that before a run."""

import ctypes
import enum
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DROP_CACHES = Path("proc/sys/vm/drop_caches")
CHUNK_BYTES = 2**20
COLD = "cold"
_MAP_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True)
class Residency:
    """Bytes of files, and how many of them are in memory; None where the kernel would not tell the truth, with the ``reason``."""

    size_bytes: int
    resident_bytes: int | None
    reason: str | None = None


class DropMethod(str, enum.Enum):
    """How the cache was emptied."""

    WHOLE_MACHINE = "drop_caches"  # root only; other programs' files go too
    PER_FILE = "posix_fadvise"  # the data set's files only


@dataclass(frozen=True)
class CacheDrop:
    """What emptying the cache came to: ``is_cold`` once less than a hundredth of the data is left, None when that cannot be told."""

    method: DropMethod
    before: Residency
    after: Residency
    is_cold: bool | None


def data_files(directory: Path) -> list[Path]:
    """Every plain file below the folder, in a fixed order."""
    return sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def residency(files: Iterable[Path]) -> Residency:
    """How much of the files is in memory now.

    Since Linux 5.2, mincore(2) answers "all of it" for a file that the caller neither owns nor may write: then it is None.
    """
    found = [(path, path.stat()) for path in files]
    size_bytes = sum(status.st_size for _, status in found)
    for path, status in found:
        if os.geteuid() not in (0, status.st_uid) and not os.access(path, os.W_OK):
            return Residency(size_bytes, None, f"{path} is neither this user's nor writable: the kernel does not tell what of it is in memory")
    return Residency(size_bytes, sum(_resident_bytes(path, status.st_size) for path, status in found))


def drop_page_cache(directory: Path, root: Path = Path("/")) -> CacheDrop:
    """Empty the page cache: of the whole machine as root, else of the folder's files, which needs no right but reading them.

    Raises OSError when a file cannot be read. Pages that another program has mapped stay; ``after`` shows it.
    """
    files = data_files(directory)
    before = residency(files)
    os.sync()  # a page that waits to be written stays
    method = DropMethod.WHOLE_MACHINE if _drop_whole_machine(root) else DropMethod.PER_FILE
    if method is DropMethod.PER_FILE:
        for path in files:
            _drop_file(path)
    after = residency(files)
    is_cold = None if after.resident_bytes is None else after.resident_bytes * 100 < after.size_bytes
    return CacheDrop(method, before, after, is_cold)


def fill_page_cache(directory: Path) -> Residency:
    """Read every file of the folder once; the answer says how much of it the kernel then holds: less than all where memory is short.

    Raises OSError when a file cannot be read.
    """
    files = data_files(directory)
    for path in files:
        with path.open("rb", buffering=0) as stream:
            while stream.read(CHUNK_BYTES):
                pass
    return residency(files)


@dataclass(frozen=True)
class CacheState:
    """How a node's page cache was made ready for a run: ``asked`` is cold or warm, ``how`` it was emptied or that the data were read, and what
    of them was in memory then; ``is_cold`` is None when that cannot be told, for ``reason``."""

    asked: str
    is_cold: bool | None
    how: str | None
    size_bytes: int | None
    resident_bytes: int | None
    reason: str | None


def prepare_page_cache(directory: Path, asked: str) -> CacheState:
    """Empty the page cache of the folder ("cold"), so that no run profits from the one before, or fill it ("warm"); never raises."""
    try:
        if asked == COLD:
            drop = drop_page_cache(directory)
            is_cold, how, after = drop.is_cold, drop.method.value, drop.after
        else:
            is_cold, how, after = False, "read", fill_page_cache(directory)
    except OSError as error:  # files that cannot be read are the implementation's to name
        return CacheState(asked, None, None, None, None, str(error))
    return CacheState(asked, is_cold, how, after.size_bytes, after.resident_bytes, after.reason)


def _drop_whole_machine(root: Path) -> bool:
    try:
        (root / DROP_CACHES).write_text("1\n", encoding="ascii")
    except OSError:
        return False
    return True


def _drop_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def _resident_bytes(path: Path, size_bytes: int) -> int:
    """Bytes of the file's pages that are in memory; the last page counts with what the file has of it."""
    if size_bytes == 0:
        return 0
    pages = (ctypes.c_ubyte * -(-size_bytes // mmap.PAGESIZE))()
    _mincore(path, size_bytes, pages)
    last = (pages[len(pages) - 1] & 1) * (size_bytes - (len(pages) - 1) * mmap.PAGESIZE)
    return sum(bytes(pages[:-1]).translate(_LOWEST_BIT)) * mmap.PAGESIZE + last


_LOWEST_BIT = bytes(value & 1 for value in range(256))


def _mincore(path: Path, size_bytes: int, pages: "ctypes.Array[ctypes.c_ubyte]") -> None:
    """mincore(2) over the file, mapped without touching a page."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
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
