"""What figures of an experiment draw: latencies by image and over time, and training rates by batch
size, from the raw records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suite.errors import SuiteError
from suite.extensions.concurrent.record.arrivals import NS_PER_S
from suite.extensions.concurrent.record.calculated import latencies_s, training_figures
from suite.extensions.concurrent.record.layout import batch_sizes, beside, training_alone
from suite.extensions.concurrent.record.records import read_recording
from suite.metrics.linear_fit import FittedValue

MS_PER_S = 1e3
FIRST_S = 6.0
"""What Figure 1a of the study shows of a measurement."""
INTERVALS = 60
SAWTOOTH_BATCH = 16


@dataclass(frozen=True)
class LatencySeries:
    """Latencies, ms, of a batch size: ``points`` are (image, latency), or (s, mean latency of an
    interval)."""

    batch: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Rates:
    """Training steps per second beside inference, by batch size, and alone; None where there were
    too few steps."""

    beside: Mapping[int, FittedValue]
    alone: FittedValue | None


def sawtooth(folder: Path) -> LatencySeries:
    """The latency of each image of the first seconds, with batches of 16, or of the size nearest to
    it; unfinished ones are left out."""
    size = min(sizes_of(folder), key=lambda each: abs(each - SAWTOOTH_BATCH))
    found = read_recording(beside(folder, size))
    chosen = int(np.searchsorted(found.intended_ns, FIRST_S * NS_PER_S))
    values = latencies_s(found)[:chosen] * MS_PER_S
    return LatencySeries(
        size,
        tuple(
            (float(index), float(value)) for index, value in enumerate(values) if np.isfinite(value)
        ),
    )


def over_time(folder: Path) -> tuple[LatencySeries, ...]:
    """The mean latency of the images that arrived within each of 60 equal intervals, by batch size;
    unfinished ones are left out."""
    series = []
    for size in sizes_of(folder):
        found = read_recording(beside(folder, size))
        values, edges = (
            latencies_s(found) * MS_PER_S,
            np.linspace(0, found.setting.window_ns, INTERVALS + 1),
        )
        places = np.digitize(found.intended_ns, edges) - 1
        means = [
            (float(edges[index] / NS_PER_S), values[(places == index) & np.isfinite(values)])
            for index in range(INTERVALS)
        ]
        series.append(
            LatencySeries(
                size, tuple((begin_s, float(part.mean())) for begin_s, part in means if len(part))
            )
        )
    return tuple(series)


def rates(folder: Path) -> Rates:
    """The training's rates."""
    by_size = {
        size: training_figures(read_recording(beside(folder, size))).steps_per_s
        for size in sizes_of(folder)
    }
    alone = training_figures(read_recording(training_alone(folder))).steps_per_s
    return Rates({size: found for size, found in by_size.items() if found is not None}, alone)


def sizes_of(folder: Path) -> list[int]:
    """The batch sizes of an experiment; raises SuiteError for a folder without one."""
    sizes = batch_sizes(folder)
    if not sizes:
        raise SuiteError(
            f"{folder} holds no measurement of simultaneous training and inference; make one"
            " with `suite concurrent --train WORKLOAD --infer WORKLOAD`."
        )
    return sizes
