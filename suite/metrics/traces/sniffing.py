"""Understands a logger's file by its first lines: decimal sign, times, units and rails. Options
settle what they do not tell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas

from suite.errors import SuiteError
from suite.metrics.traces.head import Head, is_number, last_rows, looks_like_time, read_head
from suite.metrics.traces.moments import TIME_OF_DAY, form_of
from suite.metrics.traces.trace_format import MICRO, UNITS, Rail, TraceFormat

POWER = re.compile(
    r"\b(a?power|leistung|puissance|potencia|watts?|pow|p)\b|^(?:u|m|k)?w$", re.IGNORECASE
)
VOLTAGE = re.compile(r"\b(voltage|volts?|spannung|tension|u|v)\b", re.IGNORECASE)
WHOLE_VOLTAGE = re.compile(r"voltage|spannung|tension|vbus", re.IGNORECASE)
"""Of several columns in volts, the supply's: USB meters have those of the data lines (dp_V),
too."""
CURRENT = re.compile(r"\b(current|amps?|amperes?|ampere|strom|courant|main)\b", re.IGNORECASE)
TIME = re.compile(
    r"\b(time|timestamp|date|datetime|zeit|elapsed|seconds?|last changed|last"
    r" updated|datum|uhrzeit|temps|t)\b",
    re.IGNORECASE,
)
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}"
    r"|(?:19|20)\d{2}[01]\d[0-3]\d\Z"
)
NOT_POWER = re.compile(
    r"factor|energy|charge|capacity|reactive|apparent|mean time|\b[mk]?wh\b|\bm?ah\b", re.IGNORECASE
)
IN_BRACKETS = re.compile(r"[\[(]\s*([^\])]*?)\s*[\])]")
AT_END = re.compile(r"(?:^|[\s_./-])([a-zA-Zµμ]{1,3})$")
WORDS = {
    "watt": "W",
    "watts": "W",
    "milliwatts": "mW",
    "volts": "V",
    "volt": "V",
    "amps": "A",
    "ampere": "A",
    "milliamps": "mA",
    "days": "d",
    "hours": "h",
    "minutes": "min",
    "seconds": "s",
    "second": "s",
    "sec": "s",
    "milliseconds": "ms",
    "msec": "ms",
    "microseconds": "us",
    "usec": "us",
}
LOWER_CASE = {unit.lower(): unit for unit in UNITS}
"""Names of columns in programs: power_mw, current_ma."""
MAX_DIRECT_V = 60.0
"""Above it is the mains, where current times voltage is no power."""
MAX_UNSTATED = 300.0
"""A larger number without a unit is asked for: milliwatts of a board are more likely than watts."""
SPREADSHEET_DAYS = 20_000, 80_000
"""Dates of spreadsheets: days since 1899-12-30, here of 1954 to 2119."""
EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Numbers above the first are times since 1970 in the second."""


@dataclass(frozen=True)
class TraceOptions:
    """What somebody says of a file. Columns are names of the header, or numbers from 1; ``unit``
    applies to all power or current columns."""

    time: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    voltage: tuple[str, ...] = ()
    volts: float | None = None
    time_unit: str | None = None
    unit: str | None = None
    rate_hz: float | None = None
    day_first: bool | None = None


def understand(path: Path, options: TraceOptions) -> TraceFormat:
    """The format of a file; raises SuiteError, which names the option to give, for what the file
    does not tell."""
    _refuse_unknown_units(options)
    head = read_head(path)
    _refuse_changing_units(head)
    decimal = _decimal(head)
    times = _time_columns(head, options, decimal)
    rails = _rails(head, options, set(times))
    kind, unit = _time_kind(head, times, options, decimal)
    form = _time_form(path, head, times, options) if kind == "text" else ""
    return TraceFormat(
        encoding=head.encoding,
        delimiter=head.delimiter,
        decimal=decimal,
        skip_lines=head.skip_lines,
        columns=len(head.names),
        comment=head.comment,
        time_kind=("time of day" if form == TIME_OF_DAY else "date") if form else kind,
        time_unit=unit,
        time_columns=times,
        rate_hz=options.rate_hz or 0.0,
        rails=rails,
        names=head.names,
        time_form=form,
    )


def sentence(how: TraceFormat) -> str:
    """What was understood, in one sentence."""
    rails = " + ".join(_rail_text(rail, how.names) for rail in how.rails)
    if how.time_kind == "index":
        when = f"rows at {how.rate_hz:g} Hz"
    else:
        names = " ".join(how.names[column] for column in how.time_columns)
        when = (
            f"time from {names!r} ({how.time_unit if how.time_kind == 'number' else how.time_form})"
        )
    delimiter = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "blanks"}.get(
        how.delimiter, repr(how.delimiter)
    )
    return (
        f"Columns between {delimiter}, decimal {'comma' if how.decimal == ',' else 'point'};"
        f" {when}; power = {rails}."
    )


