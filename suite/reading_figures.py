"""Figures of what the machine did during a run: load, clocks, temperature, memory, disk, page cache, disturbances."""

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.bundle import READINGS
from suite.figures import Figure, mean_figure, unknown
from suite.measure.disturbances import find_clock_steps, find_throttling, is_watched
from suite.measure.window import increase

if TYPE_CHECKING:
    import pandas

Window = tuple[int, int]
NANO = 1e-9
NEAR_S = 2.0  # a reading of the page cache belongs to a moment this close; the harness asks for one at each end of an epoch
SHORTEST_PERIODS = 5  # of a counter in a window: at each end up to one is interpolated
COUNTER_UNITS = ("operations", "events", "J", "s", "ns", "bits")
COUNTER_SOURCES = ("counters", "disk", "network", "wall-clock")


@dataclass(frozen=True)
class Gauge:
    """A figure from readings: of the first (source, channel pattern) that was read, the mean or the greatest value."""

    unit: str
    how: str
    channels: tuple[tuple[str, str], ...]


def _of_gpu(what: str) -> tuple[tuple[str, str], ...]:
    return (("tegra", f"gpu.{what}"), ("nvml", f"gpu0.{what}"), ("tegrastats", f"gpu.{what}"), ("jtop", f"gpu.{what}"))


def _of_memory_controller(what: str) -> tuple[tuple[str, str], ...]:
    return tuple((source, f"memory_controller.{what}") for source in ("tegra", "tegrastats", "jtop"))


GAUGES: Mapping[str, Gauge] = {
    "cpu_utilisation": Gauge("%", "mean", (("cpu", "utilisation.total"),)),
    "cpu_utilisation_max": Gauge("%", "max", (("cpu", "utilisation.total"),)),
    "cpu_frequency_hz": Gauge("Hz", "mean", (("cpu", "frequency.core*"),)),
    "gpu_utilisation": Gauge("%", "mean", _of_gpu("utilisation")),
    "gpu_utilisation_max": Gauge("%", "max", _of_gpu("utilisation")),
    "gpu_frequency_hz": Gauge("Hz", "mean", _of_gpu("frequency")),
    "memory_controller_utilisation": Gauge("%", "mean", _of_memory_controller("utilisation")),
    "memory_controller_frequency_hz": Gauge("Hz", "mean", _of_memory_controller("frequency")),
    "temperature_max_degc": Gauge("degC", "max", (("temperature", "*"), ("nvml", "gpu*.temperature"))),
    "peak_rss_bytes": Gauge("B", "max", (("memory", "process_tree_rss"),)),
    "peak_process_rss_bytes": Gauge("B", "max", (("memory", "largest_process_peak_rss"),)),
    "memory_used_max_bytes": Gauge("B", "max", (("memory", "used"),)),
    "swap_used_max_bytes": Gauge("B", "max", (("memory", "swap_used"),)),
}
DISK_RATES = {
    "disk_read_ops_per_s": ("read_operations", "operations/s"),
    "disk_read_bytes_per_s": ("read_bytes", "B/s"),
    "disk_write_ops_per_s": ("write_operations", "operations/s"),
    "disk_write_bytes_per_s": ("write_bytes", "B/s"),
}


def reading_figures(readings: "pandas.DataFrame", window: Window | None) -> dict[str, Figure]:
    """Every figure of this page; ``window`` is from run_start to run_stop (None: the run was not finished, all readings count)."""
    during = readings if window is None else readings[readings["t_ns"].between(*window)]
    by_source = {str(source): rows for source, rows in during.groupby("source")}
    figures = {name: _gauge(by_source, gauge) for name, gauge in GAUGES.items()}
    for name, (channel, unit) in DISK_RATES.items():
        figures[name] = _rate(readings, channel, unit, window)
    for name, at in (("page_cache_start_ratio", 0), ("page_cache_end_ratio", 1)):
        value = None if window is None else resident_ratio(readings, window[at])
        reason = "the run was not finished" if window is None else f"the page cache was not read within {NEAR_S:g} s of this moment"
        figures[name] = unknown("ratio", READINGS, reason) if value is None else Figure(value, "ratio", READINGS, 1)
    return {**figures, **_disturbance_figures(readings, window)}


def resident_ratio(readings: "pandas.DataFrame", moment_ns: int, window_s: float = math.inf) -> float | None:
    """Share of the data set in memory at a moment: the nearest reading, if one was taken within two seconds of it.

    At an end of a window of ``window_s`` it must be within a twentieth of that, too: a fast disk is read before a later reading comes.
    """
    near_s = min(NEAR_S, window_s / 20)
    rows = readings[(readings["source"] == "page-cache") & (readings["channel"] == "resident")]
    distances_ns = (rows["t_ns"] - moment_ns).abs()
    if rows.empty or distances_ns.min() * NANO > near_s:
        return None
    return float(rows["value"].loc[distances_ns.idxmin()])


