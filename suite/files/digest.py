"""Digests of files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 2**16
"""Most files are smaller than a mebibyte, whose allocation takes longer than their digest."""


def sha256(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal; reads it in chunks."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


@dataclass(frozen=True)
class FileDigest:
    """A file's name below some folder, its size, and the digests of its content. MD5 is for
    comparison with published values only."""

    name: str
    size_bytes: int
    sha256: str
    md5: str


def file_digest(folder: Path, name: str) -> FileDigest:
    """Size and digests of the file ``name`` below ``folder``; reads it once. Raises OSError."""
    digests, size_bytes = (hashlib.sha256(), hashlib.md5(usedforsecurity=False)), 0
    with (folder / name).open("rb") as stream:
        while chunk := stream.read(2**20):
            size_bytes += len(chunk)
            for digest in digests:
                digest.update(chunk)
    return FileDigest(name, size_bytes, *(digest.hexdigest() for digest in digests))
