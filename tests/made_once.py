"""Bundles and other folders that tests begin with: each is made once for all workers, and every
test gets a copy of its own.

A copy takes 2 ms, making a bundle 100 to 200 ms. Copies, not hard links: tests edit files in place,
and root may write to read-only files.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

_PLACE: list[Path] = []


def keep_in(folder: Path) -> None:
    """Keep what is made in ``folder``, which all workers share."""
    folder.mkdir(parents=True, exist_ok=True)
    _PLACE[:] = [folder]


def made_once(key: object, path: Path, make: Callable[[Path], object]) -> Path:
    """Put at ``path`` what ``make`` writes into a folder that does not exist; ``key`` says by its
    repr what that is, wherever it stands."""
    if not _PLACE:
        make(path)
        return path
    return Path(shutil.copytree(shared(key, make), path, symlinks=True))


def shared(key: object, make: Callable[[Path], object]) -> Path:
    """What ``make`` writes into a folder that does not exist: all workers read it, and no test may
    change it."""
    kept = _PLACE[0] / hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    if not kept.exists():
        with kept.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                part = kept.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)
                make(part / "made")
                part.rename(kept)
    return kept / "made"
