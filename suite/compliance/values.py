"""Values of records that rules calculate with: bundles are hostile input."""

import sys
from typing import TypeGuard

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.log import LogEvent


def is_number(value: object) -> TypeGuard[int | float]:
    """A number within the range of a float; no boolean, no NaN."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def elapsed_s(before: LogEvent | None, after: LogEvent | None) -> float | None:
    """Time between two events by the monotonic clock, s; None where one is missing or has no time
    by it."""
    if before is None or after is None or before.mono_ns is None or after.mono_ns is None:
        return None
    return (after.mono_ns - before.mono_ns) * SECONDS_PER_NS
