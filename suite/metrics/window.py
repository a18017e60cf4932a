"""Integral of a rate, or increase of a counter, over a window of time, with its quality (coverage,
gaps, rejected readings).

Values are interpolated linearly between readings, and at the window's ends.
"""

import math
from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Mask, Times, Values, Window, median, span_s
from suite.bundle.channels import Channel
from suite.files.counted import counted

GAP_PERIODS = 3.0
MIN_SPAN_NS = 100_000_000
"""Over which a rate is taken: readings at two edges may be a fraction of a millisecond apart."""


@dataclass(frozen=True)
class WindowValue:
    """A measured value of a window, with its quality. ``value`` is None, with a ``reason``, if the
    readings do not determine it.

    ``coverage``: fraction of the window between readings at most three periods apart. ``gaps``:
    number of longer pauses. ``achieved_period_s``: median time between the window's readings.
    ``count``: number of readings in the window. ``rejected``: number of readings in the window that
    were left out as implausible.
    """

    value: float | None
    reason: str | None
    coverage: float
    gaps: int
    achieved_period_s: float | None
    longest_gap_s: float | None
    count: int
    rejected: int


def integrate_rates(
    t_ns: Times,
    rates: Values,
    start_ns: int,
    stop_ns: int,
    period_s: float,
    plausible: tuple[float, float],
) -> WindowValue:
    """Integral over [start, stop], in seconds times the rates' unit, by the trapezoidal rule; rates
    outside ``plausible`` are left out.

    ``period_s`` is the meter's period. If the first or last reading is inside the window by up to
    three periods, its value is extended to the window's end; if by more, the value is None.
    """
    return _measure(
        t_ns,
        rates,
        plausible_rates(rates, plausible),
        start_ns,
        stop_ns,
        period_s,
        is_counter=False,
    )


def counter_increase(
    t_ns: Times,
    counts: Values,
    start_ns: int,
    stop_ns: int,
    period_s: float,
    max_per_s: float = math.inf,
) -> WindowValue:
    """Increase of a counter without wraps over [start, stop].

    A count is left out if it is below the previous one, or if its increase exceeds ``max_per_s``.
    If the first or last reading is inside the window by up to three periods, the adjacent rate is
    extrapolated to the window's end; if by more, the value is None.
    """
    t_ns, counts = _in_time(t_ns, counts)
    return _measure(
        t_ns,
        counts,
        plausible_counts(t_ns, counts, max_per_s),
        start_ns,
        stop_ns,
        period_s,
        is_counter=True,
    )


@dataclass(frozen=True)
class Edge:
    """``distance_s``: from the edge to the nearest reading. ``uncertainty``: of the counter at the
    edge; None with fewer than two readings."""

    distance_s: float
    uncertainty: float | None


class CounterChannel:
    """A counter channel, filtered once for increases in many windows."""

    def __init__(self, channel: Channel) -> None:
        ordered = channel.in_time
        kept = plausible_counts(ordered.t_ns, ordered.values)
        self.t_ns, self.counts = ordered.t_ns[kept], ordered.values[kept]
        self.period_s = channel.period_s

    def increase(self, window: Window, min_periods: int = 0) -> WindowValue:
        """Increase in ``window``; None, with a reason, if it is shorter than ``min_periods``: up to
        one period is interpolated at each end."""
        period_s = self.period_s or 0.0
        measured = _measure_plausible(self.t_ns, self.counts, *window, period_s, is_counter=True)
        if measured.value is not None and span_s(window) < min_periods * period_s:
            return replace(
                measured,
                value=None,
                reason=f"the window is shorter than {min_periods} reading periods of"
                f" {period_s:.3g} s",
            )
        return measured

    def increase_alone(self, window: Window) -> tuple[float | None, str | None]:
        """As :meth:`increase`, without the quality: the value, or None and the reason. For many
        windows of many counters."""
        t_s, counts, window_s = _in_seconds(self.t_ns, self.counts, *window)
        reason = _reason(t_s, window_s, GAP_PERIODS * (self.period_s or 0.0))
        return (None if reason else _increase(t_s, counts, window_s)), reason

    def edge(self, window: Window) -> Edge:
        """Both edges of a window: the larger distance, and the sum of the uncertainties.

        Between two readings a counter is interpolated. It cannot be off by more than it grew
        between them, nor, at the largest rate around the edge, by more than that rate times the
        distance to the nearest reading.
        """
        if len(self.t_ns) < 2:
            distances_s = [edge_distance_s(self.t_ns, moment_ns) for moment_ns in window]
            known_s = [abs(each) for each in distances_s if each is not None]
            return Edge(max(known_s, default=math.inf), None)
        beside = [(moment_ns, *_beside(self.t_ns, moment_ns)) for moment_ns in window]
        distances_ns = [abs(float(self.t_ns[nearest] - each)) for each, _, nearest in beside]
        return Edge(max(distances_ns) * SECONDS_PER_NS, sum(starmap(self._uncertainty, beside)))

    def _uncertainty(self, moment_ns: int, after: int, nearest: int) -> float:
        grown = float(self.counts[after] - self.counts[after - 1])
        span_ns = float(self.t_ns[after] - self.t_ns[after - 1])
        rate = max(self._rate_around(nearest), grown / span_ns if span_ns else 0.0)
        distance_ns = abs(int(self.t_ns[nearest]) - moment_ns)
        is_between = self.t_ns[0] <= moment_ns <= self.t_ns[-1]
        return min(grown, rate * distance_ns) if is_between else grown

    def _rate_around(self, place: int) -> float:
        """The larger rate per nanosecond before and after a reading, each over a tenth of a second
        or more."""
        t_ns, counts = self.t_ns, self.counts
        first = max(int(t_ns.searchsorted(t_ns[place] - MIN_SPAN_NS, side="right")) - 1, 0)
        last = min(int(t_ns.searchsorted(t_ns[place] + MIN_SPAN_NS)), len(t_ns) - 1)
        rates = [
            float(counts[stop] - counts[start]) / float(t_ns[stop] - t_ns[start])
            for start, stop in ((first, place), (place, last))
            if stop > start
        ]
        return max(rates, default=0.0)


