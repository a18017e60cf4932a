"""Figures of the machine during a run: load, clock frequencies, temperature, memory, disk, page
cache, disturbances."""

import fnmatch
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window, median, span_s
from suite.bundle.channels import Channel, Channels
from suite.bundle.layout import READINGS
from suite.metrics.disturbances import (
    LINKS,
    POWER_MODE,
    find_clock_steps,
    find_link_losses,
    find_setting_changes,
    find_throttling,
    is_clock_watched,
    is_watched,
    is_watched_throughout,
)
from suite.metrics.figure import NOT_FINISHED, Figure, mean_figure, unknown_figure
from suite.metrics.load_figures import load_figures
from suite.metrics.window import CounterChannel

# maximum distance of a page cache reading from its moment; the harness takes one at each end of an
# epoch
MAX_DISTANCE_S = 2.0
NOT_RESIDENT = (
    f"the page cache was not read within {MAX_DISTANCE_S:g} s of this moment (the run's start or"
    " end)"
)
MIN_PERIODS = 5  # shortest window of a counter: up to one period is interpolated at each end
COUNTER_UNITS = ("operations", "events", "J", "s", "ns", "bits")
# The power mode's settings are written when they change: a mean over such readings has no meaning.
COUNTER_SOURCES = ("counters", "disk", LINKS, "load", "network", "wall-clock", POWER_MODE)
NVML, FIRST_GPU = "nvml", "gpu0"


@dataclass(frozen=True)
class Gauge:
    """A figure from readings: mean or maximum over the first of ``channels`` (source, channel
    pattern) that was read, or over all of them."""

    unit: str
    how: str
    channels: tuple[tuple[str, str], ...]
    is_of_all: bool = False


def _gpu(quantity: str) -> tuple[tuple[str, str], ...]:
    return (
        ("tegra", f"gpu.{quantity}"),
        (NVML, f"{FIRST_GPU}.{quantity}"),
        ("tegrastats", f"gpu.{quantity}"),
        ("jtop", f"gpu.{quantity}"),
    )


def _memory_controller(quantity: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (source, f"memory_controller.{quantity}") for source in ("tegra", "tegrastats", "jtop")
    )


GAUGES: Mapping[str, Gauge] = {
    "cpu_utilisation": Gauge("%", "mean", (("cpu", "utilisation.total"),)),
    "cpu_utilisation_max": Gauge("%", "max", (("cpu", "utilisation.total"),)),
    "cpu_frequency_hz": Gauge("Hz", "mean", (("cpu", "frequency.core*"),)),
    "gpu_utilisation": Gauge("%", "mean", _gpu("utilisation")),
    "gpu_utilisation_max": Gauge("%", "max", _gpu("utilisation")),
    "gpu_frequency_hz": Gauge("Hz", "mean", _gpu("frequency")),
    "memory_controller_utilisation": Gauge("%", "mean", _memory_controller("utilisation")),
    "memory_controller_frequency_hz": Gauge("Hz", "mean", _memory_controller("frequency")),
    "temperature_max_degc": Gauge(
        "degC", "max", (("temperature", "*"), (NVML, "gpu*.temperature")), is_of_all=True
    ),
    "resident_sum_max_bytes": Gauge("B", "max", (("memory", "process_tree_rss"),)),
    "peak_process_rss_bytes": Gauge("B", "max", (("memory", "largest_process_peak_rss"),)),
    "memory_used_max_bytes": Gauge("B", "max", (("memory", "used"),)),
    "swap_used_max_bytes": Gauge("B", "max", (("memory", "swap_used"),)),
}
OF_GPU = (NVML, "gpu*.memory_used")
GPU_METHOD = "highest reading of the memory that all programs use on one GPU, over all GPUs"
ONE_PROCESS = Gauge("B", "max", (("memory", "largest_process_peak_rss"),))
PROPORTIONAL = Gauge("B", "max", (("memory", "process_tree_pss"),))
PROPORTIONAL_METHOD = (
    "sum of the processes' proportional set sizes (PSS): a page that n processes share counts 1/n"
    " in each"
)
LARGEST_METHOD = (
    "peak resident set (VmHWM) of the largest process: the sum of all processes' proportional set"
    " sizes, which is read rarely, was smaller"
)
NO_ROLLUP = (
    "the kernel has no smaps_rollup (needs Linux 4.14), or another user's process could not be read"
)
READ_RARELY = "the proportional set sizes of large processes are read rarely"
NO_MEMORY = "memory was not read: the run was shorter than the meter's period, or the meter failed"
DISK_RATES = {
    "disk_read_ops_per_s": ("read_operations", "operations/s"),
    "disk_read_bytes_per_s": ("read_bytes", "B/s"),
    "disk_write_ops_per_s": ("write_operations", "operations/s"),
    "disk_write_bytes_per_s": ("write_bytes", "B/s"),
}


