"""The manifest, which seals a bundle: SHA-256 of every file, readable by `sha256sum -c`."""

from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.files.digest import sha256


def seal(path: Path) -> None:
    """Write the manifest over every file of the bundle: any later change of a byte is detected."""
    lines = [f"{sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in sorted(path.rglob("*")) if file.is_file() and file.name != MANIFEST]
    temporary = path / f".{MANIFEST}"
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(path / MANIFEST)
