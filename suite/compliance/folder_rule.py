"""A rule of folders that hold several bundles and a record about them: what shows when these are compared."""

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.layout import MANIFEST, MAX_MANIFEST_BYTES
from suite.bundle.manifest import digests
from suite.catalog.divisions import Division
from suite.compliance.faults.fault import Fault
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation
from suite.files.digest import sha256


class FolderKind(str, enum.Enum):
    """What a folder holds, in words."""

    STALLS = "stall analysis"
    BESIDE = "training beside inference"
    REPLICATION = "replication"
    VIEWPOINT = "student and teacher"


@dataclass(frozen=True)
class FolderRule:
    """One rule: the kind of folders that it is about, its text, its check of a folder, and the faults that prove the check."""

    kind: FolderKind
    id: str
    sentence: str
    rationale: str
    check: Callable[[Path], Iterable[Violation]]
    faults: tuple[Fault, ...]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID


def check_seal(folder: Path, files: Sequence[Path], what: str, fix: str) -> Iterator[Violation]:
    """Check the manifest of a record and of bundles' manifests: it lists these files alone, each with its SHA-256. ``what`` names them."""
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
        yield Violation(MANIFEST, f"the digests of {what}", "no such file", fix)
        return
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    names = [file.relative_to(folder).as_posix() for file in files]
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if sorted(listed) != sorted(names) or len(lines) != len(names):
        yield Violation(MANIFEST, f"one line each for {', '.join(names)}"[:300], f"lines for {', '.join(listed)}"[:300], fix)
    for number, name in ((number, name) for number, name in enumerate(listed, start=1) if name in names):
        file = folder / name
        if file.is_symlink() or not file.is_file():
            yield Violation(MANIFEST, f"the file {name}", "no such file", fix, number)
        elif sha256(file) != listed[name]:
            yield Violation(name, "content that fits its SHA-256 in the manifest", "other content", fix)


def check_whole_seal(folder: Path, fix: str) -> Iterator[Violation]:
    """Check a manifest of all files: it lists every one, and no other, each with its SHA-256."""
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
        yield Violation(MANIFEST, "the SHA-256 of every file", "no such file", fix)
        return
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = digests(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            yield Violation(name[:200], "the file that the manifest lists", "no such file", fix)
        elif name not in listed:
            yield Violation(name, "no file that the manifest does not list", "such a file", fix)
        elif listed[name] != found[name]:
            yield Violation(name, "content that fits its SHA-256 in the manifest", "other content", fix)
