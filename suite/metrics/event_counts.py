"""``counters.json``: event counts in each phase of a run, and the figures of the training region.

Computed from the log, the step records and the readings of the meter "counters" only, so that the
checker can recompute them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window, span_s
from suite.bundle.channels import Channel, Channels
from suite.bundle.layout import COUNTERS, SCHEMA
from suite.bundle.log import Log
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.catalog.counter_events import AT, HARDWARE_EVENTS, SOFTWARE_EVENTS
from suite.metrics.figure import NOT_FINISHED, Figure, mean_figure, unknown_figure
from suite.metrics.uncertainty import uncertainty_of_ends
from suite.metrics.window import CounterChannel, edge_distance_s

SOURCE = "counters"
USER_ONLY = ":u"
EVENTS = (*SOFTWARE_EVENTS, *HARDWARE_EVENTS)
# up to one period at each end is interpolated, possibly from another phase: an error of at most a
# tenth each
MIN_PERIODS = 10
MAX_SHARED = 1.05
"""Kinds of cores that share a thread's enabled time run no longer than it, but for rounding."""
MAX_EDGE_SHARE = 0.02  # of a shorter window: how far a reading may be from each edge
RATIOS = {
    "instructions_per_cycle": ("instructions", "cycles"),
    "l1d_miss_ratio": ("l1d_refill", "l1d_access"),
    "l1d_load_miss_ratio": ("l1d_load_misses", "l1d_loads"),
    "branch_mispredict_ratio": ("branch_mispredicts", "branches"),
}
INIT, RUN, EPOCH, EVALUATION = "init", "run", "epoch", "evaluation"
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
RATIO_FIGURES = (
    ("ipc", "instructions_per_cycle"),
    ("l1d_miss_ratio", "l1d_miss_ratio"),
    ("l1d_load_miss_ratio", "l1d_load_miss_ratio"),
    ("branch_mispredict_ratio", "branch_mispredict_ratio"),
)
# figure, event, unit, scale: means over epochs 2 to last, without evaluations
EPOCH_COUNTS = (
    ("instructions_per_epoch", "instructions", "instructions", 1.0),
    ("cycles_per_epoch", "cycles", "cycles", 1.0),
    ("cpu_time_per_epoch_s", "task_clock", "s", SECONDS_PER_NS),
)


@dataclass(frozen=True)
class EventCount:
    """An event in a phase. ``count`` is scaled by enabled / running time; None when unknown, with
    the ``reason``.

    ``running_ratio`` is the fraction of the time in which the processor counted; below 1 the count
    is an extrapolation. ``includes_kernel`` is False where only user mode was counted.
    ``uncertainty`` is how far the count may be off because no reading was at the phase's very
    edges: the distance times the rate around the edge. ``by_unit`` are the parts of ``count`` that
    each kind of core counted, where the processor has several.
    """

    count: float | None
    unit: str | None
    running_ratio: float | None
    includes_kernel: bool | None
    reason: str | None = None
    uncertainty: float | None = None
    by_unit: Mapping[str, float] | None = None


@dataclass(frozen=True)
class PhaseCounts:
    """One phase: its window on the monotonic clock, every event by name, and the ratios (None: one
    of the two events is unknown).

    ``start_distance_s`` and ``stop_distance_s``: from each edge to the nearest reading of the
    counters, negative for one before the edge. ``ratios_by_unit``: the ratios of each kind of core,
    where the processor has several.
    """

    start_ns: int
    stop_ns: int
    events: Mapping[str, EventCount]
    ratios: Mapping[str, float | None]
    start_distance_s: float | None
    stop_distance_s: float | None
    ratios_by_unit: Mapping[str, Mapping[str, float | None]] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **vars(self),
            "events": {name: dict(vars(event)) for name, event in self.events.items()},
        }


