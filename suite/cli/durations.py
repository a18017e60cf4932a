"""Durations on the command line."""

import re
from itertools import pairwise

from suite.errors import SuiteError

READ = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_NOTHING = re.compile(r"0+(\.0+)?")
_NEARLY = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)[a-z]*", re.IGNORECASE)


def parse_duration(text: str, option: str) -> float:
    """A duration such as 250ms, 30s, 10m or 1h in seconds; raises SuiteError, naming the option."""
    found = _DURATION.fullmatch(text)
    if found is None:
        units = "a number and its unit, such as 250ms, 30s or 10m"
        if text.replace(".", "", 1).isdecimal():
            units = f"its unit: {text}h for hours, {text}m for minutes, {text}s for seconds"
        elif nearly := _NEARLY.fullmatch(text):
            units = nearly[1] + nearly[2].lower()
        raise SuiteError(f"{option} {text!r} is not a duration; write {units}.")
    return float(found[1]) * UNITS[found[2]]


def parse_limit(text: str, option: str) -> float:
    """A duration, s, that leaves time for something; raises SuiteError for 0, too."""
    limit_s = 0.0 if _NOTHING.fullmatch(text) else parse_duration(text, option)
    if limit_s <= 0:
        raise SuiteError(f"{option} {text} leaves no time; give more, such as {option} 10m.")
    return limit_s


def duration_text(time_s: float) -> str:
    """A time as people say it: 2.5 s, 10 min 37 s, 3 h 12 min."""
    if time_s < 59.5:
        return f"{time_s:.1f} s" if time_s < 9.95 else f"{time_s:.0f} s"
    for (size, unit), (smaller, second) in pairwise(READ):
        whole = round(time_s / smaller) * smaller
        if whole >= size:
            more = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {more} {second}" if more else "")
    raise AssertionError(time_s)
