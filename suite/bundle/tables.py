"""Parquet tables of a finished run, read by pyarrow and NumPy alone, batch by batch. Tables are
hostile input: rows and bytes are bounded."""

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from suite.bundle.limits import RowLimit
from suite.bundle.raw_tables import read_batches
from suite.bundle.schemas import (
    ARROW_TYPES,
    SCHEMA_1_STEP_NAMES,
    STEP_TYPES,
    UNREADABLE,
    unreadable_table,
)
from suite.bundle.steps import StepRecords
from suite.errors import FileError

BATCH_ROWS = 2**16
GROUP_ROWS = 2**17  # of the tables that the suite writes
MAX_ROWS = 100_000_000
MAX_FOOTER_BYTES = 4 * 2**20
MAX_GROUP_BYTES = 96 * 2**20
"""Of a row group, unpacked: a million rows of step records, which an earlier version of the suite
wrote, have 80 MiB."""
MAX_TEXTS = 20_000
"""Texts of a table of readings are sources, channels and units: some hundreds."""
_FOOTER = struct.Struct("<I4s")


def join_steps(batches: Iterable[StepRecords]) -> StepRecords:
    """The step records of all batches."""
    found = list(batches)
    return StepRecords(
        **{
            name: np.concatenate([np.empty(0, kind), *(getattr(each, name) for each in found)])
            for name, kind in STEP_TYPES.items()
        }
    )


def step_batches(path: Path, limit: RowLimit) -> Iterator[StepRecords]:
    """``steps.parquet``, batch by batch; raises FileError when it is not a step table."""
    for batch in table_batches(path, STEP_TYPES, limit, older_names=SCHEMA_1_STEP_NAMES):
        try:
            yield _step_records(batch)
        except UNREADABLE as error:
            raise unreadable_table(path, error) from error


def raw_step_batches(
    paths: Iterable[Path], finished_epochs: Iterable[int]
) -> Iterator[StepRecords]:
    """Steps of the finished epochs from the ranks' CSV files, batch by batch; an incomplete last
    line belongs to no finished epoch."""
    return map(_step_records, finished_steps(paths, finished_epochs))


def _step_records(batch: pyarrow.RecordBatch) -> StepRecords:
    return StepRecords(
        **{name: numeric_column(batch.column(name), kind) for name, kind in STEP_TYPES.items()}
    )