def edge_distance_s(times_ns: Times, moment_ns: int) -> float | None:
    """Seconds from a moment to the nearest of the sorted times, negative if that is earlier; None
    without any."""
    if not len(times_ns):
        return None
    nearest = _beside(times_ns, moment_ns)[1] if len(times_ns) > 1 else 0
    return float(times_ns[nearest] - moment_ns) * SECONDS_PER_NS


def _beside(times_ns: Times, moment_ns: int) -> tuple[int, int]:
    """Of two times or more: the first from the second one on that is not before a moment, else the
    last one; and the nearest one."""
    after = min(max(int(times_ns.searchsorted(moment_ns)), 1), len(times_ns) - 1)
    is_next = times_ns[after] - moment_ns < moment_ns - times_ns[after - 1]
    return after, after if is_next else after - 1


def plausible_rates(rates: Values, plausible: tuple[float, float]) -> Mask:
    """Mask of finite rates from the lower to the upper one of two."""
    return np.isfinite(rates) & (rates >= plausible[0]) & (rates <= plausible[1])


def plausible_counts(t_ns: Times, counts: Values, max_per_s: float = math.inf) -> Mask:
    """Mask of plausible counter readings, sorted by time (monotonic, bounded rate); the first
    finite reading is the baseline."""
    kept = np.isfinite(counts)
    steps, seconds = np.diff(counts[kept]), np.diff(t_ns[kept]) * SECONDS_PER_NS
    if np.all((steps >= 0) & (steps <= max_per_s * seconds)):
        return kept
    last = None
    for index in np.flatnonzero(kept):
        if last is not None:
            step = counts[index] - counts[last]
            elapsed_s = (t_ns[index] - t_ns[last]) * SECONDS_PER_NS
            kept[index] = 0 <= step <= max_per_s * elapsed_s
        last = index if kept[index] else last
    return kept


def _measure(
    t_ns: Times,
    values: Values,
    kept: Mask,
    start_ns: int,
    stop_ns: int,
    period_s: float,
    *,
    is_counter: bool,
) -> WindowValue:
    rejected = int(np.count_nonzero(~kept & (t_ns >= start_ns) & (t_ns <= stop_ns)))
    measured = _measure_plausible(
        *_in_time(t_ns[kept], values[kept]), start_ns, stop_ns, period_s, is_counter=is_counter
    )
    return replace(measured, rejected=rejected)


def _measure_plausible(
    t_ns: Times, values: Values, start_ns: int, stop_ns: int, period_s: float, *, is_counter: bool
) -> WindowValue:
    """As :func:`_measure`, for plausible readings sorted by time."""
    t_s, values, window_s = _in_seconds(t_ns, values, start_ns, stop_ns)
    reach_s = GAP_PERIODS * period_s
    inside = (t_s >= 0) & (t_s <= window_s)
    covered_s, gaps, longest_gap_s = _coverage(t_s, window_s, reach_s)
    steps_s = np.diff(t_s[inside])
    reason = _reason(t_s, window_s, reach_s)
    amount = _increase if is_counter else _integral
    return WindowValue(
        value=None if reason else amount(t_s, values, window_s),
        reason=reason,
        coverage=covered_s / window_s if window_s > 0 else 0.0,
        gaps=gaps,
        achieved_period_s=median(steps_s) if len(steps_s) else None,
        longest_gap_s=longest_gap_s,
        count=int(np.count_nonzero(inside)),
        rejected=0,
    )


