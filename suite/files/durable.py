"""Files that survive a power cut: written beside their place, on the storage medium before they have their name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def publish(path: Path) -> Iterator[Path]:
    """A temporary file to write in the block; after it, the file replaces ``path`` at once. When the block raises, ``path`` stays as it was.

    The temporary file has one name, so that a killed writer's is replaced by the next one's.
    """
    temporary = path.with_name(f".{path.name}")
    try:
        yield temporary
        sync(temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)


def sync(path: Path) -> None:
    """Return when a file's bytes, or a folder's names, are on the storage medium."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
