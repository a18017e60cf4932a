"""SSH keys of this process, for faults that need a signature that fits."""

import tempfile
from functools import cache
from pathlib import Path

from suite.files.signature import make_key


@cache
def signing_key() -> Path:
    """An Ed25519 key that no rulebook knows; it is removed when the process ends."""
    path = Path(_folder().name) / "key"
    make_key(path, "faults")
    return path


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="signing-key-")
