"""The seals of what is more than one bundle, or none: a manifest over files of its own folder."""

from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.errors import SuiteError
from suite.files.digest import sha256


def refuse_broken_seal(folder: Path, sealed: str) -> None:
    """Raises SuiteError unless the folder's manifest names the file ``sealed``, and every file that it names is as it was then."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{folder} has no seal ({MANIFEST}); make it again.") from error
    named = set()
    for line in lines:
        digest, _, name = line.partition("  ")
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file() or sha256(file) != digest:
            raise SuiteError(f"{name} is not what was sealed; make it again.")
        named.add(name)
    if sealed not in named:
        raise SuiteError(f"the seal ({MANIFEST}) does not name {sealed}; make it again.")
