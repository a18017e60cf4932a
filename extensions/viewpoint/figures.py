"""The chart of a student and its teacher: accuracy by viewpoint, before and after."""

from pathlib import Path

from reporter.data.studies import StudyRecord
from reporter.figures.chart import Chart, StudyCharts
from reporter.figures.model import Estimate, Plot, PlotRow, Rows
from reporter.figures.scales import linear_scale
from suite.extensions.viewpoint.record.results import read_results

PERCENT = 100.0


def charts(study: StudyRecord) -> tuple[Chart, ...]:
    """The chart of one study."""
    return (
        Chart(
            "viewpoint-accuracy",
            "Accuracy by viewpoint",
            "Accuracy on the tested pictures by viewing angle: of the teacher, which was trained"
            " on frontal pictures, and of the student before and after training. Line: 95 %"
            " interval (Wilson).",
            lambda *_: _describe(study.record.parent),
        ),
    )


def _describe(folder: Path) -> Plot:
    """A bar per view and model, percent."""
    rows, table = list[PlotRow](), list[tuple[str, ...]]()
    for view in read_results(folder).views:
        models = {
            "teacher": view.teacher,
            "student before": view.before,
            "student after": view.after,
        }
        for style, (model, share) in enumerate(models.items()):
            bar, name = Estimate(share.value, share.low, share.high), f"{view.view_deg}°, {model}"
            texts = [f"{PERCENT * end:.1f}" for end in (share.value, share.low, share.high)]
            bar, tip = bar.times(PERCENT), f"{name}: {texts[0]} %"
            rows.append(PlotRow(name, (bar,), f"p{style}", texts=(texts[0],), tips=(tip,)))
            table.append((f"{view.view_deg}", model, *texts))
    panel = Rows("percent", linear_scale([PERCENT]), tuple(rows))
    headings = ("degrees", "model", "percent right", "low", "high")
    return Plot((panel,), headings, tuple(table))


STUDY_CHART = StudyCharts("viewpoint", charts, with_entries=False)
