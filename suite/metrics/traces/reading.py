"""Reads the file of a logger in a known format, block by block in bounded memory; pandas parses the
rows."""

import codecs
import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas

from suite.bundle.arrays import Values, median
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.metrics.liveness import spikes
from suite.metrics.traces.decimals import without_grouping
from suite.metrics.traces.logs import log_table
from suite.metrics.traces.moments import DAY_S, MONTH_FIRST, TIME_OF_DAY, form_of, seconds_of
from suite.metrics.traces.overlaps import refuse_repeated_total
from suite.metrics.traces.series import as_steps, chosen_series, sum_of_series
from suite.metrics.traces.trace_format import (
    MAX_COLUMNS,
    MICRO,
    UNITS,
    Rail,
    Trace,
    TraceFormat,
    open_unpacked,
    quantity_of_unit,
)

BLOCK_BYTES = 8 * 2**20
MAX_FILE_BYTES = 16 * 2**30
MAX_READINGS = 500_000
MAX_UNREADABLE_SHARE = 0.5
MAX_LATE_SHARE = 0.2
"""Of all rows: where more have a time that is not after the one before, the times are not
understood."""
MAX_UNSORTED_SHARE = 0.9
"""Of all rows: where more are late, there is no order; a clock that was set back leaves one."""
MAX_MALFORMED_SHARE = 0.02
"""Of all rows: where more have digits that this format does not read, its numbers are not
understood, and the others may be read wrongly."""
OWN_UNIT = r"([A-Za-zµμ]+)$"
MIN_RISES, MIN_COUNTED, MAX_PERIODS = 10, 3, 1.5
"""An energy counter rises this often for each reset, or without one. Energies of a row are of one
period, where one is missing, too."""
ABSOLUTE_S = 3e8
"""Times above it are seconds since 1970."""


@dataclass(frozen=True, eq=False)
class ReadTrace:
    """A trace, and the size and SHA-256 of the file that it was read from (unpacked)."""

    trace: Trace
    size_bytes: int
    sha256: str


def read_trace(path: Path, how: TraceFormat, max_bytes: int = MAX_FILE_BYTES) -> ReadTrace:
    """Read the whole file.

    A file with more rows than MAX_READINGS is averaged over as many rows as needed; the mean of the
    times goes with the mean of the power, which keeps the energy. Raises SuiteError for a file that
    is too large, has no rows, or has lines that are mostly not rows of this format.
    """
    rows, points = _Rows(how), dict[str, _Points]()
    digest, size = hashlib.sha256(), 0
    try:
        with open_unpacked(path) as stream:
            for block in _blocks(stream, path):
                digest.update(block)
                size += len(block)
                if size > max_bytes:
                    raise SuiteError(
                        f"{path} holds more than {max_bytes} bytes; export less of it, or at a"
                        " lower rate."
                    )
                for name, t_s, values in rows.parse(block):
                    points.setdefault(name, _Points()).add(t_s, values)
    except (OSError, EOFError, UnicodeError, ValueError) as error:
        raise SuiteError(
            f"{path} cannot be read as a power trace: {str(error)[:200]}. Let this user read the"
            " file, or export it again as CSV."
        ) from error
    trace, repeated = _trace(rows, points)
    _refuse_misread(path, rows, trace, repeated)
    return ReadTrace(trace, size, digest.hexdigest())


