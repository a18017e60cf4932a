"""Who may set power modes: refuses what this user may not change, with the command for root."""

import os
from collections.abc import Iterable
from pathlib import Path

from suite.errors import SuiteError
from suite.files.shell_command import with_sudo


def refuse_without_access(root: Path, files: Iterable[str], programs: Iterable[str]) -> None:
    """Raise SuiteError unless every file can be written and every program called; the message has
    the command to type."""
    closed = next((file for file in files if not os.access(root / file, os.W_OK)), None)
    if closed is not None and os.geteuid() == 0:
        raise SuiteError(
            f"/{closed} cannot be written, not even by root: it is on a file system that is"
            " read-only, as in a container."
        )
    if closed is not None:
        raise SuiteError(f"Only root may write /{closed}; type: {with_sudo()}")
    program = next(iter(programs), None)
    if program is not None and os.geteuid() != 0 and root == Path("/"):
        raise SuiteError(f"Only root may call /{program}; type: {with_sudo()}")
