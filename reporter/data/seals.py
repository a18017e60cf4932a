"""Seals of studies and LINPACK records: a manifest over files of their folder."""

from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.errors import SuiteError
from suite.files.digest import sha256


def refuse_broken_seal(folder: Path, sealed: str) -> None:
    """Raises SuiteError unless the folder's manifest lists the file ``sealed`` and every listed
    file matches its checksum."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{folder} has no seal ({MANIFEST}); make it again.") from error
    listed = set()
    for line in lines:
        digest, _, name = line.partition("  ")
        file = folder / name
        if (
            not file.resolve().is_relative_to(folder.resolve())
            or not file.is_file()
            or sha256(file) != digest
        ):
            raise SuiteError(f"{name} was changed after it was sealed; make it again.")
        listed.add(name)
    if sealed not in listed:
        raise SuiteError(f"the seal ({MANIFEST}) does not list {sealed}; make it again.")
