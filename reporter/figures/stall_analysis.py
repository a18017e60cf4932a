"""Charts of a stall analysis: its three runs, and the differences between their stalls."""

from collections.abc import Mapping
from typing import Any

import pandas

from reporter.data.frames import is_known
from reporter.data.text import significant
from reporter.figures.chart import Chart, Context, StudyCharts
from reporter.figures.model import Estimate, LegendEntry, Marks, Missing, Plot, PlotRow, Rows
from reporter.figures.scales import linear_scale

WHOLE, PARTS = "time_to_epoch_s", ("fetch_stall_s", "copy_s", "compute_s", "overhead_s")
NS = 9
"""Decimals of a second."""
SERIES = (
    LegendEntry("p0", "fetch stall"),
    LegendEntry("p1", "copy"),
    LegendEntry("p2", "compute"),
    LegendEntry("p4", "overhead"),
    LegendEntry("p5", "start of workers, communication"),
)
RUNS = {
    "cold": "cold page cache",
    "warm": "warm page cache",
    "synthetic": "one mini-batch in memory",
}
DIFFERENCES = {"read_stall_s": "reading", "preprocessing_stall_s": "preprocessing"}


def charts(figures: pandas.DataFrame, runs: Mapping[str, str]) -> tuple[Chart, ...]:
    """The charts of one analysis: ``figures`` has the columns of reporter.data.studies.ROWS,
    ``runs`` maps parts to run ids."""
    return (
        Chart(
            "stall-runs",
            "Epoch time by part",
            "Seconds per epoch, mean of epochs 2 to last. The same training with a cold page cache,"
            " with a warm page cache, and with one mini-batch kept in memory.",
            lambda _, context: _of_runs(figures, runs, context),
        ),
        Chart(
            "stall-parts",
            "Reading and preprocessing",
            "Seconds of stall per epoch, mean of epochs 2 to last; line: ± one standard deviation."
            " Reading: cold minus warm page cache; preprocessing: warm page cache minus one"
            " mini-batch in memory.",
            lambda _, context: _differences(figures),
        ),
    )


def _of_runs(
    figures: pandas.DataFrame, runs: Mapping[str, str], context: Context
) -> Plot | Missing:
    """One stacked bar per run, seconds per epoch, mean of epochs 2 to last. What is in no other
    part is the start of workers and communication, to the nanosecond that clocks have."""
    rows, table = list[PlotRow](), list[tuple[str, ...]]()
    for part, label in RUNS.items():
        found = [_value(figures, part, name) for name in (*PARTS, WHOLE)]
        values = [value for value in found if value is not None]
        if len(values) == len(found):
            *values, whole = values
            values.append(round(max(whole - sum(values), 0.0), NS))
            bars, total = tuple(Estimate(max(value, 0.0)) for value in values), significant(whole)
            tips = (
                f"{label}, {series.name}: {significant(value)} s"
                for series, value in zip(SERIES, values, strict=True)
            )
            link = f"{context.root}runs/{runs[part]}/index.html#{WHOLE}"
            rows.append(PlotRow(label, bars, link=link, texts=(f"{total} s",), tips=tuple(tips)))
            table.append((label, *map(significant, values), total))
    if not rows:
        return Missing("no run has finished two epochs")
    axis, scale = (
        "seconds per epoch, mean of epochs 2 to last",
        linear_scale([row.total for row in rows]),
    )
    headings = ("data", *(f"{series.name}, s" for series in SERIES), "total, s")
    return Plot((Rows(axis, scale, tuple(rows), SERIES, Marks.STACKED),), headings, tuple(table))


def _differences(figures: pandas.DataFrame) -> Plot | Missing:
    """A bar per difference of stalls, seconds per epoch, with an error bar of ± one standard
    deviation."""
    rows, table = list[PlotRow](), list[tuple[str, ...]]()
    for name, label in DIFFERENCES.items():
        value, spread = _value(figures, "study", name), _value(figures, "study", name, "spread")
        if value is not None:
            written = significant(spread, 2) if spread else "unknown"
            text = f"{significant(value)} s" + (f" ± {written}" if spread else "")
            bar, style = Estimate.around(value, spread), f"p{3 * len(rows)}"
            rows.append(PlotRow(label, (bar,), style, texts=(text,), tips=(f"{label}: {text}",)))
            table.append((label, significant(value), written, _significance(figures, name)))
    if not rows:
        return Missing("neither difference is known: each needs the fetch stalls of two runs")
    axis = "seconds of stall per epoch, mean of epochs 2 to last"
    scale = linear_scale([end for row in rows for end in row.values[0].ends])
    not_significant = ", ".join(row[0] for row in table if row[3] == "no")
    headings = ("part of the stall", "s per epoch", "standard deviation, s", "significant")
    note = f"Not significantly different from 0: {not_significant}." if not_significant else ""
    return Plot((Rows(axis, scale, tuple(rows)),), headings, tuple(table), note)


def _cell(figures: pandas.DataFrame, part: str, figure: str, column: str) -> Any:
    chosen = figures[(figures["part"] == part) & (figures["figure"] == figure)][column]
    return chosen.iloc[0] if len(chosen) and is_known(chosen.iloc[0]) else None


def _value(
    figures: pandas.DataFrame, part: str, figure: str, column: str = "value"
) -> float | None:
    value = _cell(figures, part, figure, column)
    return None if value is None else float(value)


def _significance(figures: pandas.DataFrame, figure: str) -> str:
    is_significant = _cell(figures, "study", figure, "significant")
    return "not tested" if is_significant is None else "yes" if is_significant else "no"


STUDY_CHART = StudyCharts(
    "stalls", lambda study: charts(study.figures, dict(study.runs)), with_entries=False
)