def _rail_text(rail: Rail, names: Sequence[str]) -> str:
    if rail.power is not None:
        return f"{names[rail.power]!r} ({rail.power_unit})"
    assert rail.current is not None
    volts = (
        f"{rail.volts:g} V"
        if rail.voltage is None
        else f"{names[rail.voltage]!r} ({rail.voltage_unit})"
    )
    return f"{names[rail.current]!r} ({rail.current_unit}) x {volts}"


def _refuse_unknown_units(options: TraceOptions) -> None:
    for unit in (options.time_unit, options.unit):
        if unit is not None and unit not in UNITS:
            raise SuiteError(f"There is no unit {unit!r}; known are {', '.join(UNITS)}.")


def _refuse_changing_units(head: Head) -> None:
    """A column beside the numbers that has their unit, row by row: meters that choose their range
    write one."""
    for place, name in enumerate(head.names):
        found = {row[place].translate(MICRO) for row in head.rows}
        if len(found) > 1 and all(unit in UNITS for unit in found):
            raise SuiteError(
                f"The unit changes from row to row (column {name!r}: {', '.join(sorted(found))}):"
                " export the file in one unit."
            )


def _decimal(head: Head) -> str:
    """The decimal sign: not one that stands twice in a number, else the more frequent one."""
    for grouping, decimal in ((".", ","), (",", ".")):
        if any(
            re.fullmatch(rf"[-+]?\d{{1,3}}(?:\{grouping}\d{{3}}){{2,}}(?:\{decimal}\d*)?", cell)
            for row in head.rows
            for cell in row
        ):
            return decimal
    commas = sum(bool(re.fullmatch(r"[-+]?\d*,\d+\D*", cell)) for row in head.rows for cell in row)
    points = sum(bool(re.fullmatch(r"[-+]?\d*\.\d+\D*", cell)) for row in head.rows for cell in row)
    return "," if commas > points else "."


def _column(head: Head, name: str) -> int:
    """The column of this name, or of this number from 1."""
    if name in head.names:
        return head.names.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(head.names):
        return int(name) - 1
    raise SuiteError(
        f"There is no column {name!r}; the file has {', '.join(map(repr, head.names[:30]))}."
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s_./:-]+", " ", IN_BRACKETS.sub(" ", name)).strip()


def _unit(name: str) -> str | None:
    """The unit that a header names, as in UNITS; None without one."""
    bracketed: list[str] = [found.strip() for found in IN_BRACKETS.findall(name)]
    at_end: list[str] = AT_END.findall(name)
    for text in (*bracketed, *at_end, *_plain(name).split()[-1:], name.strip().lower()):
        unit = WORDS.get(text.lower(), text.translate(MICRO))
        if unit in UNITS:
            return unit
        if unit.lower() in LOWER_CASE and unit != "MW":
            return LOWER_CASE[unit.lower()]
    return None


def _time_columns(head: Head, options: TraceOptions, decimal: str) -> tuple[int, ...]:
    if options.rate_hz is not None:
        if not 0 < options.rate_hz < np.inf or options.time:
            raise SuiteError("--rate is a number above 0 of rows without a time; leave --time out.")
        return ()
    if options.time:
        return tuple(_column(head, name) for name in options.time)
    named = [
        place
        for place, name in enumerate(head.names)
        if head.has_header and TIME.search(_plain(name)) and not _unit_is_electric(name)
    ]
    texts = [
        place
        for place in range(len(head.names))
        if all(looks_like_time(row[place]) or _is_date(row[place]) for row in head.rows[:20])
    ]
    if texts:
        days = [place for place in texts if not looks_like_time(head.rows[0][place])]
        clock = [place for place in texts if looks_like_time(head.rows[0][place])]
        whole = [
            place
            for place in clock
            if _is_date(head.rows[0][place].replace("T", " ").split(" ")[0])
        ]
        if whole:
            return _with_suffix(head, whole[0])
        return (*days[:1], *(_with_suffix(head, clock[0]) if clock else ()))
    if named:
        return (named[0],)
    rising = [
        place
        for place in range(len(head.names))
        if _rises([row[place] for row in head.rows], decimal)
    ]
    if not head.has_header and rising:
        return (rising[0],)
    raise SuiteError(
        f"Which column is the time cannot be told of {', '.join(map(repr, head.names[:30]))}: add"
        " --time COLUMN, or --rate HZ."
    )


def _with_suffix(head: Head, column: int) -> tuple[int, ...]:
    """A column of times, and the one after it where that has AM, PM or the zone."""
    after = column + 1
    is_suffix = after < len(head.names) and all(
        re.fullmatch(r"(?i)[ap]\.?m\.?|utc|gmt", row[after]) for row in head.rows
    )
    return (column, after) if is_suffix else (column,)


