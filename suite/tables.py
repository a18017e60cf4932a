"""Step records and readings as tables: plain files while a run goes on, Parquet once it has ended."""

import warnings
from collections.abc import Iterable
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet

from reference_impls.contract import STEP_COLUMNS
from suite.bundle import MAX_TABLE_BYTES, BundleError

_INTEGERS = ("epoch", "step", "rank", "samples", "start_ns")
STEP_TYPES = {name: "int64" if name in _INTEGERS else "float64" for name in STEP_COLUMNS}
READING_TYPES = {"t_ns": "int64", "source": "string", "channel": "string", "value": "float64", "unit": "string"}
MAX_ROWS = 50_000_000


def read_steps(path: Path) -> pandas.DataFrame:
    """``steps.parquet``; raises BundleError when it is not a step table."""
    return _read_parquet(path, STEP_TYPES)


def read_readings(path: Path) -> pandas.DataFrame:
    """``readings.parquet``; raises BundleError when it is not a table of readings."""
    return _read_parquet(path, READING_TYPES)


def read_raw_steps(paths: Iterable[Path], finished_epochs: Iterable[int]) -> pandas.DataFrame:
    """The steps of finished epochs from an implementation's plain files, one a rank; a cut-off last line belongs to no finished epoch."""
    frame = pandas.concat([_read_csv(path, STEP_TYPES) for path in paths])
    return frame[frame["epoch"].isin(list(finished_epochs))].reset_index(drop=True)


def read_raw_readings(path: Path) -> pandas.DataFrame:
    """Readings from the recorder's plain file; a cut-off last line is left out."""
    return _read_csv(path, READING_TYPES)


def no_readings() -> pandas.DataFrame:
    """An empty table of readings."""
    return pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in READING_TYPES.items()})


def write_table(frame: pandas.DataFrame, path: Path) -> None:
    """Write Parquet (zstd), whole or not at all."""
    temporary = path.with_name(f".{path.name}")
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None), temporary, compression="zstd")
    temporary.replace(path)


def _read_parquet(path: Path, types: dict[str, str]) -> pandas.DataFrame:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            metadata, names = file.metadata, file.schema_arrow.names
            size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
                raise BundleError(path, f"holds more than {MAX_ROWS} rows or {MAX_TABLE_BYTES} bytes")
            if list(names) != list(types):
                raise BundleError(path, f"has columns {names[:20]}, expected {list(types)}")
            table = file.read()
            table.validate(full=True)  # text that is no UTF-8 would only fail where it is looked at
            return table.to_pandas().astype(types)
    except (pyarrow.ArrowException, ValueError, TypeError, OSError) as error:
        raise BundleError(path, f"is not a readable table ({str(error)[:200]})") from error


def _read_csv(path: Path, types: dict[str, str]) -> pandas.DataFrame:
    """Read a plain file, leaving out a last line that is cut off (fewer fields, or no line end)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pandas.errors.ParserWarning)
            frame = pandas.read_csv(path, dtype=str, on_bad_lines="error", keep_default_na=False, na_filter=False)
        if list(frame.columns) != list(types):
            raise BundleError(path, f"has columns {list(frame.columns)[:20]}, expected {list(types)}")
        if len(frame) and not _ends_with_newline(path):
            frame = frame.iloc[:-1]
        return frame.astype(types)
    except (ValueError, TypeError) as error:
        raise BundleError(path, f"is not a readable table ({str(error)[:200]})") from error


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read() == b"\n"
