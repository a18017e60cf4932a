"""Step records and readings as tables: plain files while a run goes on, Parquet once it has ended.

What the suite calculates with are the arrays of :mod:`suite.bundle.channels` and :mod:`suite.bundle.mini_batches`, read without pandas, which takes longer to be
loaded than a bundle to be judged; frames are for who changes tables or draws them.
"""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from reference_impls.contract import STEP_COLUMNS
from suite.bundle.channels import Channels, Texts, by_channel, of_frame, texts
from suite.bundle.layout import MAX_TABLE_BYTES
from suite.bundle.mini_batches import MiniBatches
from suite.errors import FileError

if TYPE_CHECKING:
    import pandas

_INTEGERS = ("epoch", "step", "rank", "samples", "start_ns")
STEP_TYPES = {name: "int64" if name in _INTEGERS else "float64" for name in STEP_COLUMNS}
READING_TYPES = {"t_ns": "int64", "source": "string", "channel": "string", "value": "float64", "unit": "string"}
_TEXTS = [name for name, kind in READING_TYPES.items() if kind == "string"]
MAX_ROWS = 50_000_000
_TEXT_TYPES = (pyarrow.string(), pyarrow.large_string())
_UNREADABLE = (pyarrow.ArrowException, ValueError, TypeError, OSError)


def read_mini_batches(path: Path) -> MiniBatches:
    """``steps.parquet``; raises FileError when it is not a step table."""
    table = _read_parquet(path, STEP_TYPES)
    try:
        return MiniBatches(*(_numbers(table.column(name), kind) for name, kind in STEP_TYPES.items()))
    except _UNREADABLE as error:
        raise _not_readable(path, error) from error


def read_channels(path: Path) -> Channels:
    """``readings.parquet``; raises FileError when it is not a table of readings, or one with empty cells other than values."""
    table = _read_parquet(path, READING_TYPES, _TEXTS)
    try:
        t_ns, values = (_numbers(table.column(name), READING_TYPES[name]) for name in ("t_ns", "value"))
        return by_channel(t_ns, values, *(_texts(table.column(name)) for name in _TEXTS))
    except _UNREADABLE as error:
        raise _not_readable(path, error) from error


def read_steps(path: Path) -> "pandas.DataFrame":
    """``steps.parquet`` as a frame; raises FileError when it is not a step table."""
    return _to_frame(path, _read_parquet(path, STEP_TYPES), STEP_TYPES)


def read_readings(path: Path) -> "pandas.DataFrame":
    """``readings.parquet`` as a frame; raises FileError when it is not a table of readings."""
    return _to_frame(path, _read_parquet(path, READING_TYPES), READING_TYPES)


def read_raw_steps(paths: Iterable[Path], finished_epochs: Iterable[int]) -> "pandas.DataFrame":
    """The steps of finished epochs from an implementation's plain files, one a rank; a cut-off last line belongs to no finished epoch."""
    import pandas

    frame = pandas.concat([_read_csv(path, STEP_TYPES) for path in paths])
    return frame[frame["epoch"].isin(list(finished_epochs))].reset_index(drop=True)


def read_raw_readings(path: Path) -> "pandas.DataFrame":
    """Readings from the recorder's plain file; a cut-off last line is left out."""
    return _read_csv(path, READING_TYPES)


def read_raw_channels(path: Path) -> Channels:
    """Readings from the recorder's plain file, by channel; raises FileError when it is not a table of readings."""
    try:
        return of_frame(read_raw_readings(path))
    except ValueError as error:
        raise _not_readable(path, error) from error


def no_readings() -> "pandas.DataFrame":
    """An empty table of readings."""
    import pandas

    return pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in READING_TYPES.items()})


def write_table(frame: "pandas.DataFrame", path: Path) -> None:
    """Write Parquet (zstd), whole or not at all."""
    temporary = path.with_name(f".{path.name}")
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None), temporary, compression="zstd")
    temporary.replace(path)


def _read_parquet(path: Path, types: dict[str, str], coded: Sequence[str] = ()) -> pyarrow.Table:
    """A table with these columns, those in ``coded`` as places in a list of distinct texts, which is how the file has them."""
    try:
        with _opened(path, coded) as file:
            metadata, names = file.metadata, file.schema_arrow.names
            size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
                raise FileError(path, f"holds more than {MAX_ROWS} rows or {MAX_TABLE_BYTES} bytes")
            if list(names) != list(types):
                raise FileError(path, f"has columns {names[:20]}, expected {list(types)}")
            table = file.read()
            table.validate(full=True)  # text that is no UTF-8 would only fail where it is looked at
            return table
    except _UNREADABLE as error:
        raise _not_readable(path, error) from error


def _opened(path: Path, coded: Sequence[str]) -> pyarrow.parquet.ParquetFile:
    try:
        return pyarrow.parquet.ParquetFile(path, read_dictionary=list(coded))
    except KeyError:  # one of these columns is not there, or of a nested type: what is there is said later
        return pyarrow.parquet.ParquetFile(path)


def _numbers(column: pyarrow.ChunkedArray, kind: str) -> npt.NDArray[Any]:
    """A column's numbers. An empty cell is no number, which whole numbers do not have: raises ArrowException."""
    wanted = pyarrow.int64() if kind == "int64" else pyarrow.float64()
    whole = (column if column.type == wanted else column.cast(wanted)).combine_chunks()
    if whole.null_count and wanted == pyarrow.int64():
        raise pyarrow.ArrowInvalid("an empty cell where there must be a whole number")
    if whole.null_count:
        return np.asarray(whole.to_numpy(zero_copy_only=False))
    # pyarrow's own way to NumPy loads pandas first.
    return np.frombuffer(whole.buffers()[1], kind, len(whole), whole.offset * 8) if len(whole) else np.empty(0, kind)


def _texts(column: pyarrow.ChunkedArray) -> Texts:
    """A column of text; raises ValueError for an empty cell."""
    if column.type not in [pyarrow.dictionary(pyarrow.int32(), kind) for kind in _TEXT_TYPES]:
        column = column.cast(pyarrow.string()).dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if whole.null_count:
        raise ValueError("an empty cell where there must be a name")
    places = np.frombuffer(whole.indices.buffers()[1], "int32", len(whole), whole.offset * 4) if len(whole) else np.empty(0, "int32")
    return texts(whole.dictionary.to_pylist(), places)


def _to_frame(path: Path, table: pyarrow.Table, types: dict[str, str]) -> "pandas.DataFrame":
    try:
        return table.to_pandas().astype(types)
    except _UNREADABLE as error:
        raise _not_readable(path, error) from error


def _read_csv(path: Path, types: dict[str, str]) -> "pandas.DataFrame":
    """Read a plain file, leaving out a last line that is cut off (fewer fields, or no line end)."""
    import pandas

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pandas.errors.ParserWarning)
            frame = pandas.read_csv(path, dtype=str, on_bad_lines="error", keep_default_na=False, na_filter=False)
        if list(frame.columns) != list(types):
            raise FileError(path, f"has columns {list(frame.columns)[:20]}, expected {list(types)}")
        if len(frame) and not _ends_with_newline(path):
            frame = frame.iloc[:-1]
        return frame.astype(types)
    except (ValueError, TypeError) as error:
        raise _not_readable(path, error) from error


def _not_readable(path: Path, error: Exception) -> FileError:
    return FileError(path, f"is not a readable table ({str(error)[:200]})")


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read() == b"\n"
