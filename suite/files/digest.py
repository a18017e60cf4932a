"""SHA-256 of files."""

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal; reads it in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()