def _trace(rows: "_Rows", points: "dict[str, _Points]") -> tuple[Trace, int]:
    """The readings of the chosen series, added up; and how many had the time of the one before."""
    chosen = chosen_series(
        {name: one.rows for name, one in points.items()}, rows.how.series, adds=rows.how.adds
    )
    parts = [points[name] for name in chosen] or [_Points()]
    series, absurd = [], 0
    for part in parts:
        t_s, values = part.readings(is_energy=rows.how.is_energy)
        if rows.how.leaves_out_spikes:
            kept = np.ones(len(values), bool)
            kept[np.isfinite(values)] = ~spikes(values[np.isfinite(values)])
            t_s, values, absurd = t_s[kept], values[kept], absurd + int(np.sum(~kept))
        if rows.how.is_mean:
            t_s = t_s - _spacings_s(t_s) / 2
        series.append(as_steps(t_s, values) if rows.how.is_on_change else (t_s, values))
    if len(series) > 1:
        refuse_repeated_total(dict(zip(chosen, [power_w for _, power_w in series], strict=True)))
    t_s, power_w = (
        sum_of_series(series, keeps_gaps=rows.how.keeps_gaps) if len(series) > 1 else series[0]
    )
    unreadable = sum(rows.unreadable[name] for name in chosen)
    is_date = rows.how.time_kind in ("number", "date") and bool(len(t_s))
    trace = Trace(
        t_s,
        power_w,
        sum(part.rows for part in parts) + unreadable,
        unreadable + absurd,
        sum(part.late for part in parts),
        max(part.averaged for part in parts),
        is_date and float(t_s[0]) > ABSOLUTE_S,
        max(part.stepped_s for part in parts),
        rows.how.is_mean or rows.how.is_energy,
    )
    return trace, sum(part.repeated for part in parts)


def _refuse_misread(path: Path, rows: "_Rows", trace: Trace, repeated: int) -> None:
    sign = "comma" if rows.how.decimal == "," else "point"
    if rows.malformed > MAX_MALFORMED_SHARE * trace.rows:
        raise SuiteError(
            f"{path} has numbers that differ in form: {rows.malformed} of {trace.rows} rows are"
            f" like {rows.example!r}, and the others have a decimal {sign}; export the file with"
            " one decimal sign, and without separators between thousands."
        )
    if rows.wide > MAX_MALFORMED_SHARE * trace.rows:
        raise SuiteError(
            f"{path} has {counted(rows.wide, 'row')} with more than the"
            f" {counted(rows.how.columns, 'column')} of its first lines; columns may have moved:"
            " attach only the part under one header."
        )
    is_late = trace.late > MAX_LATE_SHARE * trace.rows
    if (
        trace.rows == 0
        or len(trace.t_s) < 2
        or is_late
        or trace.unreadable > MAX_UNREADABLE_SHARE * trace.rows
    ):
        remedy = "correct the columns with --time and --power, or export it again"
        if trace.stepped_s:
            is_unsorted = trace.late > MAX_UNSORTED_SHARE * trace.rows
            remedy = "its rows are not in order: sort them by time" * is_unsorted
            remedy = remedy or stepped_text(trace)
        elif repeated > MAX_LATE_SHARE * trace.rows:
            remedy = (
                "several rows have the same time: give --rate HZ if they come from one device and"
                " are evenly spaced; if they come from several, export again with a column that"
                " names the device"
            )
        raise SuiteError(
            f"{path} has {len(trace.t_s)} readings in {trace.rows} rows ({trace.unreadable} without"
            f" numbers, {trace.late} with a time that is not after the one before); {remedy}."
        )


def stepped_text(trace: Trace) -> str:
    """How the logger's clock was set back, and what to do."""
    half_day = " (hours from 1 to 12 without AM or PM?)" if trace.stepped_s > DAY_S / 3 else ""
    return (
        f"its times step back by {trace.stepped_s:.5g} s and continue from there{half_day}: "
        "attach only the part with the run"
    )


