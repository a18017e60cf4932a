"""Step records and readings as pandas frames: for CSV files of a run in progress, for writing Parquet, and for notebooks.

Figures and rules use the arrays of :mod:`suite.bundle.channels` and :mod:`suite.bundle.steps` instead: importing pandas takes longer than judging
a bundle.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet

from suite.bundle.channels import Channels, channels_of_frame
from suite.bundle.tables import READING_TYPES, SCHEMA_1_STEP_NAMES, STEP_TYPES, UNREADABLE, read_parquet, unreadable_table
from suite.errors import FileError


def read_steps(path: Path) -> pandas.DataFrame:
    """``steps.parquet``; raises FileError when it is not a step table."""
    return _to_frame(path, read_parquet(path, STEP_TYPES, older_names=SCHEMA_1_STEP_NAMES), STEP_TYPES)


def read_readings(path: Path) -> pandas.DataFrame:
    """``readings.parquet``; raises FileError when it is not a table of readings."""
    return _to_frame(path, read_parquet(path, READING_TYPES), READING_TYPES)


def read_raw_steps(paths: Iterable[Path], finished_epochs: Iterable[int]) -> pandas.DataFrame:
    """Steps of the finished epochs from the ranks' CSV files; a truncated last line belongs to no finished epoch."""
    frame = pandas.concat([_read_csv(path, STEP_TYPES, SCHEMA_1_STEP_NAMES) for path in paths])
    return frame[frame["epoch"].isin(list(finished_epochs))].reset_index(drop=True)


def read_raw_readings(path: Path) -> pandas.DataFrame:
    """Readings from the recorder's CSV file, without a truncated last line."""
    return _read_csv(path, READING_TYPES)


def read_raw_channels(path: Path) -> Channels:
    """Readings from the recorder's CSV file, by channel; raises FileError when it is not a table of readings."""
    try:
        return channels_of_frame(read_raw_readings(path))
    except ValueError as error:
        raise unreadable_table(path, error) from error


def no_readings() -> pandas.DataFrame:
    """An empty table of readings."""
    return pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in READING_TYPES.items()})


def write_table(frame: pandas.DataFrame, path: Path) -> None:
    """Write Parquet (zstd), whole or not at all."""
    temporary = path.with_name(f".{path.name}")
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None), temporary, compression="zstd")
    temporary.replace(path)


def _to_frame(path: Path, table: pyarrow.Table, types: dict[str, str]) -> pandas.DataFrame:
    try:
        return table.to_pandas().astype(types)
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _read_csv(path: Path, types: dict[str, str], older_names: tuple[str, ...] = ()) -> pandas.DataFrame:
    """Read a CSV file without a truncated last line (fewer fields, or no line end)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pandas.errors.ParserWarning)
            frame = pandas.read_csv(path, dtype=str, on_bad_lines="error", keep_default_na=False, na_filter=False)
        if tuple(frame.columns) == older_names:
            frame = frame.set_axis(list(types), axis="columns")
        if list(frame.columns) != list(types):
            raise FileError(path, f"has columns {list(frame.columns)[:20]}, expected {list(types)}")
        if len(frame) and not _ends_with_newline(path):
            frame = frame.iloc[:-1]
        return frame.astype(types)
    except (ValueError, TypeError) as error:
        raise unreadable_table(path, error) from error


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read() == b"\n"
