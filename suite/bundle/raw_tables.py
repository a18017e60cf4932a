"""A run's CSV files of step records and readings, read batch by batch: the memory needed does not
grow with the run."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow
import pyarrow.csv

from suite.bundle.schemas import ARROW_TYPES, UNREADABLE, unreadable_table
from suite.errors import FileError

BLOCK_BYTES = 2**18
TAIL_BYTES = 2**16


def read_batches(
    path: Path,
    types: Mapping[str, str],
    older_names: tuple[str, ...] = (),
    end: int | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a CSV file with the columns of ``types``, text dictionary-encoded, without an
    incomplete last line.

    ``older_names`` are what an earlier schema called the same columns. ``end``: the bytes to read
    (:func:`whole_lines_bytes`) of a file that grows. Raises FileError for anything else. A file
    without a whole first line has no rows: the run ended before its columns were on the disk.
    """
    try:
        with path.open("rb") as stream:
            lines = _WholeLines(stream, end)
            if lines.is_empty:
                return
            rows = pyarrow.csv.open_csv(
                lines,
                pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types={
                        name: ARROW_TYPES[kind]
                        for names in (types, older_names)
                        for name, kind in zip(names, types.values(), strict=False)
                    },
                    null_values=["nan"],
                    strings_can_be_null=False,
                ),
            )
            if tuple(rows.schema.names) not in (tuple(types), older_names):
                raise FileError(
                    path, f"has columns {rows.schema.names[:20]}, expected {list(types)}"
                )
            for batch in rows:
                _refuse_missing_integers(batch, types)
                yield batch.rename_columns(list(types))
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _refuse_missing_integers(batch: pyarrow.RecordBatch, types: Mapping[str, str]) -> None:
    for column, (name, kind) in zip(batch.columns, types.items(), strict=True):
        if kind == "int64" and column.null_count:
            raise ValueError(f"an empty cell in the column {name}")


class _WholeLines(io.RawIOBase):
    """A file's bytes up to its last line end, or to ``end``, which was its last one."""

    def __init__(self, stream: io.BufferedReader, end: int | None = None) -> None:
        self._stream = stream
        self._left_bytes = _end_of_lines(stream) if end is None else end
        stream.seek(0)

    @property
    def is_empty(self) -> bool:
        """Whether no line is left to read."""
        return not self._left_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._stream.read(min(len(buffer), self._left_bytes))
        buffer[: len(data)] = data
        self._left_bytes -= len(data)
        return len(data)


def whole_lines_bytes(path: Path) -> int:
    """Number of a file's bytes up to and including the last line end; raises FileError where it
    cannot be read."""
    try:
        with path.open("rb") as stream:
            return _end_of_lines(stream)
    except OSError as error:
        raise unreadable_table(path, error) from error


def _end_of_lines(stream: io.BufferedReader) -> int:
    end = stream.seek(0, io.SEEK_END)
    while end:
        start = max(0, end - TAIL_BYTES)
        stream.seek(start)
        found = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
