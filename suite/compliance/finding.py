"""A finding: a rule's complaint, with what a person needs to mend it."""

import enum
from dataclasses import dataclass


class Severity(str, enum.Enum):
    """Invalid: the result cannot stand. Warning: a reader should know. Note: nothing to mend."""

    INVALID = "invalid"
    WARNING = "warning"
    NOTE = "note"


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
