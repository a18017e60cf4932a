"""``counters.json``: what was counted in each phase of a run, and the figures of the whole run that follow from it.

Computed from the log, the step records and the readings of the meter "counters", and from nothing else: the checker computes it again.
"""

from typing import TYPE_CHECKING, Any, cast

from suite.bundle.channels import Window
from suite.bundle.layout import COUNTERS, SCHEMA
from suite.bundle.reader import Bundle
from suite.metrics.counter_phases import EventCount, PhaseCounts, count_phases
from suite.metrics.figure import Figure, unknown

if TYPE_CHECKING:
    from suite.bundle.log import Log
    from suite.bundle.mini_batches import MiniBatches

from reference_impls.contract import SECONDS_PER_NS

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
# figure, ratio, its two events
RATIOS = (
    ("ipc", "instructions_per_cycle", ("instructions", "cycles")),
    ("l1d_miss_ratio", "l1d_miss_ratio", ("l1d_refill", "l1d_access")),
    ("branch_mispredict_ratio", "branch_mispredict_ratio", ("branch_mispredicts", "branches")),
)
HARDWARE = ("instructions", "cycles", "l1d_access", "l1d_refill", "branches", "branch_mispredicts", "memory_access")


def phases(log: "Log", steps: "MiniBatches") -> dict[str, Window]:
    """Start and stop of each finished phase on the monotonic clock: ``init``, ``run`` (the training region, evaluations included) and
    ``epoch <n>``, from an epoch's first fetch to its last step."""
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
    counts = bundle.cached("counts", lambda: count_phases(bundle.channels(), phases(bundle.log(), bundle.mini_batches())))
    return cast("dict[str, PhaseCounts]", counts)


def derive_counters(bundle: Bundle) -> dict[str, Any]:
    """``counters.json`` as plain values."""
    return {"schema": SCHEMA, "phases": {name: counts.to_dict() for name, counts in count(bundle).items()}}


def counter_figures(phase: PhaseCounts | None) -> dict[str, Figure]:
    """Figures of the training region: counts, ratios, and ``counter_running_ratio``, the share of time in which the processor counted."""
    if phase is None:
        units = {name: unit for name, _, unit, _ in COUNTS} | {name: "ratio" for name, *_ in RATIOS} | {"counter_running_ratio": "ratio"}
        return {name: unknown(unit, COUNTERS, NO_RUN) for name, unit in units.items()}
    figures = {name: _count(phase.events[event], unit, scale) for name, event, unit, scale in COUNTS}
    for name, ratio, events in RATIOS:
        figures[name] = _ratio(phase.ratios[ratio], [phase.events[event] for event in events], events)
    running = [event.running_ratio for event in map(phase.events.__getitem__, HARDWARE) if event.running_ratio is not None]
    figures["counter_running_ratio"] = (
        Figure(min(running), "ratio", COUNTERS, len(running), method="the least of all hardware events")
        if running
        else unknown("ratio", COUNTERS, "no hardware event was counted on this machine")
    )
    return figures


def _count(event: EventCount, unit: str, scale: float) -> Figure:
    if event.count is None:
        return unknown(unit, COUNTERS, str(event.reason))
    return Figure(event.count * scale, unit, COUNTERS, 1, coverage=event.running_ratio, method=_scope([event]))


def _ratio(value: float | None, events: list[EventCount], names: tuple[str, str]) -> Figure:
    if value is None:
        missing = {name: event.reason for name, event in zip(names, events, strict=True) if event.count is None}
        reason = "; ".join(f"{name}: {why}" for name, why in missing.items()) or f"{names[1]} is 0"
        return unknown("ratio", COUNTERS, reason)
    return Figure(value, "ratio", COUNTERS, 1, coverage=min(event.running_ratio or 0.0 for event in events), method=_scope(events))


def _scope(events: list[EventCount]) -> str:
    mode = "kernel and user mode" if all(event.includes_kernel for event in events) else "user mode only"
    return f"every thread and process of the implementation on this machine, {mode}"
