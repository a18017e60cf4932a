"""``counters.json``: what was counted in each phase of a run, computed from the readings of the meter "counters"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.bundle.channels import Channels, Window
from suite.meters.counter_events import ARM_CONFIGS, GENERIC_CODES, SOFTWARE_EVENTS

SOURCE = "counters"
USER_ONLY = ":u"
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "events": {name: dict(vars(event)) for name, event in self.events.items()}}


def count_phases(channels: Channels, phases: Mapping[str, Window]) -> dict[str, PhaseCounts]:
    """Counts of each phase, named and with its start and stop on the monotonic clock."""
    return {name: _phase(channels, window) for name, window in phases.items()}


def _phase(channels: Channels, window: Window) -> PhaseCounts:
    events = {name: _event(channels, name, window) for name in NAMES}
    return PhaseCounts(*window, events, {name: _ratio(events[above], events[below]) for name, (above, below) in RATIOS.items()})


def _event(channels: Channels, name: str, window: Window) -> EventCount:
    found = next((scope for scope in (name, name + USER_ONLY) if channels.get(SOURCE, f"{scope}.count")), None)
    if found is None:
        return EventCount(None, None, None, None, "it was not counted on this machine")
    unit, includes_kernel = channels.get(SOURCE, f"{found}.count").unit, found == name
    count, reason = _increase(channels, f"{found}.count", window)
    running_ratio = _running_ratio(channels, found, window)
    if count is None or running_ratio is None:
        return EventCount(None, unit, None, includes_kernel, reason or "the processor never came to count it in this phase")
    return EventCount(count / running_ratio, unit, running_ratio, includes_kernel)


def _running_ratio(channels: Channels, scope: str, window: Window) -> float | None:
    """Share of the time in which a hardware event was counted; software events always are. None when it never was."""
    if not channels.get(SOURCE, f"{scope}.enabled"):
        return 1.0
    enabled_s, _ = _increase(channels, f"{scope}.enabled", window)
    running_s, _ = _increase(channels, f"{scope}.running", window)
    return min(running_s / enabled_s, 1.0) if enabled_s and running_s else None


def _increase(channels: Channels, name: str, window: Window) -> tuple[float | None, str | None]:
    measured = channels.get(SOURCE, name).increase(window, SHORTEST_PERIODS, "the phase is")
    return measured.value, measured.reason


def _ratio(above: EventCount, below: EventCount) -> float | None:
    return above.count / below.count if above.count is not None and below.count else None
