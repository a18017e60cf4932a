"""The chart of a student and its teacher: accuracy by viewpoint, before and after."""

from pathlib import Path

from reporter.data.frames import Frames
from reporter.data.studies import StudyRecord
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    WIDTH,
    Chart,
    Context,
    Drawing,
    StudyCharts,
    rows_chart,
)
from reporter.figures.svg import linear
from suite.extensions.viewpoint.record.results import read_results

ABOUT = (
    "Share of the tested pictures whose class is right, by the angle from which they are seen: of"
    " the teacher, which knows the front, and of the student before and after it learned. Line: 95"
    " % interval (Wilson)."
)


def charts(study: StudyRecord) -> tuple[Chart, ...]:
    """The chart of one study."""

    def on_page(_frames: Frames, _context: Context) -> Drawing:
        return draw(study.record.parent)

    return (
        Chart(
            "viewpoint-accuracy",
            "Accuracy by viewpoint",
            ABOUT,
            frozenset({"viewpoint"}),
            on_page,
            1,
        ),
    )


def draw(folder: Path) -> Drawing:
    """A bar per view and model, percent."""
    found = read_results(folder)
    models = ("teacher", "student before", "student after")
    bars = [
        (view.view_deg, style, model, share)
        for view in found.views
        for style, (model, share) in enumerate(
            zip(models, (view.teacher, view.before, view.after), strict=True)
        )
    ]
    scale = linear([100.0], LEFT, WIDTH - RIGHT)
    chart = rows_chart("Accuracy by viewpoint", ABOUT, len(bars), scale, "percent")
    for index, (view_deg, style, model, share) in enumerate(bars):
        y, text = chart.y(index), f"{100 * share.value:.1f}"
        chart.canvas.text(LEFT - 10, y + 4.5, f"{view_deg}°, {model}", "name", "end")
        chart.canvas.rect(
            scale.at(0),
            y - 9,
            scale.at(100 * share.value) - scale.at(0),
            18,
            f"p{style}",
            f"{view_deg}°, {model}: {text} %",
        )
        chart.canvas.line(scale.at(100 * share.low), y, scale.at(100 * share.high), y, "error")
        chart.canvas.text(scale.at(100 * share.high) + 8, y + 4.5, text, "tick")
    rows = tuple(
        (
            f"{view_deg}",
            model,
            f"{100 * share.value:.1f}",
            f"{100 * share.low:.1f}",
            f"{100 * share.high:.1f}",
        )
        for view_deg, _, model, share in bars
    )
    return Drawing(chart.canvas, ("degrees", "model", "percent right", "low", "high"), rows)


STUDY_CHART = StudyCharts("viewpoint", charts, with_entries=False)
