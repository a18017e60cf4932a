"""Which cases of a test run in `make test`, and which only in a proof (`make prove NAME`), which
sets EVERY_CASE."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")

EVERY_CASE = os.environ.get("EVERY_CASE") == "1"
"""True in a proof."""


def in_ci() -> bool:
    """In continuous integration what is missing fails, and so does a test beyond its budget."""
    return os.environ.get("CI", "") not in ("", "0", "false")


def one_of_each(cases: Iterable[Case], kind: Callable[[Case], object]) -> Sequence[Case]:
    """The first case of each kind; in a proof all cases."""
    listed = list(cases)
    if EVERY_CASE:
        return listed
    return list({kind(case): case for case in reversed(listed)}.values())[::-1]


def some(cases: Iterable[Case], count: int = 1) -> Sequence[Case]:
    """The first ``count`` cases; in a proof all."""
    listed = list(cases)
    return listed if EVERY_CASE else listed[:count]
