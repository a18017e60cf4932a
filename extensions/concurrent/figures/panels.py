"""Training beside inference, from an experiment's raw records: Figures 1a, 1b and 1c of Prashanthi
et al. (CCGrid workshops, 2023)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from reporter.figures.chart import COLOURS
from reporter.figures.for_papers import lines_panel
from reporter.figures.model import Estimate, Line, PaperFigure, line_through
from reporter.figures.scales import doubling_scale, linear_scale_without_zero
from reporter.papers.measures import FoundValue, Unknown
from reporter.papers.records import RecordKind, first_sealed
from suite.catalog.papers import Item, Measure
from suite.errors import SuiteError
from suite.extensions.concurrent.record import series
from suite.extensions.concurrent.record.results import (
    EXPERIMENT,
    BatchResult,
    Results,
    read_results,
)
from suite.extensions.concurrent.record.series import FIRST_S, INTERVALS, LatencySeries
from suite.extensions.concurrent.record.stability import QueueState
from suite.metrics.linear_fit import FittedValue

PAPER = "concurrent-"
"""What the ids of its items begin with."""


def sawtooth(folder: Path) -> PaperFigure:
    """Latency of each image of the first seconds, ms."""
    lines = [_line(0, series.sawtooth(folder))]
    panel = lines_panel(
        ("image", "latency, ms"), lines, linear_scale_without_zero, is_from_zero=False
    )
    about = (
        f"Latency of every image that arrived within the first {FIRST_S:g} s: queueing and"
        " execution, from its intended arrival."
    )
    return PaperFigure((panel,), (), about, "none, because every point is one image")


def over_time(folder: Path) -> PaperFigure:
    """Mean latency over time, ms, a line per batch size."""
    lines = [
        _line(style, found) for style, found in enumerate(series.over_time(folder)) if found.points
    ]
    about = (
        f"Mean latency of the images that arrived within each of {INTERVALS} intervals, by batch"
        " size. A line ends early if the later images were not finished when the measurement"
        " ended."
    )
    panel = lines_panel(("arrival, s", "latency, ms"), lines, linear_scale_without_zero)
    return PaperFigure((panel,), (), about, "none")


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
    lines = [Line(points, "l0 curve", "beside")]
    if found.alone is not None:
        lines.append(line_through([(size, found.alone.value) for size, _ in points], "join"))
    panel = lines_panel(("inference batch, images", "training, steps/s"), lines, doubling_scale)
    about = (
        "Training steps per second while inference runs, by inference batch size; thin line:"
        " without inference."
    )
    return PaperFigure(
        (panel,), (), about, "95 % interval, computed from blocks of the measurement"
    )


FIGURES: Mapping[str, tuple[str, Callable[[Path], PaperFigure]]] = {
    "1a": ("Latency of the first images", sawtooth),
    "1b": ("Latency over time by inference batch size", over_time),
    "1c": ("Training throughput by inference batch size", throughput),
}
"""Title and drawing by the number in the study."""


def _line(style: int, found: LatencySeries) -> Line:
    return replace(
        line_through(found.points, f"l{style % COLOURS} curve"), label=f"batch {found.batch}"
    )


def measure(wanted: Measure, folder: Path) -> FoundValue | Unknown:
    """A named measure of an experiment."""
    return MEASURES[wanted.measure or ""](wanted, folder)


def _of_batch(folder: Path, batch: int | None) -> tuple[Results, BatchResult | None]:
    results = read_results(folder)
    return results, next((each for each in results.batches if each.batch == batch), None)


def _sawtooth_over_gap(wanted: Measure, folder: Path) -> FoundValue | Unknown:
    results = read_results(folder)
    gaps = {
        each.batch: each.beside.arrival_gap_s
        for each in results.batches
        if each.beside.arrival_gap_s is not None and each.batch >= 8
    }
    if not gaps:
        return Unknown("with a batch size of 8 or more, no executed batch held more than one image")
    batch = min(gaps, key=lambda size: abs(size - 16))
    return FoundValue((gaps[batch] or 0.0) * results.setting.rate_per_s, of=f"batches of {batch}")


def _unstable(wanted: Measure, folder: Path) -> FoundValue | Unknown:
    _, found = _of_batch(folder, wanted.batch)
    if found is None:
        return Unknown(f"batches of {wanted.batch} were not measured")
    state = found.beside.stability.state
    if state is QueueState.UNDECIDED:
        return Unknown(
            "the measurement does not show whether the queue is stable: measure for longer"
        )
    return FoundValue(float(state is QueueState.UNSTABLE), of="one measurement")


def _ratio(
    of: Callable[[BatchResult], FittedValue | None], what: str, wanted: Measure, folder: Path
) -> FoundValue | Unknown:
    """A figure of one batch size over that of another one."""
    (_, one), (_, two) = _of_batch(folder, wanted.batch), _of_batch(folder, wanted.other)
    mine, other = one and of(one), two and of(two)
    if not mine or not other:
        return Unknown(f"the {what} batches of {wanted.batch} or {wanted.other} is unknown")
    return FoundValue(
        mine.value / other.value,
        mine.low / other.high,
        mine.high / other.low,
        "one measurement of each",
    )


MEASURES: Mapping[str, Callable[[Measure, Path], FoundValue | Unknown]] = {
    "sawtooth-over-gap": _sawtooth_over_gap,
    "unstable": _unstable,
    "latency-ratio": partial(_ratio, lambda found: found.beside.latency_s, "mean latency with"),
    "training-ratio": partial(
        _ratio, lambda found: found.training.steps_per_s, "training rate during inference with"
    ),
}


def _with_caption(item: Item, folder: Path) -> tuple[PaperFigure, str]:
    title, draw = FIGURES[item.id.removeprefix(PAPER)]
    figure = draw(folder)
    return figure, f"{title}.\n{figure.about}\nError bars: {figure.error_bars}.\n"


PAPER_RECORD = RecordKind(
    "beside", partial(first_sealed, EXPERIMENT, lambda folder: folder), _with_caption, measure
)
