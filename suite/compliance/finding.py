"""A finding: one violation of one rule, with what a person needs to fix it."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Severity(str, enum.Enum):
    """Invalid: the result does not comply. Warning: it complies, and readers should know. Note:
    information."""

    INVALID = "invalid"
    WARNING = "warning"
    NOTE = "note"


MAX_TEXT_LENGTH = 500


def printable(text: str) -> str:
    """The text with control and unprintable characters escaped: file names and values come from
    strangers."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


@dataclass(frozen=True)
class Finding:
    """``check`` is the id of the rule's check that found it. ``file`` is relative to the bundle (or
    names the request), ``line`` the line number in it where the violation is of one line."""

    rule: str
    check: str
    severity: Severity
    file: str
    line: int | None
    expected: str
    observed: str
    fix: str

    @property
    def is_invalid(self) -> bool:
        """What it is about does not comply."""
        return self.severity is Severity.INVALID


def rules_broken_by(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Ids of the rules that invalid findings are of, each once."""
    return tuple(dict.fromkeys(finding.rule for finding in findings if finding.is_invalid))
