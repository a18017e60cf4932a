"""Distribution of epoch times over all epochs of all runs, as in Figure 5a of Prashanthi et al."""

import statistics

from reporter.data.frames import Frames, known, rows_of
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    UNITS,
    WIDTH,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    choose_rows,
    frameworks_legend,
    rows_chart,
)
from reporter.figures.svg import close, in_units, logarithmic, spans_a_decade


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One row per entry, in seconds: a mark per epoch after the first, a box between the quartiles,
    a line at the median."""
    entries, entry_of = (
        entries_of(frames),
        dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True)),
    )
    epochs: dict[str, list[float]] = {}
    for row in rows_of(frames.epochs[frames.epochs["epoch"] > 1].sort_values(["run_id", "epoch"])):
        if known(row["end_to_end_s"]):
            epochs.setdefault(entry_of[row["run_id"]], []).append(float(row["end_to_end_s"]))
    epochs = {name: values for name, values in epochs.items() if len(values) > 1}
    if not epochs:
        return NotDrawn("no entry has two epochs after the first")
    medians = {name: statistics.median(values) for name, values in epochs.items()}
    chosen = choose_rows(medians, entries, context.max_rows)
    ids = chosen.ids
    every = [*(value for name in ids for value in epochs[name]), *medians.values()]
    scale = in_units(
        every, "s", LEFT, WIDTH - RIGHT, logarithmic if spans_a_decade(every) else close
    )
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(ids) + len(chosen.groups),
        scale,
        f"{UNITS[scale.unit]} per epoch (axis may not start at 0)",
    )
    frameworks_legend(chart.canvas, [entries[name] for name in ids], context)
    rows = []
    for index, name in enumerate(ids):
        values, y, label = epochs[name], chart.y(index), entries[name]["label"]
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        variation = statistics.stdev(values) / statistics.fmean(values)
        style = context.colour(entries[name]["framework"])
        chart.name(index, label, context.entry(name) + "#runs")
        tip = f"{label}: median {digits(middle)} s, coefficient of variation {variation:.1%}"
        chart.canvas.rect(
            scale.at(low), y - 9, max(scale.at(high) - scale.at(low), 1), 18, f"c{style} faint", tip
        )
        chart.canvas.line(scale.at(middle), y - 11, scale.at(middle), y + 11, f"l{style} curve")
        for value in values:
            chart.canvas.line(scale.at(value), y - 5, scale.at(value), y + 5, f"l{style}")
    chart.share(chosen, medians, "s", context)
    for name in sorted(medians, key=lambda name: (medians[name], name)):
        values = epochs[name]
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        variation = statistics.stdev(values) / statistics.fmean(values)
        numbers = map(digits, (min(values), low, middle, high, max(values)))
        rows.append((entries[name]["label"], str(len(values)), *numbers, f"{100 * variation:.1f}"))
    headings = (
        "entry",
        "epochs",
        "lowest, s",
        "lower quartile, s",
        "median, s",
        "upper quartile, s",
        "highest, s",
        "coefficient of variation, %",
    )
    return Drawing(chart.canvas, headings, tuple(rows), chosen.note)


CHART = Chart(
    "distribution",
    "Distribution of epoch times",
    "One mark per epoch, without first epochs; box: lower to upper quartile, thick line: median.",
    frozenset({"figures"}),
    draw,
    position=60,
)
