"""``data.json``: digests of the data set's files, taken by the harness right before the run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.bundle.reader import Bundle
from suite.errors import FileError
from suite.files.digest import FileDigest
from suite.files.json_file import write_json

DATA = "data.json"
SCHEMA = 1
MAX_FILES = 1000


@dataclass(frozen=True)
class DataRecord:
    """The files of the data set ``name`` as the harness read them at ``taken_ns`` on the monotonic
    clock.

    Pictures are too many to be listed: ``pictures`` is their number, ``pictures_sha256`` the
    SHA-256 over one line for each, as in a digest list (suite.datasets.digest_lists); both are 0
    and None for data sets without pictures.
    """

    name: str
    taken_ns: int
    files: tuple[FileDigest, ...]
    pictures: int = 0
    pictures_sha256: str | None = None


def write_data_record(path: Path, record: DataRecord) -> None:
    """Write ``data.json`` into the bundle at ``path``."""
    write_json(path / DATA, {"schema": SCHEMA, **asdict(record)})


def read_data_record(bundle: Bundle) -> DataRecord:
    """The record of a bundle. Raises FileError when the file is missing or malformed."""
    path, values = bundle.path / DATA, bundle.json(DATA)
    names = {"schema", *DataRecord.__dataclass_fields__}
    files = values.get("files")
    if (
        set(values) != names
        or values["schema"] != SCHEMA
        or not isinstance(files, Sequence)
        or len(files) > MAX_FILES
    ):
        raise FileError(path, f"is not a record of data files of schema {SCHEMA}")
    if not isinstance(values["name"], str) or not all(
        isinstance(values[name], int) for name in ("taken_ns", "pictures")
    ):
        raise FileError(path, "has a key of the wrong type")
    fields = {name: values[name] for name in DataRecord.__dataclass_fields__}
    return DataRecord(**{**fields, "files": tuple(_file(file, path) for file in files)})


def _file(values: Any, path: Path) -> FileDigest:
    names = set(FileDigest.__dataclass_fields__)
    if (
        not isinstance(values, Mapping)
        or set(values) != names
        or not isinstance(values["name"], str)
    ):
        raise FileError(
            path, f"must have for each file exactly the keys {', '.join(sorted(names))}"
        )
    return FileDigest(**values)
