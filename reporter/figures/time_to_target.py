"""Time to the target accuracy with its spread over runs."""

from reporter.data.frames import Frames
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn
from reporter.figures.spread import draw_spread


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Seconds from run_start to the evaluation that reaches the target accuracy."""
    return draw_spread(
        frames, context, "time_to_target_s", CHART.title, CHART.about, "to the target accuracy"
    )


CHART = Chart(
    "time-to-target",
    "Time to target",
    "From run_start to the evaluation that reaches the target. Dot: mean over runs; thin mark: one"
    " run; band: ± one standard deviation.",
    frozenset({"board", "comparison", "figures"}),
    draw,
    position=20,
)
