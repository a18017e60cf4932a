"""A finding: a rule's complaint, with what a person needs to mend it."""

import enum
from dataclasses import dataclass


class Severity(str, enum.Enum):
    """Invalid: the result cannot stand. Warning: a reader should know. Note: nothing to mend."""

    INVALID = "invalid"
    WARNING = "warning"
    NOTE = "note"


LONGEST = 500


def escaped(text: str) -> str:
    """The text with all escaped that a terminal might obey or cannot show: file names and values may be anything."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text)


@dataclass(frozen=True)
class Finding:
    """``file`` is relative to the bundle (or names the request), ``line`` the true line number where one line is to blame."""

    rule: str
    severity: Severity
    file: str
    line: int | None
    expected: str
    observed: str
    fix: str
