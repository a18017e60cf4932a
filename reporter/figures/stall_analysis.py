"""Charts of a stall analysis: its three runs, and the differences between their stalls."""

from collections.abc import Mapping
from typing import Any

import pandas

from reporter.data.frames import known
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
from reporter.figures.svg import linear

PARTS = (
    ("fetch_stall_s", "fetch stall"),
    ("copy_s", "copy"),
    ("compute_s", "compute"),
    ("overhead_s", "overhead"),
)
STYLES = ("p0", "p1", "p2", "p4")
RUNS = {
    "cold": "cold page cache",
    "warm": "warm page cache",
    "synthetic": "one mini-batch in memory",
}
DIFFERENCES = (("read_stall_s", "reading"), ("preprocessing_stall_s", "preprocessing"))
RUNS_ABOUT = (
    "Seconds per epoch, mean of epochs 2 to last, of the same training with a cold page cache, a"
    " warm one, and one mini-batch in memory."
)
DIFFERENCES_ABOUT = (
    "Seconds of stall per epoch, mean of epochs 2 to last; line: ± one standard deviation. Reading:"
    " cold less warm page cache; preprocessing: warm page cache less one mini-batch in memory."
)


def charts(figures: pandas.DataFrame, runs: Mapping[str, str]) -> tuple[Chart, ...]:
    """The charts of one analysis: ``figures`` has the columns of reporter.data.studies.ROWS,
    ``runs`` maps parts to run ids."""
    pages = frozenset({"stalls"})
    return (
        Chart(
            "stall-runs",
            "Epoch time by part",
            RUNS_ABOUT,
            pages,
            lambda _, context: draw_runs(figures, runs, context),
            1,
        ),
        Chart(
            "stall-parts",
            "Reading and preprocessing",
            DIFFERENCES_ABOUT,
            pages,
            lambda _, context: draw_differences(figures),
            2,
        ),
    )


def draw_runs(
    figures: pandas.DataFrame, runs: Mapping[str, str], context: Context
) -> Drawing | NotDrawn:
    """One stacked bar per run, seconds per epoch, mean of epochs 2 to last."""
    values = {part: [_value(figures, part, name) for name, _ in PARTS] for part in RUNS}
    complete = {
        part: [value for value in parts if value is not None]
        for part, parts in values.items()
        if None not in parts
    }
    if not complete:
        return NotDrawn("no run has finished two epochs")
    scale = linear(
        [sum(max(value, 0.0) for value in parts) for parts in complete.values()],
        LEFT,
        WIDTH - RIGHT,
    )
    chart = rows_chart(
        "Epoch time by part",
        RUNS_ABOUT,
        len(complete),
        scale,
        "seconds per epoch, mean of epochs 2 to last",
    )
    legend(chart.canvas, list(zip(STYLES, (label for _, label in PARTS), strict=True)))
    for index, (part, parts) in enumerate(complete.items()):
        chart.name(index, RUNS[part], f"{context.root}runs/{runs[part]}/index.html#time_to_epoch_s")
        x = scale.at(0)
        for style, (_, label), value in zip(STYLES, PARTS, parts, strict=True):
            width = scale.at(max(value, 0.0)) - scale.at(0)
            chart.canvas.rect(
                x,
                chart.y(index) - 11,
                width,
                22,
                style,
                f"{RUNS[part]}, {label}: {digits(value)} s",
            )
            x += width
        chart.canvas.text(x + 6, chart.y(index) + 4.5, f"{digits(sum(parts))} s", "tick")
    rows = tuple(
        (RUNS[part], *map(digits, parts), digits(sum(parts))) for part, parts in complete.items()
    )
    return Drawing(chart.canvas, ("data", *(f"{label}, s" for _, label in PARTS), "total, s"), rows)


def draw_differences(figures: pandas.DataFrame) -> Drawing | NotDrawn:
    """A bar per difference of stalls, seconds per epoch, with an error bar of ± one standard
    deviation."""
    values = {
        name: (value, _value(figures, "study", name, "spread") or 0.0)
        for name, _ in DIFFERENCES
        if (value := _value(figures, "study", name)) is not None
    }
    if not values:
        return NotDrawn("no two of the runs have a known stall")
    scale = linear(
        [end for value, spread in values.values() for end in (value - spread, value + spread)],
        LEFT,
        WIDTH - RIGHT,
    )
    chart = rows_chart(
        "Reading and preprocessing",
        DIFFERENCES_ABOUT,
        len(values),
        scale,
        "seconds of stall per epoch, mean of epochs 2 to last",
    )
    rows = []
    for index, (name, label) in enumerate(
        (name, label) for name, label in DIFFERENCES if name in values
    ):
        (value, spread), y = values[name], chart.y(index)
        label_of_value = f"{digits(value)} s" + (f" ± {digits(spread, 2)}" if spread else "")
        low, high = sorted((scale.at(0), scale.at(value)))
        chart.canvas.text(LEFT - 10, y + 4.5, label, "name", "end")
        chart.canvas.rect(
            low, y - 9, max(high - low, 1.0), 18, f"p{3 * index}", f"{label}: {label_of_value}"
        )
        chart.canvas.line(scale.at(value - spread), y, scale.at(value + spread), y, "error")
        chart.canvas.text(max(high, scale.at(value + spread)) + 8, y + 4.5, label_of_value, "tick")
        rows.append(
            (
                label,
                digits(value),
                digits(spread, 2) if spread else "unknown",
                _significance(figures, name),
            )
        )
    not_significant = [row[0] for row in rows if row[3] == "no"]
    note = (
        f"Not significantly different from 0: {', '.join(not_significant)}."
        if not_significant
        else ""
    )
    return Drawing(
        chart.canvas,
        ("part of the stall", "s per epoch", "standard deviation, s", "significant"),
        tuple(rows),
        note,
    )


def _cell(figures: pandas.DataFrame, part: str, figure: str, column: str) -> Any:
    chosen = figures[(figures["part"] == part) & (figures["figure"] == figure)][column]
    return chosen.iloc[0] if len(chosen) and known(chosen.iloc[0]) else None


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
