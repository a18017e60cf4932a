"""Reads the written times of a logger's file, all in one form. Nothing depends on the day of
reading: a time without a year stays a time of day."""

import re
from typing import Any

import numpy as np
import pandas

from suite.bundle.arrays import Values

DAY_S = 86_400.0
CLOCK = (
    r"(?:(?P<days>\d+) DAYS? )?(?P<hour>\d{1,4}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?"
    r"(?:[.,:](?P<fraction>\d+))?\s*(?P<half>[AP])?(?:\.?M\.?)?"
    r"\s*(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{2}:?\d{2})?"
)
MONTH, SIGN = r"(?P<month>\d{1,2}|[A-Z]{3,9})", r"[-/. ]\s*"
DAY, YEAR, SHORT_YEAR = r"(?P<day>\d{1,2})", r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d{2})"
WEEKDAY = r"(?:[A-Z]{3,9},? )?"
NAMED = "month-day year"
FORMS = {
    "year-month-day": rf"{YEAR}[-/. ]?{MONTH}[-/. ]?{DAY}(?:T|,?\s+){CLOCK}",
    "day-month-year": rf"{WEEKDAY}{DAY}{SIGN}{MONTH}{SIGN}{SHORT_YEAR}(?:T|,?\s+){CLOCK}",
    "month-day-year": rf"{WEEKDAY}{MONTH}{SIGN}{DAY}(?:{SIGN}|, ){SHORT_YEAR}(?:T|,?\s+){CLOCK}",
    NAMED: rf"{WEEKDAY}{MONTH}\s+{DAY} {CLOCK} {YEAR}",
    "time of day": rf"(?:{WEEKDAY}{MONTH}{SIGN}{DAY}\.?,? )?{CLOCK}",
}
"""By name, the date first. Letters are upper case."""
TIME_OF_DAY = "time of day"
DAY_FIRST, MONTH_FIRST = "day-month-year", "month-day-year"
ISO, EPOCH = r"\d{4}-\d\d-\d\d[T ]", pandas.Timestamp(0, tz="UTC")
MONTHS = {
    name: month
    for month, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1
    )
}


def seconds_of(texts: Any, form: str) -> Values:
    """Times in a form of FORMS as seconds: since 1970 (UTC unless they say otherwise), or of the
    day; NaN for anything else."""
    if form == "year-month-day" and texts.str.match(ISO).all():
        moments = pandas.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
        if moments.notna().all():  # ten times faster
            return np.asarray((moments - EPOCH) / pandas.Timedelta(seconds=1), np.float64)
    found = texts.str.strip().str.upper().str.extract(rf"^(?:{FORMS[form]})$")
    seconds = _seconds_of_day(found, is_elapsed=form == TIME_OF_DAY)
    if form == TIME_OF_DAY:
        return seconds
    month = found["month"].str[:3].map(MONTHS).fillna(_number(found["month"]))
    year, day = _number(found["year"]), _number(found["day"])
    is_date = month.between(1, 12) & day.between(1, 31)
    months = ((year + np.where(year < 100, 2000, 0) - 1970) * 12 + month - 1).where(is_date, 0)
    first = months.to_numpy(np.int64).astype("datetime64[M]").astype("datetime64[D]")
    days = first.astype(np.int64) + day.to_numpy(np.float64) - 1
    return np.where(is_date, days * DAY_S + seconds - _zone_s(found["zone"]), np.nan)


def form_of(texts: Any, day_first: bool | None = None) -> str | None:
    """The form that reads most of the texts; None where none reads more than half.

    A number of days before or after that of months is told by numbers above 12 and by the shorter
    span; "" where nothing tells it. Points between them mean that the day is first.
    """
    read = {form: seconds_of(texts, form) for form in FORMS}
    counts = {form: int(np.count_nonzero(np.isfinite(read[form]))) for form in FORMS}
    best = max(counts, key=lambda form: counts[form])
    if counts[best] <= len(texts) / 2:
        return None
    if best not in (DAY_FIRST, MONTH_FIRST):
        return best
    if day_first is not None:
        return DAY_FIRST if day_first else MONTH_FIRST
    if counts[DAY_FIRST] != counts[MONTH_FIRST] or np.array_equal(
        read[DAY_FIRST], read[MONTH_FIRST], equal_nan=True
    ):
        return best
    spans_s = {form: np.ptp(_finite(read[form])) for form in (DAY_FIRST, MONTH_FIRST)}
    if spans_s[DAY_FIRST] != spans_s[MONTH_FIRST]:
        return min(spans_s, key=lambda form: spans_s[form])
    return DAY_FIRST if re.match(r"\d+\.", str(texts.iloc[0])) else ""


def _finite(values: Values) -> Values:
    return values[np.isfinite(values)]


def _number(cells: Any) -> Any:
    return pandas.to_numeric(cells, errors="coerce")


def _seconds_of_day(found: Any, *, is_elapsed: bool) -> Values:
    """The clock's part of a time. One colon in a time without a date stands between minutes and
    seconds."""
    hour, minute = _number(found["hour"]), _number(found["minute"])
    second, fraction = _number(found["second"]).fillna(0), _number("0." + found["fraction"])
    is_half = found["half"].notna()
    hour = hour.where(~is_half, hour % 12 + np.where(found["half"] == "P", 12, 0))
    seconds = hour * 3600 + minute * 60 + second
    if is_elapsed:
        is_short = found["second"].isna() & ~is_half & found["days"].isna()
        seconds = seconds.where(~is_short, seconds / 60)
    seconds += fraction.fillna(0) + _number(found["days"]).fillna(0) * DAY_S
    is_time = (minute < 60) & (second <= 60) & (is_elapsed | (hour < 24))
    return np.where(is_time, seconds.to_numpy(np.float64), np.nan)


def _zone_s(zones: Any) -> Values:
    """How far a zone is ahead of UTC, s; 0 without one."""
    parts = zones.str.extract(r"([+-])(\d{2}):?(\d{2})$")
    ahead = _number(parts[1]) * 3600 + _number(parts[2]) * 60
    signed: Values = (ahead * np.where(parts[0] == "-", -1, 1)).fillna(0).to_numpy(np.float64)
    return signed
