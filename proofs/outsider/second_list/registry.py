"""What a lie is: a function that edits a copy of a real run or submission, with what it gains and
what contradicts it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ERROR, EDITED, FABRICATED = "error", "edited record", "fabricated run"
NOTHING = "nothing"


@dataclass(frozen=True)
class Lie:
    """One entry: ``sample`` names the real run that is edited; ``reseal`` False leaves saving to
    the function (submissions, files)."""

    subject: str
    name: str
    level: str
    gains: str
    contradicted: str
    sample: str
    reseal: bool
    edit: Callable[[Any], None]
    text: str


LIES: list[Lie] = []


def lie(
    subject: str,
    level: str,
    gains: str,
    contradicted: str,
    sample: str = "closed",
    reseal: bool = True,
) -> Callable[[Callable[[Any], None]], Any]:
    """Register a function as a lie; its docstring says what it does."""

    def register(edit: Callable[[Any], None]) -> Callable[[Any], None]:
        LIES.append(
            Lie(
                subject,
                edit.__name__,
                level,
                gains,
                contradicted,
                sample,
                reseal,
                edit,
                " ".join((edit.__doc__ or "").split()),
            )
        )
        return edit

    return register
