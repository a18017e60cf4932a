"""Names: those that become folders', and the known one that a wrong one means."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

from suite.errors import SuiteError

_STROKED = str.maketrans(
    {
        "Ł": "L",
        "ł": "l",
        "Ø": "O",
        "ø": "o",
        "Đ": "D",
        "đ": "d",
        "ß": "ss",
        "Æ": "AE",
        "æ": "ae",
        "Œ": "OE",
        "œ": "oe",
    }
)
"""Letters of Latin alphabets that are no letter with an accent to Unicode."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")
LIKENESS = 0.7
"""Of a name that is meant by another: below, two short names are alike by chance."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The question whether the nearest known name, or else the only one that begins like it, was
    meant, "did you mean 'x'? "; empty without one."""
    folded, typed = {each.casefold(): each for each in names}, name.casefold()
    begun = [each for each in folded if each.startswith(typed)]
    found = difflib.get_close_matches(typed, folded, n=1, cutoff=LIKENESS) or begun
    if len(found) != 1:
        return ""
    return f"did you mean {folded[found[0]]!r}? "


def is_plain_name(value: str) -> bool:
    """Whether it is lower-case letters, digits, dots, dashes and underscores, 60 at most."""
    return _PLAIN.fullmatch(value) is not None


def plain_name(value: str, what: str) -> str:
    """The name; raises SuiteError, with a similar name that will do, unless it is lower-case
    letters, digits, dots, dashes and underscores."""
    if is_plain_name(value):
        return value
    ascii_only = (
        unicodedata.normalize("NFKD", value.translate(_STROKED))
        .encode("ascii", "ignore")
        .decode()
        .lower()
    )
    similar = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")[:60]
    hint = f"; {similar!r} would do" if is_plain_name(similar) else ""
    raise SuiteError(
        f"{what} {value[:80]!r} must be at most 60 lower-case letters, digits, '.', '-' and"
        f" '_', because a folder is named after it{hint}."
    )
