"""What a run's meters read over time, and what the run was doing then: for the page of one run."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas

from reporter.frames import READINGS, SPANS, Frames
from suite.bundle import Bundle
from suite.channels import of_frame
from suite.energy_figures import power_total
from suite.log import Log
from suite.measure.power import PowerRule

INTERVALS = 400
NANO = 1e-9
LOADS = (("cpu", "utilisation.total", "processor"), ("nvml", "gpu0.utilisation", "GPU"), ("tegra", "gpu.utilisation", "GPU"))


def with_timeline(frames: Frames, run_id: str, bundle: Bundle) -> Frames:
    """The frames with the readings and spans of one run; both stay empty for a run without run_start."""
    log = bundle.log()
    start = log.first("run_start")
    if start is None or start.mono_ns is None:
        return frames
    readings = bundle.readings()
    rows = [*_power(readings, start.mono_ns), *_loads(readings, start.mono_ns)]
    drawn = pandas.DataFrame([(run_id, *row) for row in rows], columns=list(READINGS))
    spans = pandas.DataFrame([(run_id, *row) for row in _spans(log, start.mono_ns)], columns=list(SPANS))
    return replace(frames, readings=drawn, spans=spans)


def _power(readings: pandas.DataFrame, start_ns: int) -> Iterator[tuple[object, ...]]:
    """The total that the energy was taken from, or nothing where there is no power sensor."""
    total = power_total(of_frame(readings))
    if total is None:
        return
    parts = [_watts(readings[(readings["source"] == total.source) & (readings["channel"] == channel)], total.rule) for channel in total.channels]
    if any(part.empty for part in parts):
        return
    name = f"{total.source}: {total.rule.name} ({total.rule.coverage.value}, {total.rule.tier.value})"
    yield from _intervals("power", name, "W", _sum(parts), start_ns)


def _watts(readings: pandas.DataFrame, rule: PowerRule) -> pandas.DataFrame:
    """A channel's readings as power, implausible ones left out; a counter of energy gives the mean power since its reading before."""
    ordered = readings.sort_values("t_ns", kind="stable")
    if rule.unit == "J":
        ordered = ordered.assign(value=ordered["value"].diff() / (ordered["t_ns"].diff() * NANO)).iloc[1:]
    return ordered[ordered["value"].between(*rule.plausible_w)]


def _sum(parts: list[pandas.DataFrame]) -> pandas.DataFrame:
    """Channels added up at the first one's times; between a channel's readings its course is a straight line."""
    first = parts[0]
    values = first["value"].to_numpy(dtype=float)
    for part in parts[1:]:
        values = values + np.interp(first["t_ns"], part["t_ns"], part["value"].astype(float))
    return first.assign(value=values)


def _loads(readings: pandas.DataFrame, start_ns: int) -> Iterator[tuple[object, ...]]:
    for source, channel, name in LOADS:
        chosen = readings[(readings["source"] == source) & (readings["channel"] == channel)]
        if len(chosen):
            yield from _intervals("load", f"{name} ({source}: {channel})", "%", chosen, start_ns)


def _intervals(kind: str, name: str, unit: str, readings: pandas.DataFrame, start_ns: int) -> Iterator[tuple[object, ...]]:
    """Readings in at most INTERVALS intervals of equal length; where they are fewer, each reading is its own interval."""
    known = readings[np.isfinite(readings["value"].astype(float))].sort_values("t_ns")
    t_s = (known["t_ns"].to_numpy() - start_ns) * NANO
    values = known["value"].to_numpy(dtype=float)
    if not len(values):
        return
    if len(values) <= INTERVALS:
        groups = [slice(index, index + 1) for index in range(len(values))]
    else:
        edges = np.searchsorted(t_s, np.linspace(t_s[0], t_s[-1], INTERVALS + 1)[1:-1])
        bounds = [0, *edges.tolist(), len(values)]
        groups = [slice(low, high) for low, high in pairwise(bounds) if high > low]
    for group in groups:
        yield kind, name, float(t_s[group].mean()), float(values[group].min()), float(values[group].mean()), float(values[group].max()), unit


def _spans(log: Log, start_ns: int) -> Iterator[tuple[object, ...]]:
    for event, kind in (("epoch", "epoch"), ("eval", "evaluation")):
        stops = {stop.epoch: stop.mono_ns for stop in log.all(f"{event}_stop")}
        for begin in log.all(f"{event}_start"):
            stop_ns = stops.get(begin.epoch)
            if begin.mono_ns is not None and stop_ns is not None and begin.epoch is not None:
                yield f"{kind} {begin.epoch}", kind, (begin.mono_ns - start_ns) * NANO, (stop_ns - start_ns) * NANO
