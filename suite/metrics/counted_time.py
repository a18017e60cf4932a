"""What is not counted into a run's time: the logged intervals, and the run without them.

The log has ``uncounted_start`` and ``uncounted_stop`` with the same ``reason``;
`rules/uncounted.toml` has the reasons and their limits. A time or an energy of the run is that of
its counted windows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window, span_s
from suite.bundle.log import Log, LogEvent
from suite.metrics.energy import Energy

START, STOP = "uncounted_start", "uncounted_stop"
MAX_SHARE_UNREAD = 0.02
"""Of a window: what is left out without a reading of its own then moves an energy by less than
on-board sensors err."""


@dataclass(frozen=True)
class UncountedInterval:
    """One logged interval, ns on the monotonic clock; ``line`` is that of its start."""

    reason: str
    epoch: int | None
    start_ns: int
    stop_ns: int
    line: int

    @property
    def length_s(self) -> float:
        """Its length."""
        return (self.stop_ns - self.start_ns) * SECONDS_PER_NS


def uncounted_intervals(log: Log) -> tuple[UncountedInterval, ...]:
    """A log's intervals, in order; an event without its partner is left out, and counted time goes
    on."""
    found: list[UncountedInterval] = []
    begun: LogEvent | None = None
    for event in log.events:
        if event.key == START:
            begun = event
        elif event.key == STOP and begun is not None:
            interval = _interval(begun, event)
            if interval is not None and (not found or found[-1].stop_ns <= interval.start_ns):
                found.append(interval)
            begun = None
    return tuple(found)


def _interval(begun: LogEvent, ended: LogEvent) -> UncountedInterval | None:
    reason = begun.metadata.get("reason")
    if not isinstance(reason, str) or ended.metadata.get("reason") != reason:
        return None
    if begun.mono_ns is None or ended.mono_ns is None or begun.mono_ns > ended.mono_ns:
        return None
    return UncountedInterval(reason, begun.epoch, begun.mono_ns, ended.mono_ns, begun.line)


def counted_windows(window: Window, intervals: Sequence[UncountedInterval]) -> tuple[Window, ...]:
    """The parts of a window that are counted; the window itself where nothing in it is left out."""
    parts, start_ns = [], window[0]
    for interval in intervals:
        left_ns, right_ns = max(interval.start_ns, start_ns), min(interval.stop_ns, window[1])
        if left_ns < right_ns:
            parts.append((start_ns, left_ns))
            start_ns = right_ns
    return (*parts, (start_ns, window[1]))


def counted_s(window: Window, intervals: Sequence[UncountedInterval]) -> float:
    """The counted time of a window."""
    return (
        sum(stop_ns - start_ns for start_ns, stop_ns in counted_windows(window, intervals))
        * SECONDS_PER_NS
    )


def trained_s(log: Log) -> float | None:
    """Counted time from run_start to the last evaluation; None where it was not logged."""
    start, evaluations = log.first("run_start"), log.all("eval_accuracy")
    if start is None or not evaluations or start.mono_ns is None or evaluations[-1].mono_ns is None:
        return None
    return counted_s((start.mono_ns, evaluations[-1].mono_ns), uncounted_intervals(log))


def counted_energy(
    energy_of: Callable[[int, int], Energy | None],
    window: Window,
    intervals: Sequence[UncountedInterval],
) -> Energy | None:
    """The energy of a window without that of its intervals; ``energy_of`` gives the energy from
    start to stop. Their readings do not count.

    An interval whose own energy is not known, as one after the last reading, is taken at the
    window's mean power, and all of that is added to the half-width of the gaps. None where
    ``energy_of`` has none for the window, or where such intervals are more than
    :data:`MAX_SHARE_UNREAD` of it.
    """
    whole = energy_of(*window)
    inside = [
        interval
        for interval in intervals
        if window[0] <= interval.start_ns < interval.stop_ns <= window[1]
    ]
    if whole is None or whole.energy_j is None or not inside:
        return whole
    parts = [
        (interval, part)
        for interval in inside
        if (part := energy_of(interval.start_ns, interval.stop_ns)) is not None
    ]
    unread_s = sum(interval.length_s for interval, part in parts if part.energy_j is None)
    unread_share = unread_s / span_s(window)
    if unread_share > MAX_SHARE_UNREAD:
        missing = next(part.reason for _, part in parts if part.energy_j is None)
        return replace(
            whole,
            value=None,
            uncertainty=None,
            reason=f"the energy of the time that is not counted is unknown: {missing}",
        )
    unread_j = whole.energy_j * unread_share
    uncertainty = whole.uncertainty and replace(
        whole.uncertainty, gaps=math.hypot(whole.uncertainty.gaps, unread_j)
    )
    return replace(
        whole,
        value=whole.energy_j - unread_j - sum(part.energy_j or 0.0 for _, part in parts),
        count=whole.count - sum(part.count for _, part in parts),
        rejected=whole.rejected - sum(part.rejected for _, part in parts),
        uncertainty=uncertainty,
    )


def counted_power_w(figures: Mapping[str, Mapping[str, Any]]) -> float | None:
    """The mean power of a summary's run, W: its energy, which is that of its counted windows, over
    their time; None where one of the two is unknown."""
    energy_j, gross_s, uncounted_s = (
        figures[name]["value"] for name in ("energy_j", "gross_time_s", "uncounted_s")
    )
    counted_s = None if gross_s is None else gross_s - uncounted_s
    return energy_j / counted_s if energy_j is not None and counted_s else None
