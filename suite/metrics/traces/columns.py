"""Columns of a logger's file: what their names and cells say of quantity and unit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas

from suite.bundle.arrays import Values
from suite.errors import SuiteError
from suite.metrics.traces.head import Head
from suite.metrics.traces.trace_format import MICRO, UNITS, quantity_of_unit

POWER = re.compile(
    r"\b(a?power|leistung|puissance|potencia|watts?|pow|p|pkgwatt)\b|^(?:u|m|k)?w$", re.IGNORECASE
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
ENERGY = re.compile(r"\ba?energy\b|\benergie\b|\b[mk]?wh\b", re.IGNORECASE)
NOT_POWER = re.compile(
    r"factor|energy|charge|capacity|reactive|apparent|mean time|\b[mk]?wh\b|\bm?ah\b", re.IGNORECASE
)
IN_BRACKETS = re.compile(r"[\[(]\s*([^\])]*?)\s*[\])]")
LAST_WORD = re.compile(r"[A-Z][a-z]{3,}s$")
"""Of a name in a program: ElapsedSeconds."""
AT_END = re.compile(r"(?:^|[\s_./-])([a-zA-Zµμ]{1,3})$")
WORDS = {
    "watt": "W",
    "watts": "W",
    "milliwatts": "mW",
    "microwatts": "uW",
    "kilowatts": "kW",
    "millijoules": "mJ",
    "microjoules": "uJ",
    "joules": "J",
    "joule": "J",
    "volts": "V",
    "volt": "V",
    "amps": "A",
    "ampere": "A",
    "milliamps": "mA",
    "microamps": "uA",
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


@dataclass(frozen=True)
class TraceOptions:
    """What somebody says of a file. Columns are names of the header, or numbers from 1; ``unit``
    applies to all columns of power, energy or current. ``series`` are names, ``sum`` adds up all
    that the file has in turn. ``decimal`` is the decimal sign, where 1.234 may be a thousand.
    ``mean``: each row is the mean since the row before (None: of instruments that are known to do
    so).
    """

    time: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    voltage: tuple[str, ...] = ()
    volts: float | None = None
    time_unit: str | None = None
    unit: str | None = None
    rate_hz: float | None = None
    day_first: bool | None = None
    series: tuple[str, ...] = ()
    sum: bool = False
    decimal: str | None = None
    mean: bool | None = None


def column_of(head: Head, name: str) -> int:
    """The column of this name, or of this number from 1."""
    if name in head.names:
        return head.names.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(head.names):
        return int(name) - 1
    raise SuiteError(
        f"There is no column {name!r}; the file has {', '.join(map(repr, head.names[:30]))}."
    )


def words_of_name(name: str) -> str:
    """A name's words, without signs and brackets."""
    return re.sub(r"[\s_./:-]+", " ", IN_BRACKETS.sub(" ", name)).strip()


def unit_of_name(name: str) -> str | None:
    """The unit that a header names, as in UNITS; None without one."""
    bracketed: list[str] = [found.strip() for found in IN_BRACKETS.findall(name)]
    at_end: list[str] = AT_END.findall(name)
    of_words: list[str] = [*words_of_name(name).split()[-1:], *LAST_WORD.findall(name.strip())]
    for text in (*bracketed, *at_end, *of_words, name.strip().lower()):
        unit = WORDS.get(text.lower(), text.translate(MICRO))
        if unit in UNITS:
            return unit
        if unit.lower() in LOWER_CASE and unit != "MW":
            return LOWER_CASE[unit.lower()]
    return None


def refuse_other_unit(name: str, stated: str | None, given: str, option: str) -> None:
    """Raise SuiteError where the file states another unit of a column than the option says."""
    if stated is not None and (quantity_of_unit(stated), UNITS[stated]) != (
        quantity_of_unit(given),
        UNITS[given],
    ):
        raise SuiteError(f"{name!r} is in {stated}, not in {given}: leave {option} out.")


def floats_of(cells: Sequence[str], decimal: str) -> Values:
    """Cells as numbers; NaN for anything else."""
    whole = (
        pandas.Series(list(cells)).str.replace(",", ".")
        if decimal == ","
        else pandas.Series(list(cells))
    )
    return np.asarray(pandas.to_numeric(whole, errors="coerce"), np.float64)


def is_quantity(name: str, words: re.Pattern[str], unit: str) -> bool:
    """Whether a column is of the quantity W, V or A, by its unit or its words."""
    found = unit_of_name(name)
    if NOT_POWER.search(name):
        return False
    return (
        quantity_of_unit(found) == unit
        if found is not None and quantity_of_unit(found) != "s"
        else bool(words.search(words_of_name(name)))
    )


def column_names(head: Head, columns: Sequence[int]) -> str:
    """The names of columns."""
    return ", ".join(repr(head.names[column]) for column in columns[:30])
