"""Disclosures: texts in the files of a run directory or a submission that name a person or a
network (suite.files.redaction)."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from suite.bundle.layout import STEPS
from suite.errors import FileError
from suite.files.json_file import read_json
from suite.files.name_forms import Name, find_known, find_names, has_form

MAX_LINE_BYTES = 2**16
"""Longer lines are read in pieces, which overlap by OVERLAP_BYTES."""
OVERLAP_BYTES = 2**10
MAX_UNPACKED_BYTES = 256 * 2**20
MAX_WHOLE_BYTES = 16 * 2**20
"""Longer files are searched by lines or keys only."""
SHORT = 120
"""Longest text whose search is cached, characters."""
MAX_OF_FILE = 20
"""Disclosures that are reported of one file."""
VERSIONS = "libraries"
"""Key of an object whose texts are versions."""
TOKEN = "token"
"""Key of a witness's signed statement, which has a serial number of its own."""
SAID_BY_KEY = ("hostname", "host_name", "serial", "serial_number")
"""Keys whose texts are names, whatever they look like."""
_TABLE, _PACKED, _JSON = ".parquet", ".gz", ".json"


@dataclass(frozen=True)
class Disclosure:
    """What names somebody: ``file`` relative to the folder, ``where`` in it (a key or a line), its
    ``kind``, and the ``text``."""

    file: str
    where: str
    kind: str
    text: str
    line: int | None = None

    @property
    def shortened(self) -> str:
        """The beginning of it: enough to find it, not enough to publish it again."""
        return f"{self.text[:4]}…"


def find_disclosures(
    folder: Path, files: Sequence[Path], names: Sequence[str] = ()
) -> Iterator[Disclosure]:
    """The disclosures in these files, and in their names; ``names`` are further names to look for.
    Links are not followed."""
    for path in files:
        name = path.relative_to(folder).as_posix()
        for found in _search(name, tuple(names), False):
            yield Disclosure(name, "its name", found.kind, found.text)
        if not path.is_symlink() and path.is_file():
            yield from islice(_of_file(path, name, names), MAX_OF_FILE)


def _of_file(path: Path, name: str, names: Sequence[str]) -> Iterator[Disclosure]:
    if not names and path.suffix not in (_TABLE, _PACKED) and _tells_nothing(path):
        return
    seen: set[tuple[str, str]] = set()
    for where, line, text, has_versions in _texts(path):
        for found in _search(text, tuple(names), has_versions):
            if (where, found.text) not in seen:
                seen.add((where, found.text))
                yield Disclosure(name, where, found.kind, found.text, line)


def _tells_nothing(path: Path) -> bool:
    """Whether nothing in a text file has the form of a name, nor stands under a key that says so: a
    fraction of the time of a search by lines or keys, which most files do not need."""
    if path.stat().st_size > MAX_WHOLE_BYTES:
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == _JSON:
        lower = text.lower()
        if "\\" in text or any(key in lower for key in SAID_BY_KEY):
            return False
    return not has_form(text)


def _search(text: str, names: tuple[str, ...], has_versions: bool) -> tuple[Name, ...]:
    return (_search_once if len(text) <= SHORT else _search_text)(text, names, has_versions)


def _search_text(text: str, names: tuple[str, ...], has_versions: bool) -> tuple[Name, ...]:
    by_form = find_names(text, has_versions=has_versions)
    return (*by_form, *find_known(text, names))


_search_once = lru_cache(maxsize=16384)(_search_text)
"""Keys, units and settings are the same in thousands of places: each is searched once."""


def _texts(path: Path) -> Iterator[tuple[str, int | None, str, bool]]:
    """The texts of a file: where each is, its line, the text, and whether its numbers with dots are
    versions."""
    if path.suffix == _TABLE:
        for where, text in _texts_of_table(path):
            yield where, None, text, False
        return
    if path.suffix == _JSON:
        try:
            values = read_json(path)
        except FileError:  # another rule reports it; its text is read as lines
            pass
        else:
            for key, text in _texts_of_json(values):
                yield key, None, text, VERSIONS in key.split(".")
            return
    for number, text in _lines(path):
        yield f"line {number}", number, text, False


def _texts_of_json(values: Any) -> Iterator[tuple[str, str]]:
    """Every text in JSON values with its key, dotted. A text under ``hostname`` or ``serial`` is
    preceded by that word, which says what it is."""
    waiting = [("", values)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            word = key.rpartition(".")[2]
            yield key, f"{word}: {value}" if word.lower() in SAID_BY_KEY else value
            continue
        items = value.items() if isinstance(value, dict) else enumerate(value)
        texts = [(str(name), each) for name, each in items if name != TOKEN]
        if isinstance(value, dict):
            yield from ((key, name) for name, _ in texts)
        before = f"{key}." if key else ""
        waiting += [
            (before + name, each)
            for name, each in reversed(texts)
            if isinstance(each, str | dict | list)
        ]


def _texts_of_table(path: Path) -> Iterator[tuple[str, str]]:
    """Place and text; nothing of a file that is no table, which another rule reports."""
    from suite.bundle.schemas import READING_TYPES  # start-up: loads pyarrow
    from suite.bundle.tables import texts_of_table  # start-up: loads pyarrow

    texts = tuple(name for name, kind in READING_TYPES.items() if kind == "string")
    coded = texts if path.name != STEPS else ()
    with suppress(FileError):
        for name, text in texts_of_table(path, coded):
            yield f"column {name}", text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line; of a packed file, those of its content."""
    read_bytes, number, rest = 0, 1, b""
    # another rule reports it
    with (
        suppress(OSError, EOFError, zlib.error),
        gzip.open(path) if path.suffix == _PACKED else path.open("rb") as stream,
    ):
        while read_bytes < MAX_UNPACKED_BYTES and (piece := stream.readline(MAX_LINE_BYTES)):
            read_bytes += len(piece)
            yield number, (rest + piece).decode("utf-8", errors="replace")
            is_whole = piece.endswith(b"\n")
            number, rest = number + is_whole, b"" if is_whole else piece[-OVERLAP_BYTES:]


def describe_disclosure(found: Disclosure) -> str:
    """File, place, and what it looks like: for the person whose file it is."""
    return (
        f"{found.file}, {found.where}: {found.kind}"
        f" ({json.dumps(found.text[:80], ensure_ascii=False)})"
    )
