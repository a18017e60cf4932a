"""A LINPACK study has no charts: its numbers are a table of a few rows."""

from reporter.figures.chart import StudyCharts

STUDY_CHART = StudyCharts("linpack", lambda study: (), with_entries=False)