def _in_time(t_ns: Times, values: Values) -> tuple[Times, Values]:
    if (t_ns[1:] >= t_ns[:-1]).all():
        return t_ns, values
    order = np.argsort(t_ns, kind="stable")
    return t_ns[order], values[order]


def _in_seconds(
    t_ns: Times, values: Values, start_ns: int, stop_ns: int
) -> tuple[Values, Values, float]:
    """The readings around the window, in seconds since its start, and its length, s."""
    t_ns, values = readings_around(t_ns, values, start_ns, stop_ns)
    # subtract as integers: nanoseconds since boot exceed a float's 53 bits
    t_s = (t_ns - start_ns).astype(np.float64) * SECONDS_PER_NS
    return t_s, values, (stop_ns - start_ns) * SECONDS_PER_NS


def readings_around(
    t_ns: Times, values: Values, start_ns: int, stop_ns: int
) -> tuple[Times, Values]:
    """The readings in the window, and the nearest ones before and after it; at least two, if there
    are two."""
    first = max(0, int(t_ns.searchsorted(start_ns)) - 1)
    last = int(t_ns.searchsorted(stop_ns, side="right")) + 1
    chosen = slice(max(0, min(first, len(t_ns) - 2)), max(last, first + 2))
    return t_ns[chosen], values[chosen]


def _reason(t_s: Values, window_s: float, reach_s: float) -> str | None:
    """Why the readings do not determine the window's value; None if they do."""
    if window_s <= 0:
        return "the window is empty"
    if len(t_s) < 2:
        return f"{counted(len(t_s), 'plausible reading')}; two are needed"
    if t_s[0] >= window_s or t_s[-1] <= 0:
        return "all readings lie on one side of the window"
    if t_s[0] > reach_s:
        return f"the first reading is {t_s[0]:.3g} s after the start, more than three periods"
    if window_s - t_s[-1] > reach_s:
        return (
            f"the last reading is {window_s - t_s[-1]:.3g} s before the end, more than three"
            " periods"
        )
    return None


def _coverage(t_s: Values, window_s: float, reach_s: float) -> tuple[float, int, float | None]:
    """Seconds of the window between close readings, the number of gaps, and the longest pause
    (including those at the window's ends)."""
    if window_s <= 0 or not len(t_s):
        return 0.0, 0, None
    steps_s, clipped_s = np.diff(t_s), np.diff(t_s.clip(0.0, window_s))
    within = clipped_s > 0
    is_gap = steps_s > reach_s * (1 + 1e-9)
    ends_s = [max(0.0, t_s[0]), max(0.0, window_s - t_s[-1])]
    longest_gap_s = max(float(steps_s[within].max(initial=0.0)), *map(float, ends_s))
    gaps = int(np.count_nonzero(within & is_gap)) + sum(end_s > reach_s for end_s in ends_s)
    return float(clipped_s[within & ~is_gap].sum()), gaps, longest_gap_s


def _integral(t_s: Values, rates: Values, window_s: float) -> float:
    inside = (t_s > 0) & (t_s < window_s)
    times = np.concatenate(([0.0], t_s[inside], [window_s]))
    # outside the readings, interp returns the nearest value
    ends = np.interp([0.0, window_s], t_s, rates)
    all_rates = np.concatenate((ends[:1], rates[inside], ends[1:]))
    return float(np.sum(np.diff(times) * (all_rates[1:] + all_rates[:-1])) / 2)


def _increase(t_s: Values, counts: Values, window_s: float) -> float:
    return _count_at(t_s, counts, window_s) - _count_at(t_s, counts, 0.0)


def _count_at(t_s: Values, counts: Values, moment_s: float) -> float:
    """The counter at a moment; outside the readings, extrapolated at the adjacent rate."""
    for end, beside in ((0, 1), (-1, -2)):
        beyond_s, spacing_s = moment_s - t_s[end], t_s[beside] - t_s[end]
        if beyond_s * spacing_s < 0:
            return float(counts[end] + (counts[beside] - counts[end]) / spacing_s * beyond_s)
    return float(np.interp(moment_s, t_s, counts))
