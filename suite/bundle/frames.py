"""Readings as pandas frames: for tests, for edits of tables, and for notebooks.

Figures and rules use the arrays of :mod:`suite.bundle.channels` and :mod:`suite.bundle.steps`
instead: importing pandas takes longer than judging a bundle.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet

from suite.bundle.raw_tables import read_batches
from suite.bundle.schemas import READING_TYPES, UNREADABLE, unreadable_table
from suite.bundle.tables import table_batches


def read_readings(path: Path) -> pandas.DataFrame:
    """``readings.parquet``; raises FileError when it is not a table of readings."""
    return _to_frame(path, table_batches(path, READING_TYPES))


def read_raw_readings(path: Path) -> pandas.DataFrame:
    """Readings from the recorder's CSV file, without an incomplete last line."""
    return _to_frame(path, read_batches(path, READING_TYPES))


def no_readings() -> pandas.DataFrame:
    """An empty table of readings."""
    return pandas.DataFrame(
        {name: pandas.Series(dtype=kind) for name, kind in READING_TYPES.items()}
    )


def write_table(frame: pandas.DataFrame, path: Path) -> None:
    """Write Parquet (zstd), whole or not at all."""
    temporary = path.with_name(f".{path.name}")
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None),
        temporary,
        compression="zstd",
    )
    temporary.replace(path)


def _to_frame(path: Path, batches: Iterable[pyarrow.RecordBatch]) -> pandas.DataFrame:
    try:
        frames = [batch.to_pandas().astype(READING_TYPES) for batch in batches]
        return pandas.concat(frames, ignore_index=True) if frames else no_readings()
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error
