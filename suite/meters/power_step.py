"""Finds the power step with which a load starts: aligns a meter whose clock is unknown with the start of the run."""

from collections.abc import Sequence
from statistics import fmean, pstdev

MIN_BEFORE_S = 2.0
MIN_AFTER_S = 5.0
MIN_STEP_TO_SCATTER = 3.0


def power_step_s(t_s: Sequence[float], power_w: Sequence[float]) -> float | None:
    """The time of the step up that divides the readings best (least squares) into a lower and a higher level; None while it is not clear.

    It is clear with at least two seconds of readings before it, five after it, and a step of more than three times the scatter around
    the two levels. Its time is the middle between the last low and the first high reading.
    """
    best = _best_split(power_w)
    if best is None or t_s[best - 1] - t_s[0] < MIN_BEFORE_S or t_s[-1] - t_s[best] < MIN_AFTER_S:
        return None
    before, after = power_w[:best], power_w[best:]
    scatter_w = (pstdev(before) * len(before) + pstdev(after) * len(after)) / len(power_w)
    if fmean(after) - fmean(before) <= MIN_STEP_TO_SCATTER * scatter_w:
        return None
    return (t_s[best - 1] + t_s[best]) / 2


def _best_split(power_w: Sequence[float]) -> int | None:
    """The first index of the higher level, by the least squared deviation from the two levels' means; None when there is no step up."""
    total = sum(power_w)
    below, best, best_gain = 0.0, None, 0.0
    for index in range(1, len(power_w)):
        below += power_w[index - 1]
        low, high = below / index, (total - below) / (len(power_w) - index)
        gain = (high - low) * abs(high - low) * index * (len(power_w) - index)
        if gain > best_gain:
            best, best_gain = index, gain
    return best
