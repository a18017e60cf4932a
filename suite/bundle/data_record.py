"""``data.json``: digests of the data set's files, taken by the harness right before the run."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from suite.bundle.reader import Bundle
from suite.files.digest import FileDigest
from suite.files.json_file import read_as, write_json

DATA = "data.json"
SCHEMA = 1
MAX_FILES = 1000


@dataclass(frozen=True)
class DataRecord:
    """The files of the data set ``name`` as the harness read them at ``taken_ns`` on the monotonic
    clock.

    Pictures are too many to be listed: ``pictures`` is their number, ``pictures_sha256`` the
    SHA-256 over one line for each, as in a digest list (suite.datasets.digest_lists); both are 0
    and None for data sets without pictures. ``pictures_decoded_sha256`` is the same over their
    pixels, taken where the files are not the pinned ones and the pixels may be.
    """

    name: str
    taken_ns: int
    files: Annotated[tuple[FileDigest, ...], Meta(max_length=MAX_FILES)]
    pictures: int = 0
    pictures_sha256: str | None = None
    pictures_decoded_sha256: str | None = None


def write_data_record(path: Path, record: DataRecord) -> None:
    """Write ``data.json`` into the bundle at ``path``."""
    write_json(path / DATA, {"schema": SCHEMA, **asdict(record)})


def read_data_record(bundle: Bundle) -> DataRecord:
    """The record of a bundle. Raises FileError when the file is missing or malformed."""
    return read_as(bundle.file(DATA), DataRecord, SCHEMA)
