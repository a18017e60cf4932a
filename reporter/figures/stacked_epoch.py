"""Epoch time by part: one stacked bar per entry, as in Figure 2a of Prashanthi et al., POMACS
2022."""

from reporter.data.frames import Frames
from reporter.data.quantities import quantity
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
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
    legend,
    rows_chart,
    without_parts,
)
from reporter.figures.svg import in_units, linear, spans_a_decade

PARTS = (
    ("fetch_stall_s", "fetch stall"),
    ("copy_s", "copy"),
    ("compute_s", "compute"),
    ("communication_s", "communication"),
    ("overhead_s", "overhead"),
)
WITH_WORKERS = ("worker_start_s", "start of workers")
"""Drawn where a run had data-loading processes."""


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Mean over epochs 2 to last of each part, stacked, ascending by total: times, or shares of the
    epoch where the totals span a decade."""
    starts = any(row["value"] for row in figures_of(frames, WITH_WORKERS[0]).values())
    drawn = (*PARTS, WITH_WORKERS) if starts else PARTS
    parts = {name: figures_of(frames, name) for name, _ in drawn}
    every = entries_of(frames)
    entries = {
        name: entry
        for name, entry in every.items()
        if all(name in found for found in parts.values())
    }
    if not entries:
        return without_parts(every)
    values = {entry: [float(parts[part][entry]["value"]) for part, _ in drawn] for entry in entries}
    totals = {entry: sum(values[entry]) for entry in values}
    chosen = choose_rows(totals, entries, context.max_rows)
    is_shares = spans_a_decade(list(totals.values()))
    scale = (
        linear([100.0], LEFT, WIDTH - RIGHT)
        if is_shares
        else in_units(list(totals.values()), "s", LEFT, WIDTH - RIGHT, linear)
    )
    unit = "% of an epoch" if is_shares else f"{UNITS[scale.unit]} per epoch"
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(chosen.ids) + len(chosen.groups),
        scale,
        f"{unit}, mean of epochs 2 to last",
    )
    legend(chart.canvas, [(f"p{index}", label) for index, (_, label) in enumerate(drawn)])
    for index, entry in enumerate(chosen.ids):
        x, total = scale.at(0), sum(values[entry])
        chart.name(index, entries[entry]["label"], context.entry(entry) + "#time_to_epoch_s")
        for part, value in enumerate(values[entry]):
            width = scale.at(max(100 * value / total if is_shares else value, 0)) - scale.at(0)
            tip = (
                f"{entries[entry]['label']}, {drawn[part][1]}: {digits(value)} s,"
                f" {value / total:.1%}"
            )
            chart.canvas.rect(x, chart.y(index) - 11, width, 22, f"p{part}", tip)
            x += width
        chart.canvas.text(x + 6, chart.y(index) + 4.5, quantity(total, "s")[0], "tick")
    if is_shares:
        chart.share_as_text(chosen, totals, "s")
    else:
        chart.share(chosen, totals, "s", context)
    ascending = sorted(totals, key=lambda entry: (totals[entry], entry))
    rows = tuple(
        (
            entries[entry]["label"],
            *(digits(value) for value in values[entry]),
            digits(totals[entry]),
        )
        for entry in ascending
    )
    return Drawing(
        chart.canvas,
        ("entry", *(f"{label}, s" for _, label in drawn), "total, s"),
        rows,
        chosen.note.replace(", with a mark at the median", "") if is_shares else chosen.note,
    )


CHART = Chart(
    "stacked-epoch",
    "Epoch time by part",
    "Mean of epochs 2 to last: waiting for mini-batches, host-to-device copy, compute, exposed"
    " communication, overhead. Number: time of an epoch; where these span a decade, bars are shares"
    " of it.",
    frozenset({"board", "comparison", "figures", "study"}),
    draw,
    position=10,
)
