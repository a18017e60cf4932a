"""Time per epoch, with its spread."""

from reporter.data.frames import Frames
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn
from reporter.figures.spread import draw_spread


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Seconds of an epoch, end to end, mean of epochs 2 to last."""
    return draw_spread(frames, context, "time_to_epoch_s", CHART.title, CHART.about, "seconds per epoch, mean of epochs 2 to last")


CHART = Chart(
    "time-to-epoch",
    "Time per epoch",
    "The dot is the mean over an entry's runs, each thin mark one run, the band one standard deviation, over runs or over a single run's epochs.",
    frozenset({"board", "comparison", "device"}),
    draw,
    position=40,
)
