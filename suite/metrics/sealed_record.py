"""Sealed records: a folder with bundles or raw records, one JSON file of what follows from them,
and a manifest over both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from suite.bundle.layout import MANIFEST, MAX_MANIFEST_BYTES
from suite.bundle.manifest import file_digests, seal, seal_files
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.json_file import plain_values, read_json, write_json
from suite.metrics.json_diff import json_differences


class Broken(NamedTuple):
    """Where a seal does not hold: what the file should be, and what it is."""

    file: str
    expected: str
    observed: str


@dataclass(frozen=True)
class SealedRecord:
    """How the records of one kind lie in their folders.

    ``file`` is the JSON file's name; ``parts`` are the files that the manifest lists, None: every
    file of the folder. ``compute`` makes the file's values again from the others, None where
    nothing but the file was kept. ``again`` says how the record is made again.
    """

    file: str
    again: str
    parts: Callable[[Path], Sequence[Path]] | None = None
    compute: Callable[[Path], object] | None = None

    def write(self, folder: Path, values: object) -> Path:
        """Write the file, of a dataclass or plain values, and the manifest; returns the file."""
        path = folder / self.file
        write_json(path, values)
        self.seal(folder)
        return path

    def seal(self, folder: Path) -> None:
        """Write the manifest."""
        if self.parts is None:
            seal(folder)
        else:
            seal_files(folder, self.parts(folder))

    def broken(self, folder: Path) -> Iterator[Broken]:
        """Where the manifest and the files disagree; untrusted files are read within bounds."""
        path = folder / MANIFEST
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
            yield Broken(MANIFEST, "the SHA-256 of every file", "no such file")
            return
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        found = self._digests(folder)
        if len(listed) != len(lines):
            yield Broken(MANIFEST, "one line for each file", "several lines for one file")
        for name in sorted({*listed, *found}):
            if name not in found:
                yield Broken(
                    name[:200],
                    f"only files of the record in {MANIFEST}",
                    "a line for a file that the record does not have",
                )
            elif name not in listed:
                yield Broken(name, f"a line in {MANIFEST}", "none")
            elif found[name] is None:
                yield Broken(name, "the file that the manifest lists", "no such file")
            elif listed[name] != found[name]:
                yield Broken(name, "content that matches its SHA-256", "other content")

    def _digests(self, folder: Path) -> Mapping[str, str | None]:
        """Of each part; None: it is not a plain file."""
        if self.parts is None:
            return file_digests(folder)
        return {
            part.relative_to(folder).as_posix(): (
                sha256(part) if part.is_file() and not part.is_symlink() else None
            )
            for part in self.parts(folder)
        }

    def differences(
        self, folder: Path, tolerance: float = 1e-9
    ) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """Values of the file that do not follow from the other files: name, what follows, what the
        file says. Raises SuiteError where they cannot be read."""
        assert self.compute is not None, self.file
        written = read_json(folder / self.file)
        computed = plain_values(self.compute(folder))
        return json_differences(computed, written, tolerance=tolerance)

    def refuse_broken(self, folder: Path) -> None:
        """Raise SuiteError, a sentence for a page, where the seal does not hold."""
        for name, expected, observed in self.broken(folder):
            raise SuiteError(
                f"{folder.name}/{name} is not as it was sealed (expected {expected}, found"
                f" {observed}); {self.again}."
            )
