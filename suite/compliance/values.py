"""Values of records that rules calculate with: bundles are hostile input."""

import sys
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[int | float]:
    """A number within the range of a float; no boolean, no NaN."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )
