"""What other programs took from a run: CPU time, the hypervisor's share, waiting (PSI); and the
bytes that the implementation moved itself."""

from dataclasses import replace

from suite.bundle.arrays import Window, span_s
from suite.bundle.channels import Channels
from suite.bundle.layout import READINGS
from suite.metrics.figure import NOT_FINISHED, Figure, unknown_figure
from suite.metrics.window import CounterChannel, WindowValue

SOURCE = "load"
MIN_PERIODS = 5  # up to one period is interpolated at each end
NOT_READ = "the meter `load` did not read its channel `{}`"
PRESSURES = {
    "cpu_pressure_ratio": "cpu.some",
    "io_pressure_ratio": "io.some",
    "memory_pressure_ratio": "memory.some",
}
BYTE_RATES = {
    "implementation_read_bytes_per_s": "read",
    "implementation_written_bytes_per_s": "written",
}
CPU_UNITS = {"foreign_cpu_s": "s", "foreign_cpu_share": "ratio", "steal_cpu_s": "s"}
LOAD_FIGURES = (*CPU_UNITS, *PRESSURES, *BYTE_RATES)
"""The figures of this module."""


def load_figures(channels: Channels, window: Window | None) -> dict[str, Figure]:
    """All figures of this module; ``window`` is run_start to run_stop, None for an unfinished
    run."""
    figures = _cpu_figures(channels, window)
    for name, channel in PRESSURES.items():
        figures[name] = _per_second(
            channels,
            channel,
            window,
            "ratio",
            "share of the run in which at least one task of the machine waited for this resource",
        )
    for name, channel in BYTE_RATES.items():
        figures[name] = _per_second(
            channels,
            channel,
            window,
            "B/s",
            "the implementation's processes, the exited ones included (/proc/<pid>/io)",
        )
    return figures


def cores_of(channels: Channels) -> int:
    """Cores of the machine: those that were read."""
    return sum(channel.name.startswith("utilisation.core") for channel in channels.of_source("cpu"))


def _cpu_figures(channels: Channels, window: Window | None) -> dict[str, Figure]:
    """CPU time of other programs: the machine's busy time less that of the suite's own
    processes."""
    if window is None:
        return {
            name: unknown_figure(unit, READINGS, NOT_FINISHED) for name, unit in CPU_UNITS.items()
        }
    busy, own, steal = (_increase(channels, name, window) for name in ("busy", "own", "steal"))
    stolen = _figure(
        steal, channels, "steal", "CPU time that the hypervisor gave to other virtual machines"
    )
    if busy.value is None or own.value is None:
        reason = str(busy.reason or own.reason)
        return {
            "foreign_cpu_s": unknown_figure("s", READINGS, reason),
            "foreign_cpu_share": unknown_figure("ratio", READINGS, reason),
            "steal_cpu_s": stolen,
        }
    method = (
        f"busy time of the machine, {busy.value:.2f} s, minus that of the suite's processes,"
        f" {own.value:.2f} s: harness, recorder, implementation, ranks and workers. Kernel threads"
        " count as other programs; the kernel counts in ticks"
    )
    foreign = Figure(
        max(0.0, busy.value - own.value),
        "s",
        READINGS,
        min(busy.count, own.count),
        channels.get(SOURCE, "busy").period_s,
        min(busy.coverage, own.coverage),
        method=method,
    )
    cores = cores_of(channels)
    share = unknown_figure("ratio", READINGS, "the number of cores was not read")
    if cores and window[1] > window[0]:
        method = f"CPU time of other programs, divided by the run's length and by {cores} cores"
        share = replace(_over(foreign, cores * span_s(window), "ratio"), method=method)
    return {"foreign_cpu_s": foreign, "foreign_cpu_share": share, "steal_cpu_s": stolen}


def _per_second(
    channels: Channels, name: str, window: Window | None, unit: str, method: str
) -> Figure:
    if window is None:
        return unknown_figure(unit, READINGS, NOT_FINISHED)
    increase = _figure(_increase(channels, name, window), channels, name, method)
    return _over(increase, span_s(window), unit)


def _over(figure: Figure, divisor: float, unit: str) -> Figure:
    """The figure divided, in another unit."""
    value = None if figure.value is None else figure.value / divisor
    return replace(figure, value=value, unit=unit)


def _figure(measured: WindowValue, channels: Channels, name: str, method: str) -> Figure:
    if measured.value is None:
        return unknown_figure("s", READINGS, str(measured.reason))
    period_s = channels.get(SOURCE, name).period_s
    return Figure(
        measured.value, "s", READINGS, measured.count, period_s, measured.coverage, method=method
    )


def _increase(channels: Channels, name: str, window: Window) -> WindowValue:
    channel = channels.get(SOURCE, name)
    if channel.period_s is None:
        return WindowValue(None, NOT_READ.format(name), 0.0, 0, None, None, 0, 0)
    return CounterChannel(channel).increase(window, MIN_PERIODS)