def machine_figures(
    channels: Channels, window: Window | None, *, is_before_v03: bool = False
) -> dict[str, Figure]:
    """All figures of this module. ``window`` is run_start to run_stop; None: the run was not
    finished, and gauges use all readings. In rounds before v0.3 a gauge was of one source, and of
    NVML's first GPU, and the peak of several processes was that of their proportional set sizes."""
    gauges = _gauges(gpu_of_figures(channels, window, is_before_v03=is_before_v03))
    figures = {
        name: _gauge_figure(
            channels, window, replace(gauge, is_of_all=gauge.is_of_all and not is_before_v03)
        )
        for name, gauge in gauges.items()
    }
    for name, (channel, unit) in DISK_RATES.items():
        figures[name] = _rate(channels, channel, unit, window)
    for name, end in (("page_cache_start_ratio", 0), ("page_cache_end_ratio", 1)):
        value = None if window is None else resident_ratio(channels, window[end])
        reason = NOT_FINISHED if window is None else NOT_RESIDENT
        figures[name] = (
            unknown_figure("ratio", READINGS, reason)
            if value is None
            else Figure(value, "ratio", READINGS, 1)
        )
    figures["peak_memory_bytes"] = _peak_memory(channels, window, is_before_v03=is_before_v03)
    source, pattern = OF_GPU
    if any(fnmatch.fnmatchcase(channel.name, pattern) for channel in channels.of_source(source)):
        figures["gpu_memory_max_bytes"] = replace(
            _gauge_figure(channels, window, Gauge("B", "max", (OF_GPU,))), method=GPU_METHOD
        )
    return {**figures, **load_figures(channels, window), **_disturbance_figures(channels, window)}


def gpu_of_figures(channels: Channels, window: Window | None, *, is_before_v03: bool) -> str:
    """Which of NVML's GPUs the figures are of: the one that was used most, as the one that trained
    (NVML counts them by their slots, CUDA from the fastest); in rounds before v0.3 the first."""
    if is_before_v03:
        return FIRST_GPU
    named = (each for each in channels.of_source(NVML) if each.name.endswith(".utilisation"))
    used = list(_during(named, window))
    return max(used, key=lambda each: each.mean).name.partition(".")[0] if used else FIRST_GPU


def _gauges(gpu: str) -> dict[str, Gauge]:
    """The gauges, with this one of NVML's GPUs."""
    return {
        name: replace(
            gauge,
            channels=tuple(
                (source, pattern.replace(f"{FIRST_GPU}.", f"{gpu}."))
                for source, pattern in gauge.channels
            ),
        )
        for name, gauge in GAUGES.items()
    }


def resident_ratio(channels: Channels, moment_ns: int, window_s: float = math.inf) -> float | None:
    """Share of the data set in memory at a moment: the nearest reading, if it is within two seconds
    of it.

    At an end of a window of ``window_s`` it must also be within a twentieth of that: a fast disk
    can be read before a later reading.
    """
    resident = channels.get("page-cache", "resident")
    if not resident:
        return None
    distances_ns = np.abs(resident.t_ns - moment_ns)
    nearest = int(distances_ns.argmin())
    if distances_ns[nearest] * SECONDS_PER_NS > min(MAX_DISTANCE_S, window_s / 20):
        return None
    return float(resident.values[nearest])


def disk_increase(
    channels: Channels, name: str, window: Window
) -> tuple[float | None, str | None, float | None]:
    """Increase of a counter of the data set's disk in ``window``, the reason if it is unknown, and
    the readings' period, s."""
    channel = channels.get("disk", name)
    if channel.period_s is None:
        return None, "the meter `disk` did not read the counters of the data set's disk", None
    measured = CounterChannel(channel).increase(window, MIN_PERIODS)
    return measured.value, measured.reason, channel.period_s


def recorded_disturbances(
    channels: Channels, window: Window | None, is_one_of_several: bool
) -> dict[str, list[dict[str, Any]]]:
    """Throttling events, wall clock steps and changed settings, times in seconds after run_start;
    empty for an unfinished run.

    ``settings`` is there only if the meter ``power-mode`` was read, ``links`` if the meter of that
    name was, on one of several nodes.
    """
    if window is None:
        return {"throttling": [], "clock_steps": []}
    found: dict[str, list[dict[str, Any]]] = {
        "throttling": _listed(find_throttling(channels, *window), window[0], "start_s"),
        "clock_steps": _listed(find_clock_steps(channels, *window), window[0], "at_s"),
    }
    if channels.of_source(POWER_MODE):
        found["settings"] = _listed(find_setting_changes(channels, *window), window[0], "at_s")
    if is_one_of_several and channels.of_source(LINKS):
        found["links"] = _listed(find_link_losses(channels, *window), window[0], "start_s")
    return found


def _listed(found: Iterable[Any], start_ns: int, when: str) -> list[dict[str, Any]]:
    """Disturbances as plain values, each with its time in seconds after run_start."""
    return [
        {
            when if name == "t_ns" else name: (value - start_ns) / 1e9 if name == "t_ns" else value
            for name, value in vars(each).items()
        }
        for each in found
    ]


