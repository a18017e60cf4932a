"""``counters.json``: event counts in each phase of a run, and the figures of the training region.

Computed from the log, the step records and the readings of the meter "counters" only, so that the checker can recompute them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.channels import Channel, Channels
from suite.bundle.layout import COUNTERS, SCHEMA
from suite.bundle.log import Log
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.catalog.counter_events import HARDWARE_EVENTS, SOFTWARE_EVENTS
from suite.metrics.figure import Figure, unknown
from suite.metrics.window import Counter, Measured

SOURCE = "counters"
USER_ONLY = ":u"
EVENTS = (*SOFTWARE_EVENTS, *HARDWARE_EVENTS)
MIN_PERIODS = 10  # up to one period at each end is interpolated, possibly from another phase: an error of at most a tenth each
RATIOS = {
    "instructions_per_cycle": ("instructions", "cycles"),
    "l1d_miss_ratio": ("l1d_refill", "l1d_access"),
    "branch_mispredict_ratio": ("branch_mispredicts", "branches"),
}
INIT, RUN = "init", "run"
NO_RUN = "the run was not finished"
# figure, event, unit, scale
COUNTS = (
    ("instructions", "instructions", "instructions", 1.0),
    ("cycles", "cycles", "cycles", 1.0),
    ("page_faults", "page_faults", "faults", 1.0),
    ("major_faults", "major_faults", "faults", 1.0),
    ("context_switches", "context_switches", "switches", 1.0),
    ("cpu_migrations", "cpu_migrations", "migrations", 1.0),
    ("cpu_time_s", "task_clock", "s", SECONDS_PER_NS),
)
# figure, ratio
RATIO_FIGURES = (("ipc", "instructions_per_cycle"), ("l1d_miss_ratio", "l1d_miss_ratio"), ("branch_mispredict_ratio", "branch_mispredict_ratio"))


@dataclass(frozen=True)
class EventCount:
    """An event in a phase. ``count`` is scaled by enabled / running time; None when unknown, with the ``reason``.

    ``running_ratio`` is the fraction of the time in which the processor counted; below 1 the count is an extrapolation.
    ``includes_kernel`` is False where only user mode was counted.
    """

    count: float | None
    unit: str | None
    running_ratio: float | None
    includes_kernel: bool | None
    reason: str | None = None


@dataclass(frozen=True)
class PhaseCounts:
    """One phase: its window on the monotonic clock, every event by name, and the ratios (None: one of the two events is unknown)."""

    start_ns: int
    stop_ns: int
    events: Mapping[str, EventCount]
    ratios: Mapping[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "events": {name: dict(vars(event)) for name, event in self.events.items()}}


def phases(log: Log, steps: StepRecords) -> dict[str, Window]:
    """Window of each finished phase on the monotonic clock: ``init``, ``run`` (the training region, evaluations included) and ``epoch <n>``
    (first fetch to last step)."""
    found = {}
    for name in (INIT, RUN):
        start, stop = log.first(f"{name}_start"), log.first(f"{name}_stop")
        if start is not None and stop is not None and start.mono_ns is not None and stop.mono_ns is not None:
            found[name] = (start.mono_ns, stop.mono_ns)
    stops_ns = {event.epoch: event.mono_ns for event in log.all("epoch_stop")}
    for epoch, of_epoch in steps.first_rank.by_epoch():
        stop_ns = stops_ns.get(epoch)
        if stop_ns is not None:
            found[f"epoch {epoch}"] = (int(of_epoch.start_ns[0]), stop_ns)
    return found


def count(bundle: Bundle) -> dict[str, PhaseCounts]:
    """Counts of every phase of a bundle, finished or not."""
    counts = bundle.cached("counts", lambda: count_phases(bundle.channels(), phases(bundle.log(), bundle.steps())))
    return cast("dict[str, PhaseCounts]", counts)


def count_phases(channels: Channels, windows: Mapping[str, Window]) -> dict[str, PhaseCounts]:
    """Counts of each named window."""
    found = {channel.name: channel for channel in channels.of(SOURCE)}
    counts = {event: _count_event(found, event, windows) for event in EVENTS}  # event after event: one's channels are in memory at a time
    return {name: _phase_counts(window, {event: counts[event][name] for event in EVENTS}) for name, window in windows.items()}


def derive_counters(bundle: Bundle) -> dict[str, Any]:
    """``counters.json`` as plain values."""
    return {"schema": SCHEMA, "phases": {name: counts.to_dict() for name, counts in count(bundle).items()}}


def counter_figures(phase: PhaseCounts | None) -> dict[str, Figure]:
    """Figures of the training region: counts, ratios, and ``counter_running_ratio``, the fraction of the time in which the processor counted."""
    if phase is None:
        units = {name: unit for name, _, unit, _ in COUNTS} | {name: "ratio" for name, _ in RATIO_FIGURES} | {"counter_running_ratio": "ratio"}
        return {name: unknown(unit, COUNTERS, NO_RUN) for name, unit in units.items()}
    figures = {name: _count_figure(phase.events[event], unit, scale) for name, event, unit, scale in COUNTS}
    for name, ratio in RATIO_FIGURES:
        figures[name] = _ratio_figure(phase, ratio)
    running = [share for event in HARDWARE_EVENTS if (share := phase.events[event].running_ratio) is not None]
    figures["counter_running_ratio"] = (
        Figure(min(running), "ratio", COUNTERS, len(running), method="minimum over the hardware events")
        if running
        else unknown("ratio", COUNTERS, "no hardware event was counted on this machine")
    )
    return figures


def _phase_counts(window: Window, events: Mapping[str, EventCount]) -> PhaseCounts:
    return PhaseCounts(*window, events, {name: _quotient(events[upper], events[lower]) for name, (upper, lower) in RATIOS.items()})


def _count_event(channels: Mapping[str, Channel], event: str, windows: Mapping[str, Window]) -> dict[str, EventCount]:
    """An event's counts in every window, by the window's name."""
    scope = next((scope for scope in (event, event + USER_ONLY) if f"{scope}.count" in channels), None)
    if scope is None:
        return {name: EventCount(None, None, None, None, "it was not counted on this machine") for name in windows}
    unit, includes_kernel = channels[f"{scope}.count"].unit, scope == event
    of_event = (f"{scope}.{part}" for part in ("count", "enabled", "running"))
    counters = {name: Counter(channels[name]) for name in of_event if name in channels}
    return {name: _count_in(counters, scope, window, unit, includes_kernel) for name, window in windows.items()}


def _count_in(counters: Mapping[str, Counter], scope: str, window: Window, unit: str, includes_kernel: bool) -> EventCount:
    measured = _increase(counters, f"{scope}.count", window)
    running_ratio = _running_ratio(counters, scope, window)
    if measured.value is None or running_ratio is None:
        return EventCount(None, unit, None, includes_kernel, measured.reason or "the processor never counted it in this phase")
    return EventCount(measured.value / running_ratio, unit, running_ratio, includes_kernel)


def _running_ratio(counters: Mapping[str, Counter], scope: str, window: Window) -> float | None:
    """Fraction of the time in which a hardware event was counted; None when it never was. Software events are always counted."""
    if f"{scope}.enabled" not in counters:
        return 1.0
    enabled_s, running_s = (_increase(counters, f"{scope}.{part}", window).value for part in ("enabled", "running"))
    return min(running_s / enabled_s, 1.0) if enabled_s and running_s else None


def _increase(counters: Mapping[str, Counter], name: str, window: Window) -> Measured:
    counter = counters.get(name)
    return counter.increase(window, MIN_PERIODS) if counter else Measured(None, f"{name} was not read", 0.0, 0, None, None, 0, 0)


def _quotient(numerator: EventCount, denominator: EventCount) -> float | None:
    return numerator.count / denominator.count if numerator.count is not None and denominator.count else None


def _count_figure(event: EventCount, unit: str, scale: float) -> Figure:
    if event.count is None:
        return unknown(unit, COUNTERS, str(event.reason))
    return Figure(event.count * scale, unit, COUNTERS, 1, coverage=event.running_ratio, method=_scope([event]))


def _ratio_figure(phase: PhaseCounts, ratio: str) -> Figure:
    names, value = RATIOS[ratio], phase.ratios[ratio]
    events = [phase.events[name] for name in names]
    if value is None:
        missing = {name: event.reason for name, event in zip(names, events, strict=True) if event.count is None}
        reason = "; ".join(f"{name}: {why}" for name, why in missing.items()) or f"{names[1]} is 0"
        return unknown("ratio", COUNTERS, reason)
    return Figure(value, "ratio", COUNTERS, 1, coverage=min(event.running_ratio or 0.0 for event in events), method=_scope(events))


def _scope(events: list[EventCount]) -> str:
    mode = "kernel and user mode" if all(event.includes_kernel for event in events) else "user mode only"
    return f"every thread and process of the implementation on this machine, {mode}"
