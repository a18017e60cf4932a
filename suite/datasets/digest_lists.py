"""Digest lists: SHA-256 and name of every picture of a data set, in the format of ``sha256sum``,
sorted by name.

A list pins pictures that have no published archive: ``rules/datasets/<name>.sha256``, made by
``python -m tools.pin_pictures``. The names are relative to the data set's folder; those below
``train/`` and ``test/`` are written as ``images/``, so that both arrangements have one list.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suite.errors import FileError, SuiteError
from suite.files.canonical import sha256_of_lines
from suite.files.digest import sha256

CANONICAL_FOLDER = "images"
MADE_LIST = "pictures.sha256"
"""The list of pictures that were made, in their data set's folder."""
MAX_LIST_BYTES = 64 * 2**20
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>images/[A-Za-z0-9_-]{1,100}\.jpg)")


@dataclass(frozen=True)
class ListDifference:
    """How pictures differ from a digest list: names that are missing, and names whose content is
    another."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]


def lines_of(pictures: Mapping[str, Path]) -> tuple[str, ...]:
    """One line for each of these pictures that is there, links left out, sorted by name; reads
    every one. Raises OSError."""
    found = _plain_files(pictures)
    return tuple(f"{sha256(found[name])}  {name}" for name in sorted(found))


def decoded_lines_of(pictures: Mapping[str, Path]) -> tuple[str, ...]:
    """The same with the SHA-256 of each picture's RGB pixels; decodes every picture. Raises
    SuiteError for one that is damaged."""
    from PIL import Image  # start-up: loads Pillow

    lines = []
    for name, path in sorted(_plain_files(pictures).items()):
        with naming_damage(path), Image.open(path) as image:
            pixels = image.convert("RGB").tobytes()
        lines.append(f"{hashlib.sha256(pixels).hexdigest()}  {name}")
    return tuple(lines)


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a picture is decoded into a SuiteError that names it."""
    from PIL import Image  # start-up: loads Pillow

    try:
        yield
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise SuiteError(f"{path} is damaged: {error}", "get the image again") from error


def _plain_files(pictures: Mapping[str, Path]) -> Mapping[str, Path]:
    return {
        name: path for name, path in pictures.items() if path.is_file() and not path.is_symlink()
    }


def digest_of_list(lines: Iterable[str]) -> str:
    """SHA-256 over the lines, each with its line end: what a definition pins."""
    return sha256_of_lines(*lines)


def read_list(path: Path) -> tuple[str, ...]:
    """The lines of a list. Raises FileError for a file that is missing, too large, not sorted, or
    not such a list."""
    if not path.is_file():
        raise FileError(path, "is missing")
    if path.stat().st_size > MAX_LIST_BYTES:
        raise FileError(path, f"is larger than {MAX_LIST_BYTES} bytes")
    lines = tuple(path.read_text(encoding="utf-8", errors="replace").splitlines())
    names = []
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise FileError(path, f"line {number} must be a digest, two spaces and images/<id>.jpg")
        names.append(found["name"])
    if names != sorted(set(names)):
        raise FileError(path, "is not sorted by name, or has a name twice")
    return lines


def compare_list(
    listed: Sequence[str], found: Sequence[str], wanted: Iterable[str]
) -> ListDifference:
    """Compare the pictures ``wanted`` (names as in a list) with the list: those that are not found,
    and those with another digest.

    A picture that the list itself lacks counts as changed: nothing proves it.
    """
    pinned, present = _by_name(listed), _by_name(found)
    names = sorted(set(wanted))
    missing = tuple(name for name in names if name not in present)
    return ListDifference(
        missing,
        tuple(name for name in names if name in present and pinned.get(name) != present[name]),
    )


def name_in_line(line: str) -> str:
    """The picture's name in a line of a list."""
    return line[66:]


def _by_name(lines: Sequence[str]) -> Mapping[str, str]:
    return {name_in_line(line): line[:64] for line in lines}
