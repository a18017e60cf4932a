"""Figures, one file each: tidy frames in, one deterministic SVG with its table out. A new figure is one file and one line here."""

from reporter.figures import (
    accuracy,
    batch_size,
    batch_times,
    counters,
    distribution,
    energy_per_epoch,
    first_epoch,
    first_stall,
    linpack,
    radar,
    scaling,
    stacked_epoch,
    time_energy,
    time_to_epoch,
    time_to_target,
    workers,
)
from reporter.figures.chart import Chart

CHARTS: tuple[Chart, ...] = (
    stacked_epoch.CHART,
    time_to_target.CHART,
    accuracy.CHART,
    time_to_epoch.CHART,
    first_epoch.CHART,
    distribution.CHART,
    time_energy.CHART,
    energy_per_epoch.CHART,
    batch_size.THROUGHPUT,
    batch_size.MEMORY,
    batch_times.CHART,
    first_stall.CHART,
    workers.CHART,
    radar.CHART,
    counters.CHART,
    scaling.CHART,
    linpack.CHART,
)


def charts_for(page: str) -> tuple[Chart, ...]:
    """The charts that a kind of page shows."""
    return tuple(chart for chart in CHARTS if page in chart.pages)
