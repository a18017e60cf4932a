"""Tables of profiled modes, from files or matrices: what was measured in each, with standard
errors, and the modes that a table only names."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suite.errors import FileError
from suite.extensions.prediction.record.modes import COLUMN_ROLES, MAX_MODES, Modes

Array = Any  # of float64

ASSUMED_ERROR = 0.02
"""Relative standard error of a value whose error the table does not state."""
MIN_ERROR = 0.002
"""Smallest relative standard error that is believed: clocks, temperature and other programs vary
more between runs than within one."""
UNMEASURED = float("nan")
"""Power where none was measured."""
MAX_SIZE_BYTES = 256_000_000


@dataclass(frozen=True)
class Profile:
    """Measured modes: ``rows`` of resources by ``names``, mean time (s) and average power (W) of
    each, with relative standard errors.

    Powers are NaN where none was measured; then they are in every mode.
    """

    names: tuple[str, ...]
    rows: Array
    time_s: Array
    power_w: Array
    time_error: Array
    power_error: Array

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_power(self) -> bool:
        """Whether power was measured."""
        return bool(np.isfinite(self.power_w).all())

    def take(self, index: Any) -> "Profile":
        """Some of the modes."""
        return Profile(
            self.names,
            self.rows[index],
            self.time_s[index],
            self.power_w[index],
            self.time_error[index],
            self.power_error[index],
        )


@dataclass(frozen=True)
class Table:
    """A table of modes: those that were profiled, and all that it names (a row without a time is a
    mode to predict)."""

    profile: Profile
    modes: Modes


def read_table(path: Path) -> Table:
    """Profiled modes of a CSV, JSON (a list of objects) or Parquet file, or of the folder of a
    matrix.

    Columns: resources (:data:`suite.extensions.prediction.record.modes.COLUMN_ROLES`),
    ``time_s``, ``power_w`` or ``energy_j`` (in all rows or in none), and optionally their standard
    errors ``time_se_s``, ``power_se_w``, ``energy_se_j``. Other columns are ignored. Several rows
    of one mode are repetitions: their mean counts, with the standard error of the rows that state
    none. Raises FileError.
    """
    names, measured = _rows_by_mode(path)
    profiled = {mode: values for mode, values in measured.items() if values}
    if not profiled:
        raise FileError(path, "has no row with time_s")
    if len({np.isfinite(row.power_w) for rows in profiled.values() for row in rows}) > 1:
        raise FileError(
            path,
            "has power_w or energy_j in some of the profiled rows only; measure it in all of them,"
            " or leave it out",
        )
    return Table(_profile(names, profiled), _modes(names, measured))


def read_modes(path: Path) -> Modes:
    """The modes that a table names, profiled or not."""
    return _modes(*_rows_by_mode(path))


def _modes(names: tuple[str, ...], measured: Iterable[tuple[float, ...]]) -> Modes:
    every = list(measured)
    return Modes(names, np.array(every, dtype=float).reshape(len(every), len(names)))


def _rows_by_mode(path: Path) -> "tuple[tuple[str, ...], dict[tuple[float, ...], list[_Row]]]":
    """Names of the resources, and the measured rows of each mode, which may be none."""
    try:
        if path.stat().st_size > MAX_SIZE_BYTES:
            raise FileError(
                path,
                f"has more than {MAX_SIZE_BYTES // 1_000_000} MB, the limit for a table of modes",
            )
        rows = (
            _read_matrix(path)
            if path.is_dir()
            else _READERS.get(path.suffix.lower(), _read_csv)(path)
        )
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, csv.Error) as error:
        raise FileError(path, f"is not a table of modes ({error})") from error
    names = tuple(name for name in (rows[0] if rows else ()) if name in COLUMN_ROLES)
    if not names:
        raise FileError(path, f"has no resource column; add one of {', '.join(COLUMN_ROLES)}")
    if len(rows) > MAX_MODES:
        raise FileError(path, f"has {len(rows)} rows; the limit is {MAX_MODES}")
    measured: dict[tuple[float, ...], list[_Row]] = {}
    for number, row in enumerate(rows, start=1):
        mode = tuple(_number(path, number, row, name, required=True) for name in names)
        found = _parse_row(path, number, row)
        measured.setdefault(mode, []).extend([found] if found else [])
    return names, measured


def _read_matrix(path: Path) -> Sequence[Mapping[str, Any]]:
    from suite.extensions.prediction.record.matrix_rows import rows_of_matrix  # start-up: pandas

    return rows_of_matrix(path)


def _read_csv(path: Path) -> list[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _read_json(path: Path) -> list[Mapping[str, Any]]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("expected a list of objects")
    return rows


def _read_parquet(path: Path) -> list[Mapping[str, Any]]:
    from pyarrow import ArrowException, parquet  # start-up: loads pyarrow

    try:
        rows: list[Mapping[str, Any]] = parquet.read_table(path).to_pylist()
    except ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return rows


_READERS = {".json": _read_json, ".parquet": _read_parquet}


@dataclass(frozen=True)
class _Row:
    time_s: float
    power_w: float
    time_error: float | None
    power_error: float | None


def _parse_row(path: Path, number: int, row: Mapping[str, Any]) -> _Row | None:
    time_s, power_w, energy_j = (
        _number(path, number, row, name) for name in ("time_s", "power_w", "energy_j")
    )
    if time_s is None:
        return None
    if power_w is None:
        power_w = UNMEASURED if energy_j is None else energy_j / time_s
    time_error = _relative(_number(path, number, row, "time_se_s", least=0), time_s)
    power_error = _relative(_number(path, number, row, "power_se_w", least=0), power_w)
    if power_error is None and energy_j is not None:
        power_error = _relative(_number(path, number, row, "energy_se_j", least=0), energy_j)
    return _Row(time_s, power_w, time_error, power_error)


def _relative(error: float | None, value: float) -> float | None:
    return None if error is None else error / value


def _number(
    path: Path,
    number: int,
    row: Mapping[str, Any],
    name: str,
    required: bool = False,
    least: float = 1e-12,
) -> Any:
    value = row.get(name)
    if value is None or value == "":
        if required:
            raise FileError(path, f"has no {name} in row {number}")
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not least <= found < 1e15:
        raise FileError(
            path,
            f"has {name} = {str(value)[:40]!r} in row {number}; expected a number of at least"
            f" {least:g} and below 1e15",
        )
    return found


def _profile(names: tuple[str, ...], profiled: Mapping[tuple[float, ...], list[_Row]]) -> Profile:
    values = [_mean(rows) for rows in profiled.values()]
    columns = (np.array(column, dtype=float) for column in zip(*values, strict=True))
    return Profile(names, np.array(list(profiled), dtype=float), *columns)


def _mean(rows: list[_Row]) -> tuple[float, float, float, float]:
    times, powers = [row.time_s for row in rows], [row.power_w for row in rows]
    return (
        float(np.mean(times)),
        float(np.mean(powers)),
        _error(times, (row.time_error for row in rows)),
        _error(powers, (row.power_error for row in rows)),
    )


def _error(values: list[float], stated: Iterable[float | None]) -> float:
    """Relative standard error of the mean of repetitions; the stated or assumed error of one is not
    believed to be larger than it is."""
    each = [ASSUMED_ERROR if error is None else error for error in stated]
    own = float(np.sqrt(np.mean(np.square(each)) / len(values)))
    spread = (
        float(np.std(values, ddof=1) / np.mean(values) / np.sqrt(len(values)))
        if len(values) > 1
        else 0.0
    )
    return max(MIN_ERROR, own, spread)
