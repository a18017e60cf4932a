"""Where a load begins in readings of power: aligns a meter whose clock is unknown with a moment that is known."""

from collections.abc import Sequence
from statistics import fmean, pstdev

SHORTEST_BEFORE_S = 2.0
SHORTEST_AFTER_S = 5.0
CLEAR = 3.0


def power_step_s(t_s: Sequence[float], power_w: Sequence[float]) -> float | None:
    """The moment of the rise that splits the readings best into a lower and a higher level; None while it is not clear.

    Clear means at least two seconds of readings before and five after it, and a rise of more than three times the scatter around
    the two levels. The moment is the middle between the last low and the first high reading.
    """
    best = _best_split(power_w)
    if best is None or t_s[best - 1] - t_s[0] < SHORTEST_BEFORE_S or t_s[-1] - t_s[best] < SHORTEST_AFTER_S:
        return None
    before, after = power_w[:best], power_w[best:]
    scatter_w = (pstdev(before) * len(before) + pstdev(after) * len(after)) / len(power_w)
    if fmean(after) - fmean(before) <= CLEAR * scatter_w:
        return None
    return (t_s[best - 1] + t_s[best]) / 2


def _best_split(power_w: Sequence[float]) -> int | None:
    """The index of the rise that leaves the least squared distance from the two levels' means; None where nothing rises."""
    total = sum(power_w)
    below, best, best_gain = 0.0, None, 0.0
    for index in range(1, len(power_w)):
        below += power_w[index - 1]
        low, high = below / index, (total - below) / (len(power_w) - index)
        gain = (high - low) * abs(high - low) * index * (len(power_w) - index)
        if gain > best_gain:
            best, best_gain = index, gain
    return best
