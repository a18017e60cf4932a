"""Figures: tidy frames in, panels and a table out, and the panels laid out as shapes and SVG. A
module that declares CHART or CHARTS is found here."""

from functools import cache

from reporter.data.discovery import declarations
from reporter.figures.chart import Chart, StudyCharts
from suite.catalog.extensions import ExtensionPart


@cache
def all_charts() -> tuple[Chart, ...]:
    """Every chart that a module of this package or an extension declares, by position."""
    return tuple(
        sorted(
            declarations(__name__, ExtensionPart.FIGURES, "CHART", Chart),
            key=lambda chart: (chart.position, chart.name),
        )
    )


def charts_for(page: str) -> tuple[Chart, ...]:
    """The charts that a kind of page shows, by position."""
    return tuple(chart for chart in all_charts() if page in chart.pages)


@cache
def study_charts() -> dict[str, StudyCharts]:
    """The charts of each kind of study, by the kind's name."""
    return {
        charts.kind: charts
        for charts in declarations(__name__, ExtensionPart.FIGURES, "STUDY_CHART", StudyCharts)
    }
