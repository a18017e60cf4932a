"""Stall of epoch 1, with cold caches, compared with later epochs, as in Figure 2b of Prashanthi et
al., POMACS 2022."""

import statistics

from reporter.data.frames import Frames, known, rows_of
from reporter.data.quantities import quantity
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
    legend,
    rows_chart,
    without_parts,
)
from reporter.figures.svg import in_units


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Two bars per entry, or marks where values span a decade: fetch stall and copy in epoch 1 and
    per later epoch; means over runs."""
    entries, stalls = entries_of(frames), _stalls(frames)
    if not stalls:
        return without_parts(entries)
    rests = {name: rest for name, (_, rest) in stalls.items()}
    chosen = choose_rows(rests, entries, context.max_rows)
    scale = in_units(
        [value for pair in stalls.values() for value in pair], "s", LEFT, WIDTH - RIGHT
    )
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(chosen.ids) + len(chosen.groups),
        scale,
        f"{UNITS[scale.unit]} of stall per epoch",
    )
    legend(chart.canvas, [("p0", "epoch 1"), ("p2", "epochs 2 to last, mean")])
    for index, name in enumerate(chosen.ids):
        label = entries[name]["label"]
        chart.name(index, label, context.entry(name) + "#fetch_stall_s")
        for value, style, above, when in zip(
            stalls[name], ("p0", "p2"), (-12, 1), ("epoch 1", "later epochs"), strict=True
        ):
            y = chart.y(index) + above
            tip = f"{label}, {when}: {digits(value)} s"
            if scale.logarithmic:
                chart.canvas.dot(scale.at(value), y + 5.5, style, tip)
            else:
                chart.canvas.rect(scale.at(0), y, scale.at(value) - scale.at(0), 11, style, tip)
            chart.canvas.text(scale.at(value) + 8, y + 10, quantity(value, "s")[0], "tick")
    chart.share(chosen, rests, "s", context)
    rows = tuple(
        (entries[name]["label"], *map(digits, stalls[name]))
        for name in sorted(rests, key=lambda name: (rests[name], name))
    )
    return Drawing(
        chart.canvas,
        ("entry", "stall of epoch 1, s", "stall of epochs 2 to last, s"),
        rows,
        chosen.note,
    )


def _stalls(frames: Frames) -> dict[str, tuple[float, float]]:
    entry_of = dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True))
    first: dict[str, list[float]] = {}
    later: dict[str, list[float]] = {}
    for row in rows_of(frames.epochs.sort_values(["run_id", "epoch"])):
        if known(row["fetch_stall_s"]) and known(row["copy_s"]):
            into = first if row["epoch"] == 1 else later
            into.setdefault(entry_of[row["run_id"]], []).append(
                float(row["fetch_stall_s"]) + float(row["copy_s"])
            )
    return {
        name: (statistics.fmean(first[name]), statistics.fmean(later[name]))
        for name in first
        if name in later
    }


CHART = Chart(
    "first-stall",
    "Stall of epoch 1 and of later epochs",
    "Fetch stall and host-to-device copy per epoch, means over runs. Caches are cold in epoch 1 if"
    " they were emptied before the run.",
    frozenset({"comparison", "figures", "study"}),
    draw,
    position=120,
)