def finished_steps(
    paths: Iterable[Path], finished_epochs: Iterable[int]
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of the finished epochs in the ranks' CSV files, rank after rank, batch by batch."""
    # start-up: the checker reads tables and needs none of pyarrow's calculations
    from pyarrow.compute import is_in

    finished = integers(np.array(sorted(finished_epochs), np.int64))
    for path in paths:
        for batch in read_batches(path, STEP_TYPES, SCHEMA_1_STEP_NAMES):
            yield batch.filter(is_in(batch.column("epoch"), finished))


def table_batches(
    path: Path,
    types: dict[str, str],
    limit: RowLimit | None = None,
    coded: Sequence[str] = (),
    older_names: tuple[str, ...] = (),
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a table with the columns of ``types``, those in ``coded`` dictionary-encoded, as
    the file stores them.

    ``older_names`` are what an earlier schema called the same columns. Raises FileError for
    anything else, and for more rows than ``limit``, as the file's row groups give their number:
    then no row is read.
    """
    try:
        with _opened(path, coded) as file:
            _refuse_rows(path, file.metadata, limit)
            names, schema = tuple(file.schema_arrow.names), file.schema_arrow
            if names not in (tuple(types), older_names):
                raise FileError(path, f"has columns {list(names)[:20]}, expected {list(types)}")
            nested = [name for name in names if pyarrow.types.is_nested(schema.field(name).type)]
            if nested:
                raise FileError(path, f"has lists or records in the column {nested[0]}")
            for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
                batch.validate(full=True)  # else invalid UTF-8 fails only where it is used
                yield batch.rename_columns(list(types))
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _refuse_rows(
    path: Path, metadata: pyarrow.parquet.FileMetaData, limit: RowLimit | None
) -> None:
    rows = sum(int(metadata.row_group(each).num_rows) for each in range(metadata.num_row_groups))
    if limit is not None and rows > limit.rows:
        raise FileError(
            path, f"has {rows} rows, more than the {limit.rows} possible: {limit.reason}"
        )


def texts_of_table(path: Path, coded: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Texts of any table, each once, with the column that it is in, and what its writer added to
    the schema, with its key.

    ``coded`` are columns that are read dictionary-encoded. At most MAX_TEXTS are returned; raises
    FileError for a file that is no table.
    """
    seen: set[tuple[str, str]] = set()
    try:
        with _opened(path, coded) as file:
            for key, value in (file.schema_arrow.metadata or {}).items():
                yield key.decode(errors="replace"), value.decode(errors="replace")
            names = [field.name for field in file.schema_arrow if _is_text(field.type)]
            for batch in (
                file.iter_batches(BATCH_ROWS, columns=names, use_threads=False) if names else ()
            ):
                for name in names:
                    column = batch.column(name)
                    values = (
                        column.dictionary if isinstance(column, pyarrow.DictionaryArray) else column
                    )
                    new = {
                        (name, str(value)) for value in values.to_pylist() if value is not None
                    } - seen
                    seen |= new
                    yield from sorted(new)
                if len(seen) > MAX_TEXTS:
                    return
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _is_text(kind: pyarrow.DataType) -> bool:
    of = kind.value_type if isinstance(kind, pyarrow.DictionaryType) else kind
    return bool(pyarrow.types.is_string(of) or pyarrow.types.is_large_string(of))


def _opened(path: Path, coded: Sequence[str]) -> pyarrow.parquet.ParquetFile:
    """The open table; raises FileError for one whose description or whose row groups are larger
    than any that the suite writes."""
    try:
        _refuse_large_footer(path)
        try:
            file = pyarrow.parquet.ParquetFile(
                _open_by_bytes(path),
                read_dictionary=list(coded),
                pre_buffer=False,
                buffer_size=BATCH_ROWS,
            )
        # one of these columns is missing or nested; the caller reports what is there
        except KeyError:
            file = pyarrow.parquet.ParquetFile(
                _open_by_bytes(path), pre_buffer=False, buffer_size=BATCH_ROWS
            )
        metadata = file.metadata
        largest = max(
            (metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups)),
            default=0,
        )
        if metadata.num_rows > MAX_ROWS or largest > MAX_GROUP_BYTES:
            file.close()
            raise FileError(
                path,
                f"has {metadata.num_rows} rows (limit: {MAX_ROWS}), and its largest row group has"
                f" {largest} bytes (limit: {MAX_GROUP_BYTES})",
            )
        return file
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _open_by_bytes(path: Path, mode: str = "rb") -> pyarrow.OSFile:
    """The file, opened by its name's bytes: pyarrow takes every name for UTF-8, which it is not in
    every folder and under every locale."""
    return pyarrow.OSFile(os.fsencode(path), mode)


def _refuse_large_footer(path: Path) -> None:
    """A Parquet file ends with the length of its description and a magic number."""
    with path.open("rb") as stream:
        if stream.seek(0, 2) < _FOOTER.size:
            raise ValueError("it is too short")
        stream.seek(-_FOOTER.size, 2)
        length, _ = _FOOTER.unpack(stream.read(_FOOTER.size))
    if length > MAX_FOOTER_BYTES:
        raise ValueError(f"its footer has {length} bytes; the limit is {MAX_FOOTER_BYTES}")


def numeric_column(column: "pyarrow.Array | pyarrow.ChunkedArray", kind: str) -> npt.NDArray[Any]:
    """A numeric column of a batch. An empty cell is NaN; integers have no NaN: raises
    ValueError."""
    wanted = pyarrow.int64() if kind == "int64" else pyarrow.float64()
    # a dictionary's indices; casting imports pyarrow.compute
    if column.type == pyarrow.int32() and not column.null_count and len(column):
        return np.frombuffer(column.buffers()[1], "int32", len(column), column.offset * 4).astype(
            kind
        )
    whole = column if column.type == wanted else column.cast(wanted)
    if whole.null_count and wanted == pyarrow.int64():
        raise ValueError("an empty cell where there must be an integer")
    if whole.null_count:
        return np.asarray(whole.to_numpy(zero_copy_only=False))
    # pyarrow's own conversion to NumPy imports pandas first.
    return (
        np.frombuffer(whole.buffers()[1], kind, len(whole), whole.offset * 8)
        if len(whole)
        else np.empty(0, kind)
    )


def integers(values: npt.NDArray[np.int64]) -> pyarrow.Array:
    """The integers as an Arrow array; pyarrow's own conversion imports pandas first."""
    return pyarrow.Array.from_buffers(
        pyarrow.int64(), len(values), [None, pyarrow.py_buffer(values)]
    )


class TableWriter:
    """Writes a Parquet table (zstd) batch by batch, text dictionary-encoded. The same batches give
    the same bytes."""

    def __init__(self, path: Path, types: dict[str, str]) -> None:
        self._schema = pyarrow.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
        self._file = _open_by_bytes(path, "wb")
        self._writer = pyarrow.parquet.ParquetWriter(
            self._file, self._schema, compression="zstd", store_schema=False
        )
        self._waiting: list[pyarrow.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch.cast(self._schema))
        self._rows += len(batch)
        if self._rows >= GROUP_ROWS:
            table = pyarrow.Table.from_batches(self._waiting).unify_dictionaries()
            whole = self._rows // GROUP_ROWS * GROUP_ROWS
            self._writer.write_table(
                table.slice(0, whole).combine_chunks(), row_group_size=GROUP_ROWS
            )
            self._waiting, self._rows = (
                table.slice(whole).combine_chunks().to_batches(),
                self._rows - whole,
            )

    def close(self) -> None:
        """Write the remaining rows and the file's description."""
        if self._rows:
            table = pyarrow.Table.from_batches(self._waiting).unify_dictionaries()
            self._writer.write_table(table.combine_chunks(), row_group_size=GROUP_ROWS)
        self._writer.close()
        self._file.close()
