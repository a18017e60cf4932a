"""Parquet tables of a finished run, read as arrays by pyarrow and NumPy alone. Tables are hostile input: rows and bytes are bounded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from reference_impls.contract import STEP_COLUMNS
from suite.bundle.channels import Channels, TextColumn, by_channel, text_column
from suite.bundle.layout import MAX_TABLE_BYTES
from suite.bundle.steps import StepRecords
from suite.errors import FileError

_INTEGERS = ("epoch", "step", "rank", "samples", "start_ns")
STEP_TYPES = {name: "int64" if name in _INTEGERS else "float64" for name in STEP_COLUMNS}
SCHEMA_1_STEP_NAMES = ("epoch", "step", "rank", "samples", "start_ns", "fetch_s", "h2d_s", "compute_s", "comm_s", "loss")
READING_TYPES = {"t_ns": "int64", "source": "string", "channel": "string", "value": "float64", "unit": "string"}
_TEXTS = [name for name, kind in READING_TYPES.items() if kind == "string"]
MAX_ROWS = 50_000_000
_TEXT_TYPES = (pyarrow.string(), pyarrow.large_string())
UNREADABLE = (pyarrow.ArrowException, ValueError, TypeError, OSError)


def read_step_table(path: Path) -> StepRecords:
    """``steps.parquet``; raises FileError when it is not a step table."""
    table = read_parquet(path, STEP_TYPES, older_names=SCHEMA_1_STEP_NAMES)
    try:
        return StepRecords(*(_numbers(table.column(name), kind) for name, kind in STEP_TYPES.items()))
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def read_channels(path: Path) -> Channels:
    """``readings.parquet``; raises FileError when it is not a table of readings, or has empty cells other than values."""
    table = read_parquet(path, READING_TYPES, _TEXTS)
    try:
        t_ns, values = (_numbers(table.column(name), READING_TYPES[name]) for name in ("t_ns", "value"))
        return by_channel(t_ns, values, *(_texts(table.column(name)) for name in _TEXTS))
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def read_parquet(path: Path, types: dict[str, str], coded: Sequence[str] = (), older_names: tuple[str, ...] = ()) -> pyarrow.Table:
    """A table with the columns of ``types``, those in ``coded`` dictionary-encoded, as the file stores them.

    ``older_names`` are what an earlier schema called the same columns. Raises FileError for anything else.
    """
    try:
        with _opened(path, coded) as file:
            metadata, names = file.metadata, tuple(file.schema_arrow.names)
            size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
                raise FileError(path, f"holds more than {MAX_ROWS} rows or {MAX_TABLE_BYTES} bytes")
            if names not in (tuple(types), older_names):
                raise FileError(path, f"has columns {list(names)[:20]}, expected {list(types)}")
            table = file.read()
            table.validate(full=True)  # else invalid UTF-8 fails only where it is used
            return table.rename_columns(list(types))
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def unreadable_table(path: Path, error: Exception) -> FileError:
    """The error for a file that is not a table."""
    return FileError(path, f"is not a readable table ({str(error)[:200]})")


def _opened(path: Path, coded: Sequence[str]) -> pyarrow.parquet.ParquetFile:
    try:
        return pyarrow.parquet.ParquetFile(path, read_dictionary=list(coded))
    except KeyError:  # one of these columns is missing or nested; the caller reports what is there
        return pyarrow.parquet.ParquetFile(path)


def _numbers(column: pyarrow.ChunkedArray, kind: str) -> npt.NDArray[Any]:
    """A numeric column. An empty cell is NaN; integers have no NaN: raises ArrowException."""
    wanted = pyarrow.int64() if kind == "int64" else pyarrow.float64()
    whole = (column if column.type == wanted else column.cast(wanted)).combine_chunks()
    if whole.null_count and wanted == pyarrow.int64():
        raise pyarrow.ArrowInvalid("an empty cell where there must be an integer")
    if whole.null_count:
        return np.asarray(whole.to_numpy(zero_copy_only=False))
    # pyarrow's own conversion to NumPy imports pandas first.
    return np.frombuffer(whole.buffers()[1], kind, len(whole), whole.offset * 8) if len(whole) else np.empty(0, kind)


def _texts(column: pyarrow.ChunkedArray) -> TextColumn:
    """A column of text; raises ValueError for an empty cell."""
    if column.type not in [pyarrow.dictionary(pyarrow.int32(), kind) for kind in _TEXT_TYPES]:
        column = column.cast(pyarrow.string()).dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if whole.null_count:
        raise ValueError("an empty cell where there must be a name")
    index = np.frombuffer(whole.indices.buffers()[1], "int32", len(whole), whole.offset * 4) if len(whole) else np.empty(0, "int32")
    return text_column(whole.dictionary.to_pylist(), index)
