"""Durations on the command line."""

import re

from suite.errors import SuiteError

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
