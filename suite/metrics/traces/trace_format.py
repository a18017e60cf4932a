"""The format of a logger's file: what was understood of it, and the readings that come out of
it."""

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any, cast

from msgspec import Meta

from suite.bundle.arrays import Values
from suite.errors import FileError, SuiteError
from suite.files.schema import from_plain

UNITS = {
    "W": 1.0,
    "mW": 1e-3,
    "uW": 1e-6,
    "kW": 1e3,
    "V": 1.0,
    "mV": 1e-3,
    "uV": 1e-6,
    "A": 1.0,
    "mA": 1e-3,
    "uA": 1e-6,
    "nA": 1e-9,
    "J": 1.0,
    "mJ": 1e-3,
    "uJ": 1e-6,
    "kJ": 1e3,
    "Ws": 1.0,
    "Wh": 3600.0,
    "mWh": 3.6,
    "kWh": 3.6e6,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
"""Units and their sizes in W, V, A, J or s."""
MICRO = str.maketrans("µμ", "uu")
"""The micro sign and the Greek letter, to names of UNITS."""
MAX_COLUMNS = 1000
ENERGIES = ("J", "Wh", "Ws")
Unit = Annotated[str, Meta(pattern=rf"^({'|'.join(UNITS)})\Z")]


def open_unpacked(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def quantity_of_unit(unit: str) -> str:
    """W, V, A, J or s."""
    if unit.endswith(ENERGIES):
        return "J"
    return unit[-1] if unit[-1] in "WVA" else "s"


@dataclass(frozen=True)
class Rail:
    """One supply: a column of power (or of energy, by its unit), or columns of current and of
    voltage (or a constant ``volts``). Columns count from 0; units as in UNITS."""

    power: int | None = None
    power_unit: Unit = "W"
    current: int | None = None
    current_unit: Unit = "A"
    voltage: int | None = None
    voltage_unit: Unit = "V"
    volts: float | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that are read."""
        return tuple(
            column for column in (self.power, self.current, self.voltage) if column is not None
        )

    def problem(self) -> str | None:
        """Why its parts do not belong together; None where they do."""
        if (self.power is None) == (self.current is None):
            return "a rail needs either a column of power or energy, or a column of current"
        if self.current is not None and (self.voltage is None) == (self.volts is None):
            return "a rail with a current needs exactly one voltage: a column or a fixed value"
        units = ((self.power_unit, "WJ"), (self.current_unit, "A"), (self.voltage_unit, "V"))
        if any(quantity_of_unit(unit) not in wanted for unit, wanted in units):
            return "a rail's unit does not fit its quantity"
        return None


@dataclass(frozen=True)
class TraceFormat:
    """How to read a logger's file: ``skip_lines`` before the first row, times, and the rails whose
    sum is the power.

    ``time_kind`` is number (times ``time_unit``), date, time of day, or index (rows at
    ``rate_hz``). ``time_columns`` are joined with a blank; ``time_form`` is how they are written
    (:data:`suite.metrics.traces.moments.FORMS`). ``log`` is the program whose lines are no table.
    ``is_on_change``: a row holds until the next one. ``is_mean``: a row is the mean power since the
    one before. ``leaves_out_spikes`` and ``keeps_gaps`` (nothing holds beyond a row without a
    number, and a sum has the gaps of all series): not in records of earlier versions.
    ``series_columns`` name the series of a row: those of ``series`` are added up, or all where
    ``adds``; without such columns ``turns`` devices take turns. ``is_decimal_stated``: by a person,
    so that the other sign groups digits.
    ``repeats_header``: rows that are the names again are left out.
    """

    encoding: str
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)]
    decimal: Annotated[str, Meta(pattern=r"^[.,]\Z")]
    skip_lines: Annotated[int, Meta(ge=0, lt=10_000)]
    columns: Annotated[int, Meta(ge=1, le=MAX_COLUMNS)]
    comment: str | None
    time_kind: Annotated[str, Meta(pattern=r"^(number|date|time of day|index)\Z")]
    time_unit: Unit
    time_columns: tuple[int, ...]
    rate_hz: float
    rails: Annotated[tuple[Rail, ...], Meta(min_length=1, max_length=MAX_COLUMNS)]
    names: tuple[str, ...] = field(default=())
    leaves_out_spikes: bool = False
    is_on_change: bool = False
    is_mean: bool = False
    log: Annotated[str, Meta(pattern=r"^(|tegrastats|Tasmota)\Z")] = ""
    series_columns: tuple[int, ...] = ()
    series: tuple[str, ...] = ()
    adds: bool = False
    turns: Annotated[int, Meta(ge=1, le=1000)] = 1
    time_form: Annotated[
        str,
        Meta(
            pattern=r"^(|year-month-day|day-month-year|month-day-year|month-day year|time of day)\Z"
        ),
    ] = ""
    is_decimal_stated: bool = False
    repeats_header: bool = False
    keeps_gaps: bool = False

    @property
    def used(self) -> list[int]:
        """The columns that are read, in the file's order."""
        return sorted(
            {
                *self.time_columns,
                *self.series_columns,
                *(column for rail in self.rails for column in rail.columns),
            }
        )

    @property
    def is_energy(self) -> bool:
        """The rails are energies, since the last row or since the logger's start."""
        return quantity_of_unit(self.rails[0].power_unit) == "J"

    def problem(self) -> str | None:
        """Why its parts do not belong together; None where they do."""
        if any(not 0 <= column < self.columns for column in self.used):
            return "it names a column that the file does not have"
        of_rails = [problem for rail in self.rails if (problem := rail.problem()) is not None]
        if of_rails:
            return of_rails[0]
        measured = [rail.current if rail.power is None else rail.power for rail in self.rails]
        if len(set(measured)) < len(measured):
            return "its sum counts the same column twice"
        if len({quantity_of_unit(rail.power_unit) for rail in self.rails}) > 1:
            return "it adds powers to energies"
        if self.time_kind != "index" and not self.time_columns:
            return "it names no time column"
        if self.time_kind == "index" and not self.rate_hz > 0:
            return "rows without a time need a rate above 0 Hz"
        return None


@dataclass(frozen=True, eq=False)
class Trace:
    """A logger's readings: times on its own clock (s, increasing) and the power of all rails
    together, W.

    ``rows`` were in the file; ``unreadable`` had text where a number must be, or a single absurd
    value; ``late`` had a time that is not after the one before. ``averaged`` is the number of rows
    in a reading: 1, or more where the file has too many. ``is_absolute``: times are seconds since
    1970. ``is_mean``: each is the mean power of a period, whose middle is its time. ``stepped_s``
    is how far the logger's clock was set back, and went on from there, within the file.
    """

    t_s: Values
    power_w: Values
    rows: int
    unreadable: int
    late: int
    averaged: int
    is_absolute: bool
    stepped_s: float = 0.0
    is_mean: bool = False


def format_of(values: Any, path: Path) -> TraceFormat:
    """A format as run.json records it; raises FileError for anything else."""
    try:
        read = from_plain(values, TraceFormat, "")
    except SuiteError as error:
        raise FileError(path, f"has no valid power trace format ({str(error)[:200]})") from error
    problem = read.problem()
    if problem is not None:
        raise FileError(path, f"has an invalid power trace format: {problem}")
    return read
