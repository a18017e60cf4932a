"""The manifest, which seals a bundle: SHA-256 of every file, readable by `sha256sum -c`."""

from collections.abc import Collection
from pathlib import Path

from suite.bundle.layout import MANIFEST, WITHDRAWN, WITNESS
from suite.files.digest import sha256
from suite.files.durable import publish


def seal(path: Path, leftovers: Collection[Path] = ()) -> None:
    """Write the manifest over every file of the bundle but ``leftovers``: any later change of a byte is detected."""
    with publish(path / MANIFEST) as temporary:
        temporary.write_text("".join(f"{digest}  {name}\n" for name, digest in digests(path, leftovers).items()), encoding="utf-8")


def digests(path: Path, leftovers: Collection[Path] = ()) -> dict[str, str]:
    """SHA-256 of every plain file below ``path`` but the manifest and ``leftovers``, by its name there, sorted."""
    plain = (file for file in sorted(path.rglob("*")) if file.is_file() and not file.is_symlink())
    files = [file for file in plain if file.name != MANIFEST and file not in leftovers]
    return {file.relative_to(path).as_posix(): sha256(file) for file in files}


def evidence_digests(path: Path, leftovers: Collection[Path] = ()) -> dict[str, str]:
    """As :func:`digests`, without what is written after a witness has stamped the other files: its own record, and a withdrawal."""
    return {name: digest for name, digest in digests(path, leftovers).items() if name not in (WITNESS, WITHDRAWN)}