def disk_increase(readings: "pandas.DataFrame", channel: str, window: Window) -> tuple[float | None, str | None, float | None]:
    """How far a counter of the data's disk went in a window, or why that cannot be told; and the readings' period."""
    rows = readings[(readings["source"] == "disk") & (readings["channel"] == channel)]
    if len(rows) < 2:
        return None, "the disk that holds the data was not read", None
    t_ns, values = rows["t_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
    period_s = float(np.median(np.diff(np.sort(t_ns)))) * NANO
    measured = increase(t_ns, values, *window, period_s)
    if measured.value is not None and (window[1] - window[0]) * NANO < SHORTEST_PERIODS * period_s:
        return None, f"the window is shorter than {SHORTEST_PERIODS} periods of {period_s:.3g} s", period_s
    return measured.value, measured.reason, period_s


def disturbances(readings: "pandas.DataFrame", window: Window | None) -> dict[str, list[dict[str, Any]]]:
    """What happened when, in seconds after run_start: throttling and steps of the wall clock; empty for a run that was not finished."""
    if window is None:
        return {"throttling": [], "clock_steps": []}
    return {
        "throttling": [
            {"channel": event.channel, "start_s": (event.t_ns - window[0]) / 1e9, "held_s": event.held_s, "count": event.count}
            for event in find_throttling(readings, *window)
        ],
        "clock_steps": [{"at_s": (step.t_ns - window[0]) / 1e9, "step_s": step.step_s} for step in find_clock_steps(readings, *window)],
    }


def channel_statistics(readings: "pandas.DataFrame", window: Window | None) -> list[dict[str, Any]]:
    """Mean, least and greatest value of every gauge during the run: each core, each sensor, each rail. Counters have none."""
    during = readings if window is None else readings[readings["t_ns"].between(*window)]
    found = []
    for (source, channel), rows in during.groupby(["source", "channel"], sort=True):
        unit = str(rows["unit"].iloc[0])
        if source not in COUNTER_SOURCES and unit not in COUNTER_UNITS:
            value = rows["value"]
            numbers = {"count": len(rows), "mean": float(value.mean()), "minimum": float(value.min()), "maximum": float(value.max())}
            found.append({"source": str(source), "channel": str(channel), "unit": unit, **numbers})
    return found


def _gauge(by_source: "Mapping[str, pandas.DataFrame]", gauge: Gauge) -> Figure:
    for source, pattern in gauge.channels:
        if source not in by_source:
            continue
        of_source = by_source[source]
        names = fnmatch.filter(sorted(of_source["channel"].unique()), pattern)
        chosen = of_source[of_source["channel"].isin(names)]
        if not chosen.empty:
            return _of_values(chosen, gauge, f"{source}: {', '.join(names[:8])}")
    asked = " or ".join(f"{source} ({pattern})" for source, pattern in gauge.channels)
    return unknown(gauge.unit, READINGS, f"nothing was read during the run of {asked}")


def _of_values(chosen: "pandas.DataFrame", gauge: Gauge, method: str) -> Figure:
    values = [float(value) for value in chosen["value"]]
    times_ns = chosen["t_ns"][chosen["channel"] == chosen["channel"].iloc[0]]
    period_s = float(times_ns.diff().median() * NANO) if len(times_ns) > 1 else None
    if gauge.how == "max":
        return Figure(max(values), gauge.unit, READINGS, len(values), period_s, method=method)
    mean = mean_figure(values, gauge.unit, READINGS, "", period_s)
    return Figure(mean.value, gauge.unit, READINGS, mean.count, period_s, spread=mean.spread, method=method)


def _rate(readings: "pandas.DataFrame", channel: str, unit: str, window: Window | None) -> Figure:
    if window is None:
        return unknown(unit, READINGS, "the run was not finished")
    amount, reason, period_s = disk_increase(readings, channel, window)
    if amount is None:
        return unknown(unit, READINGS, str(reason))
    return Figure(amount / ((window[1] - window[0]) * NANO), unit, READINGS, 1, period_s, method="the whole disk that holds the data")


def _disturbance_figures(readings: "pandas.DataFrame", window: Window | None) -> dict[str, Figure]:
    if window is None:
        return {name: unknown("events", READINGS, "the run was not finished") for name in ("throttled_events", "clock_steps")}
    throttled = unknown("events", READINGS, "nothing on this machine told of throttling during the run")
    if is_watched(readings):
        events = find_throttling(readings, *window)
        throttled = Figure(sum(event.count for event in events), "events", READINGS, len(events))
    steps = unknown("events", READINGS, "the wall clock was not watched during the run")
    if (readings["source"] == "wall-clock").any():
        found = find_clock_steps(readings, *window)
        steps = Figure(len(found), "events", READINGS, len(found))
    return {"throttled_events": throttled, "clock_steps": steps}
