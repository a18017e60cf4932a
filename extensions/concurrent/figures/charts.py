"""Charts of an experiment with training beside inference: latency by image and over time, and the
training's rate."""

from pathlib import Path

from reporter.data.studies import StudyRecord
from reporter.data.text import significant
from reporter.figures.chart import COLOURS, Chart, StudyCharts
from reporter.figures.model import (
    Estimate,
    LegendEntry,
    Missing,
    Plane,
    Plot,
    PlotRow,
    Rows,
    line_through,
)
from reporter.figures.scales import fitting_scale, linear_scale, linear_scale_without_zero
from suite.extensions.concurrent.record import series
from suite.extensions.concurrent.record.series import FIRST_S, INTERVALS


def charts(study: StudyRecord) -> tuple[Chart, ...]:
    """The charts of one experiment."""
    folder = study.record.parent
    return (
        Chart(
            "beside-sawtooth",
            "Latency by image",
            "Milliseconds from an image's intended arrival to the end of its batch, for the"
            f" images of the first {FIRST_S:g} seconds. Within a batch, each image's latency is"
            " lower than the previous one's by the time between their arrivals. The last image's"
            " latency is the batch's execution time plus any wait until the batch starts.",
            lambda *_: _sawtooth(folder),
        ),
        Chart(
            "beside-latency",
            "Latency over time",
            f"Mean latency of the images that arrived within each of {INTERVALS} intervals, by"
            " inference batch size. The line of an unstable queue rises; a line ends early if the"
            " later images were not finished when the measurement ended.",
            lambda *_: _over_time(folder),
        ),
        Chart(
            "beside-training",
            "Training beside inference",
            "Training steps per second while inference runs, and without inference; line: 95 %"
            " interval, computed from blocks of the measurement.",
            lambda *_: _rates(folder),
        ),
    )


def _sawtooth(folder: Path) -> Plot | Missing:
    """Latency, ms, over the number of the image."""
    found = series.sawtooth(folder)
    if not found.points:
        return Missing(f"no image that arrived in the first {FIRST_S:g} s was finished")
    panel = Plane(
        f"image, batches of {found.batch}",
        "milliseconds",
        linear_scale([image for image, _ in found.points], 9),
        linear_scale([value for _, value in found.points]),
        (line_through(found.points, "l0 curve"),),
    )
    rows = tuple(
        (f"{image:g}", significant(value)) for image, value in found.points[: 4 * found.batch]
    )
    note = "The table has the first four batches."
    return Plot((panel,), ("image", "latency, ms"), rows, note)


def _over_time(folder: Path) -> Plot | Missing:
    """Mean latency, ms, over the time of arrival, s; a line per batch size."""
    found = [each for each in series.over_time(folder) if each.points]
    if not found:
        return Missing("no image was finished")
    points = [point for each in found for point in each.points]
    names = [f"batch {each.batch}" for each in found]
    panel = Plane(
        "seconds",
        "milliseconds",
        linear_scale_without_zero([0.0, *(begin_s for begin_s, _ in points)], 9),
        fitting_scale([value for _, value in points]),
        tuple(
            line_through(each.points, f"l{number % COLOURS} curve", name)
            for number, (each, name) in enumerate(zip(found, names, strict=True))
        ),
        legend=tuple(
            LegendEntry(f"c{number % COLOURS}", name) for number, name in enumerate(names)
        ),
    )
    rows = tuple(
        (
            f"{each.batch}",
            significant(each.points[0][1]),
            significant(each.points[-1][1]),
            significant(each.points[-1][0]),
        )
        for each in found
    )
    headings = (
        "batch",
        "mean latency in the first interval, ms",
        "mean latency in the last interval with a finished image, ms",
        "start of that last interval, s",
    )
    return Plot((panel,), headings, rows)


def _rates(folder: Path) -> Plot | Missing:
    """A bar per batch size, and one of the training alone, steps/s."""
    found = series.rates(folder)
    rates = {f"batch {size}": rate for size, rate in found.beside.items()}
    if found.alone is not None:
        rates["alone"] = found.alone
    if not rates:
        return Missing("there were too few training steps")
    rows = tuple(
        PlotRow(
            name, (Estimate(rate.value, rate.low, rate.high),), texts=(significant(rate.value),)
        )
        for name, rate in rates.items()
    )
    scale = linear_scale([rate.high for rate in rates.values()])
    panel = Rows("steps per second", scale, rows, unit="steps/s")
    table = tuple(
        (name, significant(rate.value), significant(rate.low), significant(rate.high))
        for name, rate in rates.items()
    )
    return Plot((panel,), ("inference", "steps per second", "low", "high"), table)


STUDY_CHART = StudyCharts("beside", charts, with_entries=False)
