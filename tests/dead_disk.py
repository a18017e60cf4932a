"""A process that dies at its n-th change of a folder: from then on, no change of that folder
succeeds, not even by a handler of the error."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CHANGES = (
    "os.rename",
    "os.remove",
    "os.truncate",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.link",
    "os.symlink",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Killed(BaseException):
    """The process would be dead now."""


class DeadDisk:
    """Counts the changes of files below a folder, by Python's audit events; one hook per test
    session, which cannot be removed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self.changes: list[str] = []
        self._last = 0
        sys.addaudithook(self._audit)

    @contextmanager
    def after(self, changes: int, folder: Path) -> Iterator[None]:
        """Inside, the first ``changes`` changes of ``folder`` succeed; every later one raises
        Killed."""
        self._folder, self._last = folder, changes
        self.changes = []
        try:
            yield
        finally:
            self._folder = None

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._folder is None or not isinstance(
            arguments[0] if arguments else None, str | bytes | os.PathLike
        ):
            return
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if not (opens or event in _CHANGES) or not Path(os.fsdecode(arguments[0])).is_relative_to(
            self._folder
        ):
            return
        if len(self.changes) >= self._last:
            raise Killed
        self.changes.append(f"{event} {Path(os.fsdecode(arguments[0])).name}")