def _is_date(cell: str) -> bool:
    return bool(DATE.match(cell))


def _unit_is_electric(name: str) -> bool:
    unit = _unit(name)
    return unit is not None and unit[-1] in "WVA"


def _rises(cells: Sequence[str], decimal: str) -> bool:
    numbers = _floats(cells, decimal)
    return (
        len(numbers) > 1 and bool(np.isfinite(numbers).all()) and bool((np.diff(numbers) > 0).all())
    )


def _floats(cells: Sequence[str], decimal: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    whole = (
        pandas.Series(list(cells)).str.replace(",", ".")
        if decimal == ","
        else pandas.Series(list(cells))
    )
    return np.asarray(pandas.to_numeric(whole, errors="coerce"), np.float64)


def _time_kind(
    head: Head, times: tuple[int, ...], options: TraceOptions, decimal: str
) -> tuple[str, str]:
    """The kind of the times, and their unit."""
    if not times:
        return "index", "s"
    numbers = _floats([row[times[0]] for row in head.rows], decimal)
    if len(times) == 1 and np.isfinite(numbers).mean() > 0.5:
        return "number", options.time_unit or _unit_of_numbers(
            head.names[times[0]], numbers[np.isfinite(numbers)]
        )
    return "text", "s"


def _time_form(path: Path, head: Head, times: tuple[int, ...], options: TraceOptions) -> str:
    """How the times are written: one form for the whole file."""

    def joined(rows: Sequence[Sequence[str]]) -> "pandas.Series[str]":
        return pandas.Series([" ".join(row[place] for place in times) for row in rows], dtype=str)

    texts = joined(head.rows)
    form = form_of(texts, options.day_first)
    if form == "":
        form = form_of(joined((*head.rows, *last_rows(path, head))), options.day_first)
    if form is None:
        raise SuiteError(
            f"The times such as {texts[0][:60]!r} cannot be read; name another column with --time,"
            " or give --rate HZ."
        )
    if form == "":
        raise SuiteError(
            f"The date {texts[0][:60]!r} has its day or its month first: add --day-first or"
            " --month-first."
        )
    return form


def _unit_of_numbers(name: str, numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    unit = _unit(name)
    if unit is not None and unit[-1] not in "WVA":
        return unit
    for least, found in EPOCHS:
        if numbers.size and numbers[0] > least:
            return found
    steps = np.diff(numbers)
    first, last = SPREADSHEET_DAYS
    if (
        numbers.size > 2
        and first < numbers.min()
        and numbers.max() < min(last, numbers.min() + 1)
        and 0 < float(np.median(steps)) < 1e-2
    ):
        raise SuiteError(
            f"The times in {name!r} look like a spreadsheet's dates ({numbers[0]:.6f} days): add"
            " --time-unit d if they are, else s."
        )
    if (
        numbers.size > 2
        and numbers[0] < 3e8
        and bool((numbers == np.round(numbers)).all())
        and float(np.median(steps)) >= 2
    ):
        raise SuiteError(
            f"The unit of the times in {name!r} cannot be told (whole numbers, {np.median(steps):g}"
            " apart): add --time-unit s, ms, us or ns."
        )
    return "s"


def _rails(head: Head, options: TraceOptions, times: set[int]) -> tuple[Rail, ...]:
    if options.power:
        columns = _distinct(head, options.power, times)
        return tuple(
            Rail(power=column, power_unit=_unit_of(head, column, "W", options.unit))
            for column in columns
        )
    if options.current:
        return _pairs(
            head,
            _distinct(head, options.current, times),
            [_column(head, name) for name in options.voltage],
            options,
        )
    free = [place for place in range(len(head.names)) if place not in times]
    powers = [place for place in free if head.has_header and _is(head.names[place], POWER, "W")]
    if len(powers) == 1:
        return (Rail(power=powers[0], power_unit=_unit_of(head, powers[0], "W", options.unit)),)
    if len(powers) > 1:
        raise SuiteError(
            f"Several columns are powers ({_listed(head, powers)}): name those that add up, with"
            " --power for each."
        )
    voltages = [place for place in free if head.has_header and _is(head.names[place], VOLTAGE, "V")]
    supply = [place for place in voltages if WHOLE_VOLTAGE.search(head.names[place])]
    currents = [
        place
        for place in free
        if head.has_header and place not in voltages and _is(head.names[place], CURRENT, "A")
    ]
    voltages = supply if len(supply) == 1 else voltages
    if len(currents) == 1 and (len(voltages) == 1 or options.volts is not None):
        return _pairs(head, currents, voltages if options.volts is None else [], options)
    if len(currents) == 1 and not voltages:
        raise SuiteError(
            f"The file has a current ({_listed(head, currents)}) and no voltage: add --volts with"
            " the supply's voltage."
        )
    if len(currents) > 1:
        raise SuiteError(
            f"Several columns are currents ({_listed(head, currents)}): name those that add up with"
            " --current, each with its --voltage."
        )
    numeric = [place for place in free if is_number(head.rows[0][place])]
    if len(numeric) == 1 and options.unit is not None:
        return (Rail(power=numeric[0], power_unit=options.unit),)
    # Home Assistant's history of one sensor
    if len(numeric) == 1 and head.names[numeric[0]].lower() == "state":
        return (Rail(power=numeric[0]),)
    raise SuiteError(
        "Which column is the power cannot be told of"
        f" {_listed(head, free) or 'no column but the time'}: add --power COLUMN --unit W (or mW),"
        " or --current and --voltage."
    )


def _distinct(head: Head, names: Sequence[str], times: set[int]) -> list[int]:
    """The columns of these names; raises SuiteError for one that is named twice, which would count
    twice, or is the time."""
    columns = [_column(head, name) for name in names]
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise SuiteError(
                f"The column {head.names[column]!r} is named twice; name each rail once."
            )
        if column in times:
            raise SuiteError(
                f"The column {head.names[column]!r} is the time; name a column of power or current,"
                " or another --time."
            )
    return columns


def _pairs(
    head: Head, currents: Sequence[int], voltages: Sequence[int], options: TraceOptions
) -> tuple[Rail, ...]:
    if options.volts is not None and not 0 < options.volts < np.inf:
        raise SuiteError(
            f"--volts is the supply's voltage, a number above 0, not {options.volts:g}."
        )
    if (not voltages and options.volts is None) or (
        voltages and len(voltages) not in (1, len(currents))
    ):
        raise SuiteError(
            "Give each --current its --voltage, in the same order, or one --voltage or --volts for"
            " all."
        )
    rails = []
    for place, column in enumerate(currents):
        unit = _unit_of(head, column, "A", options.unit)
        if not voltages:
            _refuse_mains(options.volts or 0.0)
            rails.append(Rail(current=column, current_unit=unit, volts=options.volts))
            continue
        voltage = voltages[place] if len(voltages) > 1 else voltages[0]
        voltage_unit = _unit_of(head, voltage, "V", None)
        _refuse_mains(
            float(np.nanmedian(_floats([row[voltage] for row in head.rows], _decimal(head))))
            * UNITS[voltage_unit]
        )
        rails.append(
            Rail(current=column, current_unit=unit, voltage=voltage, voltage_unit=voltage_unit)
        )
    return tuple(rails)


def _refuse_mains(volts: float) -> None:
    if volts > MAX_DIRECT_V:
        raise SuiteError(
            f"Current times voltage is no power at {volts:.0f} V: at the mains it is the apparent"
            " power, which is higher. Name the column of the power with --power."
        )


def _is(name: str, words: "re.Pattern[str]", unit: str) -> bool:
    found = _unit(name)
    if NOT_POWER.search(name):
        return False
    return (
        found.endswith(unit)
        if found is not None and found[-1] in "WVA"
        else bool(words.search(_plain(name)))
    )


def _unit_of(head: Head, column: int, base: str, given: str | None) -> str:
    """The unit of a column: as given, as in its header, or in its cells, else the base unit where
    the header names the quantity."""
    if given is not None:
        if not given.endswith(base):
            known = ", ".join(unit for unit in UNITS if unit.endswith(base))
            raise SuiteError(
                f"--unit {given} is no unit of {head.names[column]!r}; it must be one of {known}."
            )
        return given
    found = _unit(head.names[column]) if head.has_header else None
    if found is not None and found.endswith(base):
        return found
    after_number = re.sub(r"^[-+\d.,eE\s]+", "", head.rows[0][column]).translate(MICRO)
    if after_number in UNITS and after_number.endswith(base):
        return after_number
    words = {"W": POWER, "V": VOLTAGE, "A": CURRENT}[base]
    if head.has_header and words.search(_plain(head.names[column])) and not _is_large(head, column):
        return base
    raise SuiteError(
        f"The unit of {head.names[column]!r} cannot be told: add --unit {base} or --unit m{base}."
    )


def _is_large(head: Head, column: int) -> bool:
    """Whether the column's numbers are too large to be taken for W, V or A without a word of it."""
    numbers = _floats([row[column] for row in head.rows], _decimal(head))
    return bool(np.isfinite(numbers).any()) and float(np.nanmedian(numbers)) > MAX_UNSTATED


def _listed(head: Head, columns: Sequence[int]) -> str:
    return ", ".join(repr(head.names[column]) for column in columns[:30])
