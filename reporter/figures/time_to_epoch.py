"""Time per epoch with its spread."""

from reporter.data.frames import Frames
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn
from reporter.figures.spread import draw_spread


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """End-to-end seconds per epoch, mean of epochs 2 to last."""
    return draw_spread(
        frames,
        context,
        "time_to_epoch_s",
        CHART.title,
        CHART.about,
        "per epoch, mean of epochs 2 to last",
    )


CHART = Chart(
    "time-to-epoch",
    "Time per epoch",
    "Dot: mean over runs; thin mark: one run; band: ± one standard deviation over runs or, for a"
    " single run, over its epochs.",
    frozenset({"comparison", "figures"}),
    draw,
    position=40,
)
