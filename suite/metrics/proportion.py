"""A share of independent trials with its 95 % interval."""

import math
from dataclasses import dataclass

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Proportion:
    """``successes`` of ``count`` trials, one at least, with Wilson's interval (1927), which stays within [0, 1]."""

    successes: int
    count: int
    value: float
    low: float
    high: float


def proportion(successes: int, count: int) -> Proportion:
    """The share; raises ValueError for no trials, and for more successes than trials."""
    if not 0 <= successes <= count or count == 0:
        raise ValueError(f"{successes} of {count} is no share")
    value = successes / count
    scale = 1 + Z * Z / count
    middle, half = (value + Z * Z / (2 * count)) / scale, Z * math.sqrt(value * (1 - value) / count + Z * Z / (4 * count * count)) / scale
    return Proportion(successes, count, value, max(0.0, middle - half), min(1.0, middle + half))