def phase_windows(log: Log, steps: StepRecords) -> dict[str, Window]:
    """Window of each finished phase on the monotonic clock: ``init``, ``run`` (the training region,
    evaluations included), ``epoch <n>`` (first fetch to last step) and ``evaluation <n>``, the
    evaluation after epoch n."""
    found = {
        name: window
        for name in (INIT, RUN)
        if (window := log.window(f"{name}_start", f"{name}_stop")) is not None
    }
    stops_ns = {event.epoch: event.mono_ns for event in log.all("epoch_stop")}
    for epoch, of_epoch in steps.first_rank.by_epoch():
        stop_ns = stops_ns.get(epoch)
        if stop_ns is not None:
            found[f"{EPOCH} {epoch}"] = (int(of_epoch.start_ns[0]), stop_ns)
    begun_ns = {event.epoch: event.mono_ns for event in log.all("eval_start")}
    for event in log.all("eval_stop"):
        start_ns = begun_ns.get(event.epoch)
        if event.epoch is not None and event.mono_ns is not None and start_ns is not None:
            found[f"{EVALUATION} {event.epoch}"] = (start_ns, event.mono_ns)
    return found


def count_events(bundle: Bundle) -> dict[str, PhaseCounts]:
    """Counts of every phase of a bundle, finished or not."""

    def compute() -> dict[str, PhaseCounts]:
        return count_phases(
            bundle.channels(),
            phase_windows(bundle.log(), bundle.steps()),
            at_edges=not bundle.is_first_schema,
        )

    return bundle.cached("counts", compute)


def count_phases(
    channels: Channels, windows: Mapping[str, Window], *, at_edges: bool = True
) -> dict[str, PhaseCounts]:
    """Counts of each named window. With ``at_edges`` a short one counts if there are readings at
    both of its edges."""
    found = {channel.name: channel for channel in channels.of_source(SOURCE)}
    units = tuple(sorted({unit for name in found if (unit := _unit(name))}))
    counts = {
        event: _count_event(found, event, units, windows, at_edges) for event in EVENTS
    }  # event after event: one's channels are in memory at a time
    edges = _edges(found, windows)
    return {
        name: _phase_counts(
            window, {event: counts[event][name] for event in EVENTS}, units, *edges[name]
        )
        for name, window in windows.items()
    }


def _unit(channel: str) -> str:
    """The counting unit in a channel's name, on processors with several:
    ``cycles@armv8_cortex_a55:u.count``; else empty."""
    return channel.rpartition(".")[0].removesuffix(USER_ONLY).partition(AT)[2]


def _edges(
    channels: Mapping[str, Channel], windows: Mapping[str, Window]
) -> dict[str, tuple[float | None, float | None]]:
    """Distance of the nearest reading to both edges of each window, s. All counters are read
    together: any channel of counts will do."""
    counts = [channel for name, channel in channels.items() if name.endswith(".count")]
    if not counts:
        return {name: (None, None) for name in windows}
    times_ns = counts[0].in_time.t_ns
    return {
        name: (edge_distance_s(times_ns, window[0]), edge_distance_s(times_ns, window[1]))
        for name, window in windows.items()
    }


def derive_counters(bundle: Bundle) -> dict[str, Any]:
    """``counters.json`` as plain values."""
    return {
        "schema": SCHEMA,
        "phases": {name: counts.to_dict() for name, counts in count_events(bundle).items()},
    }


def counter_figures(phase: PhaseCounts | None) -> dict[str, Figure]:
    """Figures of the training region: counts, ratios, and ``counter_running_ratio``, the fraction
    of the time in which the processor counted."""
    if phase is None:
        units = (
            {name: unit for name, _, unit, _ in COUNTS}
            | {name: "ratio" for name, _ in RATIO_FIGURES}
            | {"counter_running_ratio": "ratio"}
        )
        return {name: unknown_figure(unit, COUNTERS, NOT_FINISHED) for name, unit in units.items()}
    figures = {
        name: _count_figure(phase.events[event], unit, scale) for name, event, unit, scale in COUNTS
    }
    for name, ratio in RATIO_FIGURES:
        figures[name] = _ratio_figure(phase, ratio)
    shares = [phase.events[event].running_ratio for event in HARDWARE_EVENTS]
    running = [share for share in shares if share is not None]
    smallest = unknown_figure("ratio", COUNTERS, "no hardware event was counted on this machine")
    if running:
        method = "minimum over the hardware events"
        smallest = Figure(min(running), "ratio", COUNTERS, len(running), method=method)
    return {**figures, "counter_running_ratio": smallest}


