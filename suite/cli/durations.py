"""Durations on the command line."""

import re

from suite.errors import SuiteError

READ = ((86_400, "d"), (3600, "h"), (60, "min"))
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def seconds(text: str, option: str) -> float:
    """A duration such as 250ms, 30s, 10m or 1h in seconds; raises SuiteError, naming the option."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise SuiteError(
            f"{option} {text!r} is not a duration; write a number and its unit, such as 250ms, 30s"
            " or 10m."
        )
    return float(found[1]) * UNITS[found[2]]


def duration(time_s: float) -> str:
    """A time as people say it: 2.5 s, 10 min 37 s, 3 h 12 min."""
    if time_s < 59.95:
        return f"{time_s:.1f} s" if time_s < 9.95 else f"{time_s:.0f} s"
    whole = round(time_s)
    units = (*READ, (1, "s"))
    place = next(place for place, (size, _) in enumerate(units) if whole >= size)
    (size, unit), (smaller, second) = units[place : place + 2]
    more = whole % size // smaller
    return f"{whole // size} {unit}" + (f" {more} {second}" if more else "")
