"""Energy of a window of time from readings of power, or from a counter of energy; and how well it was measured.

Power is taken as linear between two readings (the trapezoid rule) and a counter's energy likewise; where the window cuts
between two readings, the value there is interpolated.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

GAP_PERIODS = 3.0
NANO = 1e-9


@dataclass(frozen=True)
class Energy:
    """Energy of a window, and how well it was measured. ``energy_j`` is None when it cannot be told, and ``reason`` says why.

    ``coverage`` is the fraction of the window between two readings that are no further apart than three periods,
    ``gaps`` how many longer pauses there were, ``achieved_period_s`` the median time between the window's readings, ``count``
    how many readings lie in the window, ``rejected`` how many of them were not plausible and left out.
    """

    energy_j: float | None
    reason: str | None
    coverage: float
    gaps: int
    achieved_period_s: float | None
    longest_gap_s: float | None
    count: int
    rejected: int


def integrate_power(t_ns: Times, power_w: Values, start_ns: int, stop_ns: int, period_s: float, plausible_w: tuple[float, float]) -> Energy:
    """Energy in [start, stop] from readings of power (W) at their times; readings outside ``plausible_w`` are left out.

    ``period_s`` is the meter's period. The first and the last reading may be up to three periods inside the window, and are
    then held; further away, nothing is known of a part of the window, and the energy is None.
    """
    kept = np.isfinite(power_w) & (power_w >= plausible_w[0]) & (power_w <= plausible_w[1])
    rejected = int(np.count_nonzero(~kept & (t_ns >= start_ns) & (t_ns <= stop_ns)))
    return _measure(t_ns[kept], power_w[kept], start_ns, stop_ns, period_s, rejected, is_counter=False)


def difference_counter(t_ns: Times, energy_j: Values, start_ns: int, stop_ns: int, period_s: float) -> Energy:
    """Energy in [start, stop] from readings of a counter of energy (J) that does not wrap; a value below the one before is left out.

    Where the first or last reading is up to three periods inside the window, the power next to it is held.
    """
    finite = np.isfinite(energy_j)
    kept = finite.copy()
    kept[finite] = energy_j[finite] >= np.maximum.accumulate(energy_j[finite])
    rejected = int(np.count_nonzero(~kept & (t_ns >= start_ns) & (t_ns <= stop_ns)))
    return _measure(t_ns[kept], energy_j[kept], start_ns, stop_ns, period_s, rejected, is_counter=True)


def _measure(t_ns: Times, values: Values, start_ns: int, stop_ns: int, period_s: float, rejected: int, *, is_counter: bool) -> Energy:
    order = np.argsort(t_ns, kind="stable")
    t_s = (t_ns[order] - start_ns).astype(np.float64) * NANO  # exact integers first: a boot's nanoseconds do not fit a float's 53 bits for long
    values, window_s, reach_s = values[order], (stop_ns - start_ns) * NANO, GAP_PERIODS * period_s
    inside = (t_s >= 0) & (t_s <= window_s)
    covered_s, gaps, longest_gap_s = _coverage(t_s, window_s, reach_s)
    steps_s = np.diff(t_s[inside])
    reason = _reason(t_s, window_s, reach_s)
    return Energy(
        energy_j=None if reason else _energy_j(t_s, values, window_s, is_counter),
        reason=reason,
        coverage=covered_s / window_s if window_s > 0 else 0.0,
        gaps=gaps,
        achieved_period_s=float(np.median(steps_s)) if len(steps_s) else None,
        longest_gap_s=longest_gap_s,
        count=int(np.count_nonzero(inside)),
        rejected=rejected,
    )


def _reason(t_s: Values, window_s: float, reach_s: float) -> str | None:
    """Why the energy of the window cannot be told; None when it can."""
    if window_s <= 0:
        return "the window is empty"
    if len(t_s) < 2:
        return f"{len(t_s)} plausible readings; two are needed"
    if t_s[0] >= window_s or t_s[-1] <= 0:
        return "no reading lies in the window or on both sides of it"
    if t_s[0] > reach_s:
        return f"the first reading is {t_s[0]:.3g} s after the start, more than three periods"
    if window_s - t_s[-1] > reach_s:
        return f"the last reading is {window_s - t_s[-1]:.3g} s before the end, more than three periods"
    return None


def _coverage(t_s: Values, window_s: float, reach_s: float) -> tuple[float, int, float | None]:
    """Time in the window between close readings, how many pauses are too long, and the longest one (the window's ends included)."""
    if window_s <= 0 or not len(t_s):
        return 0.0, 0, None
    steps_s, clipped_s = np.diff(t_s), np.diff(np.clip(t_s, 0.0, window_s))
    within = clipped_s > 0
    long = steps_s > reach_s * (1 + 1e-9)
    ends_s = [max(0.0, t_s[0]), max(0.0, window_s - t_s[-1])]
    longest_gap_s = max(float(steps_s[within].max(initial=0.0)), *map(float, ends_s))
    gaps = int(np.count_nonzero(within & long)) + sum(end_s > reach_s for end_s in ends_s)
    return float(clipped_s[within & ~long].sum()), gaps, longest_gap_s


def _energy_j(t_s: Values, values: Values, window_s: float, is_counter: bool) -> float:
    if is_counter:
        return _at(t_s, values, window_s) - _at(t_s, values, 0.0)
    inside = (t_s > 0) & (t_s < window_s)
    times = np.concatenate(([0.0], t_s[inside], [window_s]))
    ends = np.interp([0.0, window_s], t_s, values)  # beyond the readings, interp holds the nearest
    power_w = np.concatenate((ends[:1], values[inside], ends[1:]))
    return float(np.sum(np.diff(times) * (power_w[1:] + power_w[:-1])) / 2)


def _at(t_s: Values, energy_j: Values, moment_s: float) -> float:
    """The counter at a moment, with the power next to it beyond the readings."""
    for near, next_one in ((0, 1), (-1, -2)):
        beyond = moment_s < t_s[0] if near == 0 else moment_s > t_s[-1]
        if beyond and t_s[next_one] != t_s[near]:
            slope_w = (energy_j[next_one] - energy_j[near]) / (t_s[next_one] - t_s[near])
            return float(energy_j[near] + slope_w * (moment_s - t_s[near]))
    return float(np.interp(moment_s, t_s, energy_j))
