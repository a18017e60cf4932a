"""A share of independent trials with its 95 % interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Proportion:
    """``successes`` of ``count`` trials, one at least, with Wilson's interval (1927), which stays
    within [0, 1]."""

    successes: int
    count: int
    value: float
    low: float
    high: float


def proportion(successes: int, count: int) -> Proportion:
    """The share; raises ValueError for no trials, and for more successes than trials."""
    if not 0 <= successes <= count or count == 0:
        raise ValueError(f"{successes} of {count} is not a share")
    from scipy.stats import binomtest  # type: ignore[import-untyped]  # start-up: slow to load

    interval = binomtest(successes, count).proportion_ci(method="wilson")
    return Proportion(
        successes, count, successes / count, float(interval.low), float(interval.high)
    )
