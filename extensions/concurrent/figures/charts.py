"""Charts of an experiment with training beside inference: latency by image and over time, and the
training's rate."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from reporter.data.frames import Frames
from reporter.data.studies import StudyRecord
from reporter.data.text import digits
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    WIDTH,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    StudyCharts,
    legend,
    rows_chart,
)
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import close, fitting, linear
from suite.extensions.concurrent.record import series
from suite.extensions.concurrent.record.series import FIRST_S, INTERVALS

COLOURS = 8
SAWTOOTH_ABOUT = (
    "Milliseconds from an image's intended arrival to the end of its batch, for the images of the"
    f" first {FIRST_S:g} seconds. The fall within a batch is the arrival gap; its lowest point is"
    " the execution."
)
OVER_TIME_ABOUT = (
    f"Mean latency of the images that arrived within each of {INTERVALS} intervals, by inference"
    " batch size. An unstable queue rises; a line that ends early: the other images were not"
    " finished."
)
RATE_ABOUT = (
    "Training steps per second beside the inference and alone; line: 95 % interval of blocks within"
    " the measurement."
)


def charts(study: StudyRecord) -> tuple[Chart, ...]:
    """The charts of one experiment."""
    folder = study.record.parent
    return (
        _chart(
            1, "beside-sawtooth", "Latency by image", SAWTOOTH_ABOUT, partial(draw_sawtooth, folder)
        ),
        _chart(
            2,
            "beside-latency",
            "Latency over time",
            OVER_TIME_ABOUT,
            partial(draw_over_time, folder),
        ),
        _chart(
            3,
            "beside-training",
            "Training beside inference",
            RATE_ABOUT,
            partial(draw_rates, folder),
        ),
    )


def _chart(
    position: int, name: str, title: str, about: str, draw_it: Callable[[], Drawing | NotDrawn]
) -> Chart:
    def on_page(_frames: Frames, _context: Context) -> Drawing | NotDrawn:
        return draw_it()

    return Chart(name, title, about, frozenset({"beside"}), on_page, position)


def draw_sawtooth(folder: Path) -> Drawing | NotDrawn:
    """Latency, ms, over the number of the image."""
    found = series.sawtooth(folder)
    if not found.points:
        return NotDrawn("no image of the first seconds was finished")
    x, y = (
        linear([image for image, _ in found.points], *ACROSS, 9),
        linear([value for _, value in found.points], *UP),
    )
    drawn = plane(
        "Latency by image",
        SAWTOOTH_ABOUT,
        x,
        y,
        (f"image, batches of {found.batch}", "milliseconds"),
    )
    drawn.canvas.path([drawn.at(*point) for point in found.points], "l0 curve")
    rows = tuple((f"{image:g}", digits(value)) for image, value in found.points[: 4 * found.batch])
    return Drawing(
        drawn.canvas, ("image", "latency, ms"), rows, "The table has the first four batches."
    )


def draw_over_time(folder: Path) -> Drawing | NotDrawn:
    """Mean latency, ms, over the time of arrival, s; a line per batch size."""
    found = [each for each in series.over_time(folder) if each.points]
    values = [value for each in found for _, value in each.points]
    if not values:
        return NotDrawn("no image was finished")
    x = close([0.0, *(begin_s for each in found for begin_s, _ in each.points)], *ACROSS, 9)
    drawn = plane(
        "Latency over time", OVER_TIME_ABOUT, x, fitting(values, *UP), ("seconds", "milliseconds")
    )
    for number, each in enumerate(found):
        drawn.canvas.path(
            [drawn.at(*point) for point in each.points],
            f"l{number % COLOURS} curve",
            tip=f"batch {each.batch}",
        )
    legend(
        drawn.canvas,
        [(f"c{number % COLOURS}", f"batch {each.batch}") for number, each in enumerate(found)],
        300,
    )
    rows = tuple(
        (
            f"{each.batch}",
            digits(each.points[0][1]),
            digits(each.points[-1][1]),
            digits(each.points[-1][0]),
        )
        for each in found
    )
    return Drawing(
        drawn.canvas,
        (
            "batch",
            "first interval, ms",
            "last interval with a finished image, ms",
            "it began at, s",
        ),
        rows,
    )


def draw_rates(folder: Path) -> Drawing | NotDrawn:
    """A bar per batch size, and one of the training alone, steps/s."""
    found = series.rates(folder)
    bars = [(f"batch {size}", rate) for size, rate in found.beside.items()] + (
        [("alone", found.alone)] if found.alone else []
    )
    if not bars:
        return NotDrawn("there were too few training steps")
    scale = linear([rate.high for _, rate in bars], LEFT, WIDTH - RIGHT)
    chart = rows_chart(
        "Training beside inference", RATE_ABOUT, len(bars), scale, "steps per second"
    )
    for index, (name, rate) in enumerate(bars):
        y = chart.y(index)
        chart.canvas.text(LEFT - 10, y + 4.5, name, "name", "end")
        chart.canvas.rect(
            scale.at(0),
            y - 9,
            scale.at(rate.value) - scale.at(0),
            18,
            "p2",
            f"{name}: {digits(rate.value)} steps/s",
        )
        chart.canvas.line(scale.at(max(0.0, rate.low)), y, scale.at(rate.high), y, "error")
        chart.canvas.text(scale.at(rate.high) + 8, y + 4.5, digits(rate.value), "tick")
    rows = tuple(
        (name, digits(rate.value), digits(rate.low), digits(rate.high)) for name, rate in bars
    )
    return Drawing(chart.canvas, ("inference", "steps per second", "low", "high"), rows)


STUDY_CHART = StudyCharts("beside", charts, with_entries=False)