def _phase_counts(
    window: Window,
    events: Mapping[str, EventCount],
    units: tuple[str, ...],
    start_s: float | None,
    stop_s: float | None,
) -> PhaseCounts:
    by_unit = {
        unit: _ratios({name: (event.by_unit or {}).get(unit) for name, event in events.items()})
        for unit in units
    }
    ratios = _ratios({name: event.count for name, event in events.items()})
    return PhaseCounts(*window, events, ratios, start_s, stop_s, by_unit or None)


def _ratios(counts: Mapping[str, float | None]) -> dict[str, float | None]:
    return {
        name: _quotient(counts[upper], counts[lower]) for name, (upper, lower) in RATIOS.items()
    }


@dataclass(frozen=True)
class _Scope:
    """An event's counters on one kind of core, or on all; ``enabled`` and ``running`` are times,
    None for what is always counted. ``is_whole``: the kernel's work is counted, too."""

    count: CounterChannel
    enabled: CounterChannel | None
    running: CounterChannel | None
    unit: str
    is_whole: bool


def _scope_of(channels: Mapping[str, Channel], event: str, core: str) -> _Scope | None:
    named = f"{event}{AT}{core}" if core else event
    for name, is_whole in ((named, True), (named + USER_ONLY, False)):
        if f"{name}.count" in channels:
            count = channels[f"{name}.count"]
            enabled, running = (
                CounterChannel(channels[key]) if (key := f"{name}.{part}") in channels else None
                for part in ("enabled", "running")
            )
            return _Scope(CounterChannel(count), enabled, running, count.unit, is_whole)
    return None


def _count_event(
    channels: Mapping[str, Channel],
    event: str,
    units: tuple[str, ...],
    windows: Mapping[str, Window],
    at_edges: bool,
) -> dict[str, EventCount]:
    """An event's counts in every window, by the window's name."""
    found = {unit: _scope_of(channels, event, unit) for unit in units}
    if not any(found.values()):
        found = {"": _scope_of(channels, event, "")}
    scopes = {unit: scope for unit, scope in found.items() if scope is not None}
    if not scopes:
        reason = "it was not counted on this machine"
        return dict.fromkeys(windows, EventCount(None, None, None, None, reason))
    is_whole = all(scope.is_whole for scope in scopes.values())
    uncounted = EventCount(None, next(iter(scopes.values())).unit, None, is_whole)
    if len(scopes) < len(found):
        lacking = ", ".join(unit for unit in found if unit not in scopes)
        reason = f"{lacking} cores do not count it, so their work is missing"
        return dict.fromkeys(windows, replace(uncounted, reason=reason))
    return {
        name: _count_in(scopes, window, uncounted, at_edges) for name, window in windows.items()
    }


def _count_in(
    scopes: Mapping[str, _Scope], window: Window, uncounted: EventCount, at_edges: bool
) -> EventCount:
    """The count of a window, summed over the kinds of cores.

    ``uncounted`` is returned, with a reason, where nothing was counted.
    """
    measured = {unit: scope.count.increase_alone(window) for unit, scope in scopes.items()}
    reason = next((why for value, why in measured.values() if value is None), None)
    running = _running_ratios(scopes, window)
    raw = {unit: value for unit, (value, _) in measured.items() if value is not None}
    is_hardware = any(scope.enabled is not None for scope in scopes.values())
    if reason is None and running is not None and is_hardware and not any(raw.values()):
        reason = "the count stayed 0: the processor lacks this event"
    if reason is not None or running is None:
        return replace(uncounted, reason=reason or "the processor never counted it in this phase")
    edges = {unit: scope.count.edge(window) for unit, scope in scopes.items()}
    period_s = max(scope.count.period_s or 0.0 for scope in scopes.values())
    length_s = span_s(window)
    is_at_edges = max(edge.distance_s for edge in edges.values()) <= MAX_EDGE_SHARE * length_s
    if length_s < MIN_PERIODS * period_s and not (at_edges and is_at_edges):
        reason = f"the window is shorter than {MIN_PERIODS} reading periods of {period_s:.3g} s"
        return replace(uncounted, reason=reason)
    by_unit = {unit: value / running.of_unit[unit] for unit, value in raw.items()}
    widths = [
        edge.uncertainty / running.of_unit[unit]
        for unit, edge in edges.items()
        if edge.uncertainty is not None
    ]
    return replace(
        uncounted,
        count=sum(by_unit.values()),
        running_ratio=running.whole,
        uncertainty=sum(widths) if len(widths) == len(edges) else None,
        by_unit=by_unit if "" not in scopes else None,
    )


