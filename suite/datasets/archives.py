"""Data sets that are published as one archive: verifies its checksum and unpacks the expected files
only."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from suite.catalog.data_sets import Archive, DataFile
from suite.errors import SuiteError
from suite.files.digest import sha256


def problem_with(path: Path, archive: Archive) -> str | None:
    """Why this file is not the published archive; None when it is."""
    found = sha256(path)
    return (
        None
        if found == archive.sha256
        else f"{path} has SHA-256 {found}, expected {archive.sha256}"
    )


def unpack(path: Path, folder: Path, files: Sequence[DataFile]) -> None:
    """Unpack the expected files, each by its full name and size; other members are ignored."""
    try:
        with tarfile.open(path) as archive:
            for file in files:
                member = archive.getmember(file.name)
                stream = (
                    archive.extractfile(member)
                    if member.isfile() and member.size == file.size_bytes
                    else None
                )
                if stream is None:
                    raise SuiteError(
                        f"{path} contains {file.name} with {member.size} bytes, expected a file of"
                        f" {file.size_bytes}; get the archive again."
                    )
                target = folder / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with stream, target.open("wb") as out:
                    while chunk := stream.read(2**20):
                        out.write(chunk)
    except KeyError as error:
        raise SuiteError(
            f"{path} does not contain {error.args[0]}; get the archive again."
        ) from error
    except (tarfile.TarError, EOFError) as error:
        raise SuiteError(f"{path} is not a complete archive ({error}); get it again.") from error