def channel_statistics(channels: Channels, window: Window | None) -> list[dict[str, Any]]:
    """Mean, minimum and maximum of every gauge during the run (each core, sensor and rail);
    counters are left out."""
    gauges = (
        channel
        for channel in channels
        if channel.source not in COUNTER_SOURCES and channel.unit not in COUNTER_UNITS
    )
    return [
        {
            "source": gauge.source,
            "channel": gauge.name,
            "unit": gauge.unit,
            "count": len(gauge),
            "mean": gauge.mean,
            "minimum": gauge.minimum,
            "maximum": gauge.maximum,
        }
        for gauge in _during(gauges, window)
    ]


def _during(channels: Iterable[Channel], window: Window | None) -> Iterator[Channel]:
    """The channels with readings in the window, restricted to it; all channels without a window."""
    for channel in channels:
        inside = channel if window is None else channel.during(window)
        if inside:
            yield inside


def _gauge_figure(channels: Channels, window: Window | None, gauge: Gauge) -> Figure:
    read: dict[str, list[Channel]] = {}
    for source, pattern in gauge.channels:
        named = (
            channel
            for channel in channels.of_source(source)
            if fnmatch.fnmatchcase(channel.name, pattern)
        )
        chosen = list(_during(named, window))
        if chosen and (gauge.is_of_all or not read):
            read[source] = chosen
    if read:
        method = "; ".join(
            f"{source}: {', '.join(channel.name for channel in chosen[:8])}"
            for source, chosen in read.items()
        )
        return _of_values([each for chosen in read.values() for each in chosen], gauge, method)
    sources = " or ".join(f"{source} ({pattern})" for source, pattern in gauge.channels)
    return unknown_figure(gauge.unit, READINGS, f"during the run, no reading came from {sources}")


def _peak_memory(channels: Channels, window: Window | None, *, is_before_v03: bool) -> Figure:
    """Peak memory of the implementation, each page counted once: of one process its own peak, of
    several their proportional set sizes, or the peak of one of them where it is larger (they are
    read rarely)."""
    processes = list(_during([channels.get("memory", "process_tree_size")], window))
    if processes and processes[0].maximum <= 1:
        return replace(
            _gauge_figure(channels, window, ONE_PROCESS),
            method="the only process's peak resident set (VmHWM)",
        )
    figure = _gauge_figure(channels, window, PROPORTIONAL)
    if figure.value is not None:
        own = _gauge_figure(channels, window, ONE_PROCESS)
        if (own.value or 0.0) > figure.value and not is_before_v03:
            return replace(own, method=LARGEST_METHOD)
        return replace(figure, method=PROPORTIONAL_METHOD)
    is_read = channels.get("memory", "process_tree_pss") and not is_before_v03
    why = READ_RARELY if is_read else NO_ROLLUP
    return replace(figure, reason=f"{figure.reason}: {why}" if processes else NO_MEMORY)


def _of_values(chosen: Sequence[Channel], gauge: Gauge, method: str) -> Figure:
    """Mean or maximum over the channels; the period is that of the channel that was read first."""
    values = np.concatenate([channel.values for channel in chosen])
    first = min(chosen, key=lambda channel: channel.first_row)
    period_s = median(np.diff(first.t_ns)) * SECONDS_PER_NS if len(first) > 1 else None
    if gauge.how == "max" and np.isfinite(values).all():
        return Figure(
            float(values.max()), gauge.unit, READINGS, len(values), period_s, method=method
        )
    return replace(mean_figure(values, gauge.unit, READINGS, "", period_s), method=method)


def _rate(channels: Channels, name: str, unit: str, window: Window | None) -> Figure:
    if window is None:
        return unknown_figure(unit, READINGS, NOT_FINISHED)
    amount, reason, period_s = disk_increase(channels, name, window)
    if amount is None:
        return unknown_figure(unit, READINGS, str(reason))
    return Figure(
        amount / span_s(window),
        unit,
        READINGS,
        1,
        period_s,
        method="the whole disk that holds the data",
    )


def _disturbance_figures(channels: Channels, window: Window | None) -> dict[str, Figure]:
    if window is None:
        return {
            name: unknown_figure("events", READINGS, NOT_FINISHED)
            for name in ("throttled_events", "clock_steps")
        }
    reason = "no source on this machine reports throttling"
    if is_watched(channels):
        reason = "throttling was not read during the whole run"
    throttled = unknown_figure("events", READINGS, reason)
    events = find_throttling(channels, *window)
    if events or is_watched_throughout(channels, *window):
        throttled = Figure(sum(event.count for event in events), "events", READINGS, len(events))
    part = "whole " if channels.of_source("wall-clock") else ""
    reason = f"the wall clock was not recorded during the {part}run"
    steps, found = unknown_figure("events", READINGS, reason), find_clock_steps(channels, *window)
    if found or is_clock_watched(channels, *window):
        steps = Figure(len(found), "events", READINGS, len(found))
    return {"throttled_events": throttled, "clock_steps": steps}
