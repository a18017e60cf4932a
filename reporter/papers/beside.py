"""Training beside inference, from an experiment's raw records: Figures 1a, 1b and 1c of Prashanthi
et al. (CCGrid workshops, 2023)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from reporter.papers.model import Estimate, Line, Lines, PaperFigure
from suite.concurrent import series
from suite.concurrent.series import FIRST_S, INTERVALS, LatencySeries
from suite.errors import SuiteError


def sawtooth(folder: Path) -> PaperFigure:
    """Latency of each image of the first seconds, ms."""
    panel = Lines("image", "latency, ms", (_line(0, series.sawtooth(folder)),), is_from_zero=False)
    about = (
        f"Latency of every image that arrived within the first {FIRST_S:g} s: queueing and"
        " execution, from its intended arrival."
    )
    return PaperFigure((panel,), (), about, "none: every point is one image")


def over_time(folder: Path) -> PaperFigure:
    """Mean latency over time, ms, a line per batch size."""
    lines = tuple(
        _line(style, found) for style, found in enumerate(series.over_time(folder)) if found.points
    )
    about = (
        f"Mean latency of the images that arrived within each of {INTERVALS} intervals, by batch"
        " size. A line that ends: the rest was not finished."
    )
    return PaperFigure((Lines("arrival, s", "latency, ms", lines),), (), about, "none")


def throughput(folder: Path) -> PaperFigure:
    """Training throughput beside the inference, steps/s, by batch size of the inference; the thin
    line is the training alone."""
    found = series.rates(folder)
    if not found.beside:
        raise SuiteError(
            f"{folder} has too few training steps to draw their rate; measure for longer."
        )
    points = tuple(
        (float(size), Estimate(rate.value, rate.low, rate.high))
        for size, rate in found.beside.items()
    )
    reference = (
        () if found.alone is None else tuple((size, found.alone.value) for size, _ in points)
    )
    panel = Lines(
        "inference batch, images",
        "training, steps/s",
        (Line("beside", 0, points),),
        is_doubling=True,
        reference=reference,
    )
    about = (
        "Training steps per second beside the inference, by inference batch size; thin line: alone."
    )
    return PaperFigure((panel,), (), about, "95 % interval of blocks within the measurement")


FIGURES: Mapping[str, tuple[str, Callable[[Path], PaperFigure]]] = {
    "1a": ("Latency of the first images", sawtooth),
    "1b": ("Latency over time by inference batch size", over_time),
    "1c": ("Training throughput by inference batch size", throughput),
}
"""Title and drawing by the number in the study."""


def _line(style: int, found: LatencySeries) -> Line:
    return Line(
        f"batch {found.batch}", style, tuple((x, Estimate(value)) for x, value in found.points)
    )
