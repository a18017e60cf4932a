"""Errors that reach the user: one sentence each."""

from pathlib import Path

COULD_NOT = 2
"""The exit code of a command that could not do what was asked."""


class SuiteError(Exception):
    """Something could not be done (exit code 2).

    The message is one sentence or two: what happened, where, and what to type or change next.
    ``problem`` is the message without ``remedy``, the second part, where it was given apart.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}; {remedy}." if remedy else problem)
        self.problem = problem


class Reported(SuiteError):
    """Something could not be done, and with --json the object that was printed says so."""


class Interrupted(KeyboardInterrupt):
    """A run was interrupted; its directory keeps every finished epoch. The message says where."""


class InterruptedAfterEnd(Interrupted):
    """A run was interrupted after its training had ended: there is nothing to run again. The
    message says where the run is."""


class FileError(SuiteError):
    """A file is missing or malformed; ``path`` names it, ``what`` completes the sentence "<path>
    …"."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}.")
        self.path, self.what = path, what
