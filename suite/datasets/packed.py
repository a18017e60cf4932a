"""Unpacks files of a known size out of gzip and archives, which may be damaged or hostile: a bomb
does not fill the disk, and no name in an archive leads out of the folder."""

import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from suite.errors import SuiteError

_DAMAGES = (
    *(EOFError, RuntimeError, ValueError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(tarfile.TarError, zipfile.BadZipFile),
)


def unpack(source: Path, target: Path, size_bytes: int) -> None:
    """Copy, decompressing gzip; reads at most one byte more than expected."""
    try:
        with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as incoming:
            _copy(incoming, target, size_bytes)
    except _DAMAGES as error:
        raise SuiteError(
            f"{source} is not a complete gzip file ({error}); expected {size_bytes} bytes of"
            " content. Get the file again."
        ) from error
    except PermissionError as error:
        raise SuiteError(
            f"{error.filename} cannot be read or written: {error.strerror}."
        ) from error


def unpack_members(path: Path, folder: Path, sizes: Mapping[str, int]) -> None:
    """Write the members of a .zip or .tar.gz whose names are in ``sizes``, which has the expected
    bytes of each, into one folder."""
    try:
        for name, content in _members(path):
            if name in sizes:
                _copy(content, folder / name, sizes[name])
    except _DAMAGES as error:
        raise SuiteError(
            f"{path} is not a whole .zip or .tar.gz archive ({error}); get it again, or give"
            " the folder of the files."
        ) from error


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The plain files of an archive, without the folders in their names."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir():
                    yield PurePosixPath(entry.filename).name, zipped.open(entry)
        return
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if member.isfile() and (content := archive.extractfile(member)):
                yield PurePosixPath(member.name).name, content


def _copy(incoming: "IO[bytes] | gzip.GzipFile", target: Path, size_bytes: int) -> None:
    left = size_bytes + 1
    with target.open("wb") as outgoing:
        while left and (chunk := incoming.read(min(left, 2**20))):
            outgoing.write(chunk)
            left -= len(chunk)