def _blocks(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    rest = b""
    while data := stream.read(BLOCK_BYTES):
        whole, separator, after = (rest + data).rpartition(b"\n")
        if not separator and len(rest) + len(data) > 2 * BLOCK_BYTES:
            raise ValueError(f"a line of more than {BLOCK_BYTES} bytes")
        if separator:
            yield whole + separator
        rest = after
    if rest:
        yield rest


@dataclass
class _Rows:
    """Parses blocks of lines; knows how many rows were read and where the clock was."""

    how: TraceFormat
    read: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    malformed: int = 0
    wide: int = 0
    example: str = ""
    _day: tuple[float, float] = (0.0, -math.inf)
    _is_first: bool = True
    _form: str = ""

    def parse(self, block: bytes) -> Iterator[tuple[str, Values, Values]]:
        """Of each series of the block's rows: its name, times, s, and power, W.

        Rows without a number are left out. Where a row holds until the next they stay, with the
        power NaN, because they end the row before.
        """
        skipped, self._is_first = self.how.skip_lines if self._is_first else 0, False
        if self.how.log:
            block = log_table(
                self.how.log, block.decode("utf-8", "replace"), self.how.names
            ).encode()
        # a first line with one cell more, which pandas then reads of the others, too
        widest = self.how.delimiter.join("0" * (self.how.columns + 1)) + "\n"
        try:
            frame = pandas.read_csv(
                io.BytesIO(widest.encode() + block.removeprefix(codecs.BOM_UTF8)),
                sep=self.how.delimiter,
                decimal=self.how.decimal,
                comment=self.how.comment,
                header=None,
                skiprows=range(1, skipped + 1),
                names=list(range(self.how.columns + 1)),
                usecols=[*self.how.used, self.how.columns],
                encoding=self.how.encoding.removesuffix("-sig"),
                on_bad_lines="skip",
                index_col=False,
                skipinitialspace=True,
                encoding_errors="replace",
            )[1:]
        except pandas.errors.EmptyDataError:
            return
        if self.how.repeats_header:
            frame = _without_headers(frame, self.how.names)
        if frame.empty:
            return
        is_wide = frame[self.how.columns].notna()
        self.wide += int(is_wide.sum())
        power_w = np.sum([self._power(frame, rail) for rail in self.how.rails], axis=0)
        power_w = np.where(is_wide, np.nan, power_w)
        t_s = self._times(frame)
        names, places = self._series(frame)
        known = np.isfinite(t_s) & np.isfinite(power_w)
        kept = np.isfinite(t_s) if self.how.is_on_change and self.how.keeps_gaps else known
        self.read += len(frame)
        for place, name in enumerate(names):
            of_series = places == place
            self.unreadable[name] += int(np.count_nonzero(~known & of_series))
            yield name, t_s[kept & of_series], power_w[kept & of_series]

    def _series(self, frame: Any) -> tuple[list[str], Any]:
        """The names of the series, and the place of each row's."""
        if self.how.series_columns:
            columns = [frame[column].fillna("").astype(str) for column in self.how.series_columns]
            names = columns[0].str.cat(columns[1:], sep=" ")
            places, found = pandas.factorize(names)
            if len(found) > MAX_COLUMNS:
                raise ValueError(f"more than {MAX_COLUMNS} series")
            return [str(name) for name in found], places
        turns = np.arange(self.read, self.read + len(frame)) % self.how.turns
        return [str(turn + 1) for turn in range(self.how.turns)], turns

    def _power(self, frame: Any, rail: Rail) -> Values:
        if rail.power is not None:
            return self._amounts(frame[rail.power], rail.power_unit)
        current_a = self._amounts(frame[rail.current], rail.current_unit)
        if rail.voltage is None:
            return current_a * (rail.volts or 0.0)
        return current_a * self._amounts(frame[rail.voltage], rail.voltage_unit)

    def _amounts(self, column: Any, unit: str) -> Values:
        """A column in W, V or A. A unit in the cell itself wins: meters that choose their range
        write 950 mW, then 1.05 W."""
        numbers = self._numbers(column)
        if pandas.api.types.is_numeric_dtype(column):
            return numbers * UNITS[unit]
        own = column.astype(str).str.strip().str.extract(OWN_UNIT, expand=False)
        known = {text: _size(text, unit) for text in own.dropna().unique()}
        sizes = np.asarray(own.map(known).astype(np.float64).fillna(UNITS[unit]), np.float64)
        amounts: Values = numbers * sizes
        return amounts

    def _numbers(self, column: Any) -> Values:
        """The numbers of a column; NaN for anything else. A unit after the number is dropped."""
        if not pandas.api.types.is_numeric_dtype(column):
            column = (
                column.astype(str).str.strip().str.replace(r"\s*[^\d\s.,eE+-]+$", "", regex=True)
            )
            column = without_grouping(
                column, self.how.decimal, is_stated=self.how.is_decimal_stated
            )
            written = column
            column = pandas.to_numeric(
                column.str.replace(",", ".") if self.how.decimal == "," else column, errors="coerce"
            )
            malformed = written[column.isna() & written.str.fullmatch(r"[-+]?\d[\d.,]*")]
            self.malformed += len(malformed)
            self.example = self.example or (str(malformed.iloc[0])[:40] if len(malformed) else "")
        return np.asarray(column, np.float64)

    def _times(self, frame: Any) -> Values:
        if self.how.time_kind == "index":
            return np.arange(self.read, self.read + len(frame)) / self.how.rate_hz
        columns = [frame[column] for column in self.how.time_columns]
        if self.how.time_kind == "number":
            return self._numbers(columns[0]) * UNITS[self.how.time_unit]
        texts = columns[0].astype(str)
        for more in columns[1:]:
            texts = texts + " " + more.astype(str)
        # records of earlier versions do not name the form, and read 5/11 as May
        self._form = self._form or self.how.time_form or form_of(texts) or MONTH_FIRST
        times_s = seconds_of(texts, self._form)
        return self._days(times_s) if self._form == TIME_OF_DAY else times_s

    def _days(self, day_s: Values) -> Values:
        """Times of day made to increase past midnight, whatever rows without a time are between."""
        known, days = np.isfinite(day_s), np.zeros(len(day_s))
        falls = np.diff(day_s[known], prepend=self._day[1]) < -DAY_S / 2
        days[known] = self._day[0] + np.cumsum(falls)
        if known.any():
            self._day = (float(days[known][-1]), float(day_s[known][-1]))
        whole: Values = day_s + DAY_S * days
        return whole


def _without_headers(frame: Any, names: Sequence[str]) -> Any:
    """The rows that are not the columns' names again."""
    cells = frame.astype(str).apply(lambda column: column.str.strip())
    known = [column for column in frame.columns if column < len(names)]
    return frame[~(cells[known] == [names[column] for column in known]).all(axis=1)]


def _size(text: str, unit: str) -> float:
    """The size of a cell's own unit; that of the column's ``unit`` where the text is not a unit of
    the same quantity."""
    own = text.translate(MICRO)
    return UNITS[own if own in UNITS and quantity_of_unit(own) == quantity_of_unit(unit) else unit]


@dataclass
class _Points:
    """Readings so far; pairs of neighbours are averaged whenever there are too many, so that their
    number stays bounded."""

    parts: list[tuple[Values, Values]] = field(default_factory=list)
    count: int = 0
    rows: int = 0
    late: int = 0
    repeated: int = 0
    averaged: int = 1
    stepped_s: float = 0.0
    _last_s: float = -math.inf
    _rest: tuple[Values, Values] = field(default_factory=lambda: (np.empty(0), np.empty(0)))

    def add(self, t_s: Values, power_w: Values) -> None:
        """Add rows; those whose time is not after all before are left out."""
        # a row that ends the one before gives way to the next one of its time
        gives_way = np.isnan(power_w) & (np.diff(t_s, append=np.nan) == 0)
        t_s, power_w = t_s[~gives_way], power_w[~gives_way]
        self.rows += int(np.count_nonzero(np.isfinite(power_w)))
        highest = np.maximum.accumulate(np.concatenate(([self._last_s], t_s)))
        kept = t_s > highest[:-1]
        self.late += int(np.count_nonzero(~kept))
        self.repeated += int(np.count_nonzero(t_s == highest[:-1]))
        goes_on = ~kept[:-1] & ~kept[1:] & (np.diff(t_s) > 0)
        stepped = np.flatnonzero(goes_on[:-1] & goes_on[1:])
        if len(stepped):
            by_s = float((highest[:-1] - t_s)[stepped].max())
            self.stepped_s = max(self.stepped_s, by_s)
        self._last_s = float(highest[-1])
        joined = tuple(
            np.concatenate((rest, values[kept]))
            for rest, values in zip(self._rest, (t_s, power_w), strict=True)
        )
        whole = len(joined[0]) // self.averaged * self.averaged
        self._rest = (joined[0][whole:], joined[1][whole:])
        self._keep(joined[0][:whole], joined[1][:whole], self.averaged)
        while self.count > 2 * MAX_READINGS:
            self._halve()

    def _keep(self, t_s: Values, power_w: Values, group: int) -> None:
        means = tuple(values.reshape(-1, group).mean(axis=1) for values in (t_s, power_w))
        self.parts.append((means[0], means[1]))
        self.count += len(means[0])

    def _halve(self) -> None:
        t_s, power_w = (np.concatenate(columns) for columns in zip(*self.parts, strict=True))
        whole = len(t_s) // 2 * 2
        odd = np.repeat(t_s[whole:], self.averaged), np.repeat(power_w[whole:], self.averaged)
        self._rest = (
            np.concatenate((odd[0], self._rest[0])),
            np.concatenate((odd[1], self._rest[1])),
        )
        self.parts, self.count = [], 0
        self._keep(t_s[:whole], power_w[:whole], 2)
        self.averaged *= 2

    def readings(self, *, is_energy: bool) -> tuple[Values, Values]:
        """Times, s, and power, W, of all readings; energies (J) are differenced."""
        t_s, values = (
            (np.concatenate([np.empty(0), *columns]) for columns in zip(*self.parts, strict=True))
            if self.parts
            else self._rest
        )
        if self.averaged == 1:
            t_s = np.concatenate((t_s, self._rest[0]))
            values = np.concatenate((values, self._rest[1]))
        return power_of_energies(t_s, values, self.averaged) if is_energy else (t_s, values)


def power_of_energies(t_s: Values, energy_j: Values, averaged: int = 1) -> tuple[Values, Values]:
    """Mean power between rows, at the middle between them, of a counter's readings or of energies
    since the row before."""
    if len(t_s) < 2:
        return t_s, energy_j
    steps_j = np.diff(energy_j)
    rises, falls = int(np.sum(steps_j > 0)), int(np.sum(steps_j < 0))
    if rises < MIN_COUNTED and not falls and energy_j.any():
        raise SuiteError(
            f"The energy rises {rises} times in {len(t_s)} rows and never falls: too little to"
            " tell whether the column is a counter or the energy of each row. Attach a longer"
            " part of the log."
        )
    if rises < MIN_RISES * max(falls, 1) and (falls or not rises):
        spacings_s = _spacings_s(t_s)
        return t_s - spacings_s / 2, energy_j * averaged / spacings_s
    if rises < len(steps_j) / 2:  # of coarse steps: from one to the next
        kept = np.append(True, steps_j > 0)
        t_s, energy_j = t_s[kept], energy_j[kept]
    spacings_s, steps_j = np.diff(t_s), np.diff(energy_j)
    is_step = steps_j >= 0  # else it was reset
    middles_s: Values = (t_s[1:] + t_s[:-1]) / 2
    return middles_s[is_step], (steps_j / spacings_s)[is_step]


def _spacings_s(t_s: Values) -> Values:
    """The time that each row is of: since the one before, or a period after a longer pause."""
    if len(t_s) < 2:
        return np.zeros(len(t_s))
    period_s = median(np.diff(t_s))
    spacings_s: Values = np.append(period_s, np.diff(t_s))
    spacings_s[spacings_s > MAX_PERIODS * period_s] = period_s
    return spacings_s