@dataclass(frozen=True)
class _Running:
    """Fraction of the time in which an event was counted: on each kind of core, and altogether."""

    of_unit: Mapping[str, float]
    whole: float


def _running_ratios(scopes: Mapping[str, _Scope], window: Window) -> _Running | None:
    """How long a hardware event was counted; None when it never was. Software events are always
    counted.

    A thread runs on one kind of core at a time, and the kinds share its enabled time. Kernels that
    enable an event on its own kind of core only are known by running times that add up to more.
    """
    if all(scope.enabled is None for scope in scopes.values()):
        return _Running(dict.fromkeys(scopes, 1.0), 1.0)
    enabled_s = {unit: _increase(scope.enabled, window) for unit, scope in scopes.items()}
    running_s = {unit: _increase(scope.running, window) for unit, scope in scopes.items()}
    longest_s, total_s = max(enabled_s.values()), sum(running_s.values())
    if not longest_s or not total_s:
        return None
    if total_s <= MAX_SHARED * longest_s:
        whole = min(total_s / longest_s, 1.0)
        return _Running(dict.fromkeys(scopes, whole), whole)
    own = {
        unit: min(running_s[unit] / enabled_s[unit], 1.0) or 1.0
        for unit in scopes
        if enabled_s[unit]
    }
    whole = min(total_s / sum(enabled_s.values()), 1.0)
    return _Running({unit: own.get(unit, 1.0) for unit in scopes}, whole)


def _increase(counter: CounterChannel | None, window: Window) -> float:
    """The increase; 0 where it is not known."""
    return 0.0 if counter is None else counter.increase_alone(window)[0] or 0.0


def _quotient(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _count_figure(event: EventCount, unit: str, scale: float) -> Figure:
    if event.count is None:
        return unknown_figure(unit, COUNTERS, str(event.reason))
    uncertainty = (
        None if event.uncertainty is None else uncertainty_of_ends(event.uncertainty * scale)
    )
    return Figure(
        event.count * scale,
        unit,
        COUNTERS,
        1,
        coverage=event.running_ratio,
        method=_scope([event]),
        uncertainty=uncertainty,
    )


def epoch_figures(later: Sequence[PhaseCounts]) -> dict[str, Figure]:
    """Counts of an epoch, from its first fetch to its last step, without the evaluation: means over
    ``later``, epochs 2 to last."""
    figures = {}
    for name, event, unit, scale in EPOCH_COUNTS:
        counts = [phase.events[event] for phase in later]
        known = [scale * one.count for one in counts if one.count is not None]
        if not known or len(known) < len(counts):
            reasons = (str(one.reason) for one in counts if one.count is None)
            reason = next(reasons, "fewer than two epochs were finished")
            figures[name] = unknown_figure(unit, COUNTERS, reason)
            continue
        widths = [one.uncertainty for one in counts if one.uncertainty is not None]
        figures[name] = replace(
            mean_figure(known, unit, COUNTERS, ""),
            coverage=min(one.running_ratio or 0.0 for one in counts),
            uncertainty=(
                uncertainty_of_ends(sum(widths) / len(widths) * scale)
                if len(widths) == len(known)
                else None
            ),
            method=_scope(counts),
        )
    return figures


def _ratio_figure(phase: PhaseCounts, ratio: str) -> Figure:
    names, value = RATIOS[ratio], phase.ratios[ratio]
    events = [phase.events[name] for name in names]
    if value is None:
        named = zip(names, events, strict=True)
        missing = [f"{name}: {event.reason}" for name, event in named if event.count is None]
        return unknown_figure("ratio", COUNTERS, "; ".join(missing) or f"{names[1]} is 0")
    return Figure(
        value,
        "ratio",
        COUNTERS,
        1,
        coverage=min(event.running_ratio or 0.0 for event in events),
        method=_scope(events),
    )


def _scope(events: list[EventCount]) -> str:
    is_whole = all(event.includes_kernel for event in events)
    mode = "kernel and user mode" if is_whole else "user mode only"
    units = sorted({unit for event in events for unit in event.by_unit or ()})
    kinds = f"; sum of {' and '.join(units)}, which counters.json lists separately" if units else ""
    return f"every thread and process of the implementation on this machine, {mode}{kinds}"
