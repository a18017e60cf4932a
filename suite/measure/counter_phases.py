"""``counters.json``: what was counted in each phase of a run, computed from the readings of the meter "counters"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suite.measure.counter_events import ARM_CONFIGS, GENERIC_CODES, SOFTWARE_EVENTS
from suite.measure.window import increase

if TYPE_CHECKING:
    import pandas

SOURCE = "counters"
USER_ONLY = ":u"
NANO = 1e-9
NAMES = tuple(dict.fromkeys([*(event.name for event in SOFTWARE_EVENTS), *ARM_CONFIGS, *GENERIC_CODES]))
SHORTEST_PERIODS = 10  # at each end up to a period is interpolated, across what may be another phase: at worst a tenth each
RATIOS = {
    "instructions_per_cycle": ("instructions", "cycles"),
    "l1d_miss_ratio": ("l1d_refill", "l1d_access"),
    "branch_mispredict_ratio": ("branch_mispredicts", "branches"),
}


@dataclass(frozen=True)
class EventCount:
    """An event in a phase. ``count`` is scaled by enabled / running and None when it is unknown, with the ``reason``.

    ``running_ratio`` is the share of the time in which the processor did count; below 1, the count is an extrapolation.
    ``includes_kernel`` is False where only user mode was counted.
    """

    count: float | None
    unit: str | None
    running_ratio: float | None
    includes_kernel: bool | None
    reason: str | None = None


@dataclass(frozen=True)
class PhaseCounts:
    """One phase: every event by name, and the ratios that can be told (None: one of their two events is unknown)."""

    start_ns: int
    stop_ns: int
    events: Mapping[str, EventCount]
    ratios: Mapping[str, float | None]


def count_phases(readings: "pandas.DataFrame", phases: Mapping[str, tuple[int, int]]) -> dict[str, PhaseCounts]:
    """Counts of each phase, named and with its start and stop on the monotonic clock. ``readings`` as in readings.parquet."""
    of_counters = readings[readings["source"] == SOURCE].sort_values("t_ns", kind="stable")
    channels = {str(name): channel for name, channel in of_counters.groupby("channel")}
    return {name: _phase(channels, start_ns, stop_ns) for name, (start_ns, stop_ns) in phases.items()}


def _phase(channels: "Mapping[str, pandas.DataFrame]", start_ns: int, stop_ns: int) -> PhaseCounts:
    events = {name: _event(channels, name, start_ns, stop_ns) for name in NAMES}
    return PhaseCounts(start_ns, stop_ns, events, {name: _ratio(events[above], events[below]) for name, (above, below) in RATIOS.items()})


def _event(channels: "Mapping[str, pandas.DataFrame]", name: str, start_ns: int, stop_ns: int) -> EventCount:
    found = next((scope for scope in (name, name + USER_ONLY) if f"{scope}.count" in channels), None)
    if found is None:
        return EventCount(None, None, None, None, "it was not counted on this machine")
    unit, includes_kernel = str(channels[f"{found}.count"]["unit"].iloc[0]), found == name
    count, reason = _increase(channels[f"{found}.count"], start_ns, stop_ns)
    running_ratio = _running_ratio(channels, found, start_ns, stop_ns)
    if count is None or running_ratio is None:
        return EventCount(None, unit, None, includes_kernel, reason or "the processor never came to count it in this phase")
    return EventCount(count / running_ratio, unit, running_ratio, includes_kernel)


def _running_ratio(channels: "Mapping[str, pandas.DataFrame]", scope: str, start_ns: int, stop_ns: int) -> float | None:
    """Share of the time in which a hardware event was counted; software events always are. None when it never was."""
    if f"{scope}.enabled" not in channels:
        return 1.0
    enabled_s, _ = _increase(channels[f"{scope}.enabled"], start_ns, stop_ns)
    running_s, _ = _increase(channels[f"{scope}.running"], start_ns, stop_ns)
    return min(running_s / enabled_s, 1.0) if enabled_s and running_s else None


def _increase(channel: "pandas.DataFrame", start_ns: int, stop_ns: int) -> tuple[float | None, str | None]:
    t_ns, values = channel["t_ns"].to_numpy(np.int64), channel["value"].to_numpy(np.float64)
    period_s = float(np.median(np.diff(t_ns))) * NANO if len(t_ns) > 1 else 0.0
    measured = increase(t_ns, values, start_ns, stop_ns, period_s)
    if measured.value is not None and (stop_ns - start_ns) * NANO < SHORTEST_PERIODS * period_s:
        return None, f"the phase is shorter than {SHORTEST_PERIODS} periods of {period_s:.3g} s"
    return measured.value, measured.reason


def _ratio(above: EventCount, below: EventCount) -> float | None:
    return above.count / below.count if above.count is not None and below.count else None
