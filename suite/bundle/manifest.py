"""The manifest, which seals a bundle: SHA-256 of every file, readable by `sha256sum -c`."""

from collections.abc import Collection
from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.files.digest import sha256
from suite.files.durable import publish


def seal(path: Path, leftovers: Collection[Path] = ()) -> None:
    """Write the manifest over every file of the bundle but ``leftovers``: any later change of a byte is detected."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name != MANIFEST and file not in leftovers]
    lines = [f"{sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in files]
    with publish(path / MANIFEST) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")
