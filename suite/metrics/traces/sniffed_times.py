"""Which columns of a logger's file are its times, and how they are written."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas

from suite.bundle.arrays import Values
from suite.errors import SuiteError
from suite.metrics.traces.columns import (
    DATE,
    TIME,
    TraceOptions,
    column_of,
    floats_of,
    refuse_other_unit,
    unit_of_name,
    words_of_name,
)
from suite.metrics.traces.head import Head, last_rows, looks_like_time
from suite.metrics.traces.logs import TEGRASTATS
from suite.metrics.traces.moments import form_of
from suite.metrics.traces.series import MAX_TURNS
from suite.metrics.traces.trace_format import quantity_of_unit

SPREADSHEET_DAYS = 20_000, 80_000
"""Dates of spreadsheets: days since 1899-12-30, here of 1954 to 2119."""
EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Numbers above the first are times since 1970 in the second."""


def time_columns(head: Head, options: TraceOptions, decimal: str) -> tuple[int, ...]:
    """The columns of the times; none where the rows come at a rate."""
    if options.rate_hz is not None:
        if not 0 < options.rate_hz < np.inf or options.time:
            raise SuiteError(
                "--rate is for rows without times: give it a finite number above 0, and leave"
                " --time out."
            )
        return ()
    if options.time:
        return tuple(column_of(head, name) for name in options.time)
    named = [
        place
        for place, name in enumerate(head.names)
        if head.has_header and TIME.search(words_of_name(name)) and not _unit_is_electric(name)
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
        f"Of the columns {', '.join(map(repr, head.names[:30]))}, none is clearly the time: add"
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
    unit = unit_of_name(name)
    return unit is not None and quantity_of_unit(unit) != "s"


def _rises(cells: Sequence[str], decimal: str) -> bool:
    """Whether the numbers never fall, and rise as often as times that several rows share do."""
    steps = np.diff(floats_of(cells, decimal))
    return (
        len(steps) > 0
        and bool((steps >= 0).all())
        and (int(np.sum(steps > 0)) >= len(steps) // MAX_TURNS)
        and bool(steps.any())
    )


def time_kind(
    head: Head, times: tuple[int, ...], options: TraceOptions, decimal: str
) -> tuple[str, str]:
    """The kind of the times, and their unit."""
    if not times:
        return "index", "s"
    numbers = floats_of([row[times[0]] for row in head.rows], decimal)
    if len(times) == 1 and np.isfinite(numbers).mean() > 0.5:
        name = head.names[times[0]]
        if options.time_unit is None:
            return "number", _unit_of_numbers(name, numbers[np.isfinite(numbers)])
        refuse_other_unit(name, _time_unit(name), options.time_unit, "--time-unit")
        return "number", options.time_unit
    return "text", "s"


def time_form(path: Path, head: Head, times: tuple[int, ...], options: TraceOptions) -> str:
    """How the times are written: one form for the whole file."""

    def joined(rows: Sequence[Sequence[str]]) -> "pandas.Series[str]":
        return pandas.Series([" ".join(row[place] for place in times) for row in rows], dtype=str)

    texts = joined(head.rows)
    is_american = head.log == TEGRASTATS and options.day_first is None
    day_first = False if is_american else options.day_first
    form = form_of(texts, day_first)
    if form == "":
        form = form_of(joined((*head.rows, *last_rows(path, head))), day_first)
    if form is None:
        raise SuiteError(
            f"The times such as {texts[0][:60]!r} cannot be read; name another column with --time,"
            " or give --rate HZ."
        )
    if form == "":
        raise SuiteError(
            f"The date {texts[0][:60]!r} does not show whether its day or its month comes first: "
            "add --day-first or --month-first."
        )
    return form


def _time_unit(name: str) -> str | None:
    unit = unit_of_name(name)
    return unit if unit is not None and quantity_of_unit(unit) == "s" else None


def _unit_of_numbers(name: str, numbers: Values) -> str:
    if unit := _time_unit(name):
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
            " --time-unit d if they are, or --time-unit s if they are not."
        )
    if (
        numbers.size > 2
        and numbers[0] < 3e8
        and bool((numbers == np.round(numbers)).all())
        and float(np.median(steps)) >= 2
    ):
        raise SuiteError(
            f"The unit of the times in {name!r} is not stated (whole numbers, "
            f"{np.median(steps):g} apart): add --time-unit s, ms, us or ns."
        )
    return "s"
