"""Tables of comparisons: fields of a record, and what is expected of them."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import NamedTuple

from suite.bundle.log import Log, LogEvent
from suite.compliance.rule import Violation, Violations
from suite.compliance.wording import value_text


class ExpectedField(NamedTuple):
    """A field, its expected value, why that one (as it goes on after the value), and what to do
    where the rule's own remedy does not say enough."""

    field: str
    expected: object
    why: str = ""
    fix: str | None = None

    @property
    def expectation(self) -> str:
        """What is expected, in words."""
        return f"{self.field} = {value_text(self.expected)}{self.why}"


def differing_fields(
    file: str, read: Callable[[str], object], rows: Iterable[ExpectedField]
) -> Violations:
    """The fields whose value, which ``read`` gives, is not the expected one."""
    for row in rows:
        value = read(row.field)
        if not is_same(value, row.expected):
            yield Violation(file, row.expectation, value_text(value), fix=row.fix)


def logged_otherwise(
    file: str, log: Log, rows: Iterable[ExpectedField], may_lack: bool = False
) -> Violations:
    """The keys of a log whose first event has another value, or that have none, unless they
    ``may_lack`` one."""
    for row in rows:
        event = log.first(row.field)
        if (event is not None or not may_lack) and (
            event is None or not is_same(event.value, row.expected)
        ):
            yield differing_event(file, row.expectation, event, row.fix)


def differing_event(
    file: str, expected: str, event: LogEvent | None, fix: str | None = None
) -> Violation:
    """The violation that an event has another value, or is missing."""
    if event is None:
        return Violation(file, expected, "no such event", fix=fix)
    return Violation(file, expected, value_text(event.value), event.line, fix)


def field_of(record: object) -> Callable[[str], object]:
    """Reads a field of nested objects by its dotted path."""
    return lambda path: reduce(getattr, path.split("."), record)


def is_same(value: object, expected: object) -> bool:
    """Equal, and of one type: no boolean or 4.0 in place of a whole number."""
    return value == expected and (
        type(value) is type(expected) or (type(value) is int and type(expected) is float)
    )
