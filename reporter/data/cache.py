"""Cache of parsed bundles, keyed by the SHA-256 digest of their files and of the code."""

import hashlib
import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import msgspec

import suite
from reporter.data.bundle_rows import BundleRows
from suite.catalog.extensions import extensions
from suite.compliance.checker import BundleVerdict
from suite.compliance.finding import Finding, Severity
from suite.files.digest import sha256
from suite.files.paths import repository_root, suite_home

LIBRARIES = ("numpy", "pandas", "pyarrow")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS bundles (digest TEXT PRIMARY KEY, code TEXT NOT NULL, rows BLOB NOT"
    " NULL) WITHOUT ROWID"
)


def digest_of_bundle(path: Path, sha256: Callable[[Path], str] = sha256) -> str | None:
    """SHA-256 over the names and contents (by their own ``sha256``) of all files in the folder;
    None if one cannot be read. A link is hashed by name and not followed."""
    digest = hashlib.sha256()
    try:
        for name, entry in _entries(path, ""):
            content = "link" if entry.is_symlink() else sha256(Path(entry.path))
            digest.update(json.dumps([name, content]).encode())
    except OSError:
        return None
    return digest.hexdigest()


def _entries(folder: str | Path, above: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files and links below a folder, each with its name below the first one, in order."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, f"{above}{entry.name}/")
        elif entry.is_symlink() or entry.is_file():
            yield f"{above}{entry.name}", entry


@lru_cache(maxsize=1)
def digest_of_code() -> str:
    """SHA-256 over the files of the suite and its extensions, the rulebook, and the versions of
    Python and of the numerical libraries."""
    digest = hashlib.sha256(
        json.dumps([sys.version, *(version(name) for name in LIBRARIES)]).encode()
    )
    packages, root = Path(suite.__file__).parent.parent, repository_root()
    for folder in (
        packages / "reporter",
        packages / "suite",
        root / "rules",
        root / "reference_impls",
        *(Path(each.folder) for each in extensions()),
    ):
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(
                    file.relative_to(folder.parent).as_posix().encode() + file.read_bytes()
                )
    return digest.hexdigest()


def path() -> Path:
    """The cache file, in the suite's home folder."""
    return suite_home() / "report-cache.sqlite"


def cache_exists() -> bool:
    """Whether there is a cache file; without one no digest needs to be computed."""
    return path().is_file()


def cached_rows(digests: Iterable[str | None]) -> dict[str | None, BundleRows]:
    """The cached rows of bundles with these digests; empty if the cache file is missing or
    damaged."""
    if not cache_exists():
        return {}
    found: dict[str | None, BundleRows] = {}
    try:
        with closing(sqlite3.connect(path(), timeout=10)) as store:
            for digest in digests:
                row = store.execute(
                    "SELECT rows FROM bundles WHERE digest = ? AND code = ?",
                    (digest, digest_of_code()),
                ).fetchone()
                # infinity and half a surrogate pair are in no JSON that msgspec reads
                with suppress(zlib.error, ValueError, KeyError, TypeError):
                    if row is not None:
                        found[digest] = _unpacked(row[0])
    except sqlite3.Error:
        return {}
    return found


def store_rows(rows: Mapping[str, BundleRows]) -> None:
    """Store rows by their bundles' digests and drop those of other code. A cache that cannot be
    written is removed; nothing is raised."""
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path(), timeout=10)) as store, store:
            store.execute(_TABLE)
            store.execute("DELETE FROM bundles WHERE code <> ?", (digest_of_code(),))
            packed = [(digest, digest_of_code(), _packed(one)) for digest, one in rows.items()]
            store.executemany("INSERT OR REPLACE INTO bundles VALUES (?, ?, ?)", packed)
    except (sqlite3.DatabaseError, OSError):
        with suppress(OSError):  # a read-only home
            path().unlink(missing_ok=True)


def _packed(rows: BundleRows) -> bytes:
    findings = [asdict(finding) for finding in rows.verdict.findings]
    judged_by = [rows.verdict.round, rows.verdict.division, rows.verdict.witnessed_by]
    values = [
        rows.run,
        rows.figures,
        rows.epochs,
        judged_by,
        findings,
        rows.is_generated,
        rows.is_studied,
    ]
    return zlib.compress(json.dumps(values).encode(), 1)


def _unpacked(packed: bytes) -> BundleRows:
    values = msgspec.json.decode(zlib.decompress(packed))
    run, figures, epochs, judged_by, findings, *flags = values
    found = tuple(
        Finding(**{**finding, "severity": Severity(finding["severity"])}) for finding in findings
    )
    name, division, witnessed_by = judged_by
    return BundleRows(
        run, figures, epochs, BundleVerdict(Path(), name, division, found, witnessed_by), *flags
    )
