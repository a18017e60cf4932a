"""The manifest, which seals a bundle: SHA-256 of every file, readable by `sha256sum -c`."""

from collections.abc import Collection, Iterable
from pathlib import Path

from suite.bundle.attached import BEFORE, CHANGED, KEPT
from suite.bundle.layout import MANIFEST, RUN, WITHDRAWN, WITNESS
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.durable import publish
from suite.files.tree import paths_below


def seal(path: Path, leftovers: Collection[Path] = ()) -> None:
    """Write the manifest over every file of the bundle but ``leftovers``: any later change of a
    byte is detected."""
    with publish(path / MANIFEST) as temporary:
        temporary.write_text(
            "".join(
                f"{digest}  {name}\n" for name, digest in file_digests(path, leftovers).items()
            ),
            encoding="utf-8",
        )


def seal_files(directory: Path, files: Iterable[Path]) -> None:
    """Write a manifest of these files alone, as of a folder with a record about several sealed
    bundles."""
    lines = "".join(f"{sha256(file)}  {file.relative_to(directory).as_posix()}\n" for file in files)
    (directory / MANIFEST).write_text(lines, encoding="utf-8")


def refuse_inside_run(output: Path) -> None:
    """Raise SuiteError for a place in a run directory: what a command writes there would replace a
    record, or break the seal."""
    run = next((folder for folder in output.resolve().parents if (folder / RUN).is_file()), None)
    if run is not None:
        raise SuiteError(
            f"{output} is in the run directory {run}, which holds only the run's records; choose "
            "another --output."
        )


def file_digests(path: Path, leftovers: Collection[Path] = ()) -> dict[str, str]:
    """SHA-256 of every plain file below ``path`` but the manifest and ``leftovers``, by its name
    there, sorted."""
    return {name: sha256(file) for name, file in _files(path).items() if file not in leftovers}


def evidence_files(path: Path) -> dict[str, Path]:
    """The files by name, without those that are written after a witness has stamped the others: its
    own record, a withdrawal, an attached trace.

    Of files that attaching a trace or leaving a meter out changed, those from before: the rule
    `attached-trace` compares both.
    """
    files = {
        name: file for name, file in _files(path).items() if name not in (WITNESS, WITHDRAWN, KEPT)
    }
    before = {
        name: file
        for name, kept in CHANGED.items()
        if (file := files.pop(f"{BEFORE}/{kept}", None)) is not None
    }
    return {**files, **before}


def evidence_digests(path: Path, leftovers: Collection[Path] = ()) -> dict[str, str]:
    """SHA-256 of these files, without ``leftovers``: what a witness stamps when the bundle is
    closed."""
    return {
        name: sha256(file) for name, file in evidence_files(path).items() if file not in leftovers
    }


def _files(path: Path) -> dict[str, Path]:
    plain = (file for file in paths_below(path) if not file.is_symlink() and file.is_file())
    return {file.relative_to(path).as_posix(): file for file in plain if file.name != MANIFEST}
