"""A rule of folders that hold several bundles and a record about them: what shows when these are
compared."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.bundle.layout import MANIFEST, MAX_MANIFEST_BYTES
from suite.bundle.manifest import digests
from suite.catalog.divisions import Division
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_json
from suite.metrics.json_diff import differences, json_values


@dataclass(frozen=True)
class FolderRule:
    """One rule of the folders of a kind: its text, and its check of a folder."""

    id: str
    sentence: str
    rationale: str
    check: Callable[[Path], Iterable[Violation]]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID


def check_seal(folder: Path, files: Sequence[Path], what: str, fix: str) -> Iterator[Violation]:
    """Check the manifest of a record and of bundles' manifests: it lists these files alone, each
    with its SHA-256. ``what`` names them."""
    lines = _manifest(folder)
    if lines is None:
        yield Violation(MANIFEST, f"the digests of {what}", "no such file", fix)
        return
    names = [file.relative_to(folder).as_posix() for file in files]
    listed = _listed(lines)
    if sorted(listed) != sorted(names) or len(lines) != len(names):
        yield Violation(
            MANIFEST,
            f"one line each for {', '.join(names)}"[:300],
            f"lines for {', '.join(listed)}"[:300],
            fix,
        )
    for number, name in (
        (number, name) for number, name in enumerate(listed, start=1) if name in names
    ):
        file = folder / name
        if file.is_symlink() or not file.is_file():
            yield Violation(MANIFEST, f"the file {name}", "no such file", fix, number)
        elif sha256(file) != listed[name]:
            yield Violation(
                name, "content that fits its SHA-256 in the manifest", "other content", fix
            )


def check_whole_seal(folder: Path, fix: str) -> Iterator[Violation]:
    """Check a manifest of all files: it lists every one, and no other, each with its SHA-256."""
    lines = _manifest(folder)
    if lines is None:
        yield Violation(MANIFEST, "the SHA-256 of every file", "no such file", fix)
        return
    listed, found = _listed(lines), digests(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            yield Violation(name[:200], "the file that the manifest lists", "no such file", fix)
        elif name not in listed:
            yield Violation(name, "no file that the manifest does not list", "such a file", fix)
        elif listed[name] != found[name]:
            yield Violation(
                name, "content that fits its SHA-256 in the manifest", "other content", fix
            )


def _manifest(folder: Path) -> list[str] | None:
    """The manifest's lines; None where the path has no plain file of a manifest's size."""
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
        return None
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _listed(lines: Sequence[str]) -> dict[str, str]:
    """The digest of every listed name."""
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def check_figures(
    folder: Path, record: str, compute: Callable[[Path], Mapping[str, Any]], fix: str
) -> Iterator[Violation]:
    """Compute a record of figures from the folder's raw records again and compare them."""
    try:
        written = read_json(folder / record)
        computed = compute(folder)
    except (SuiteError, OSError) as error:
        yield Violation(
            record,
            "figures, and records that they can be computed from",
            str(error).replace(f"{folder}/", "")[:300],
            fix,
        )
        return
    yield from compare_record(record, computed, written, "the records", fix)


def compare_record(
    record: str, computed: Any, written: Any, source: str, fix: str
) -> Iterator[Violation]:
    """Compare a record with what was recomputed from its ``source``, to 1e-9 relative."""
    for name, (expected, found) in differences(json_values(computed), json_values(written)):
        yield Violation(
            record, f"{name} as recomputed from {source}: {expected}"[:300], f"{found}"[:200], fix
        )
