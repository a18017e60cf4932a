"""What went wrong, said once, in a sentence a person can act on."""

from pathlib import Path


class SuiteError(Exception):
    """Something could not be done (exit code 2).

    The message is one sentence or two: what happened, where, and what to type or change next.
    """


class FileError(SuiteError):
    """A file of a bundle is missing or cannot be read; ``path`` names it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}.")
        self.path, self.what = path, what
