"""Epoch 1, with cold caches, compared with later epochs, as in Figure 2b of Prashanthi et al."""

from reporter.data.frames import Frames
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
)
from reporter.figures.svg import in_units


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Two connected dots per entry: epoch 1 and the mean of epochs 2 to last, in seconds."""
    first, later, all_entries = (
        figures_of(frames, "first_epoch_s"),
        figures_of(frames, "time_to_epoch_s"),
        entries_of(frames),
    )
    entries = {name: all_entries[name] for name in all_entries if name in first and name in later}
    if not entries:
        return NotDrawn("no run has finished two epochs")
    pairs = {name: (float(first[name]["value"]), float(later[name]["value"])) for name in entries}
    rests = {name: rest for name, (_, rest) in pairs.items()}
    chosen = choose_rows(rests, entries, context.max_rows)
    scale = in_units([value for pair in pairs.values() for value in pair], "s", LEFT, WIDTH - RIGHT)
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(chosen.ids) + len(chosen.groups),
        scale,
        f"{UNITS[scale.unit]} per epoch",
    )
    legend(chart.canvas, [("p0", "epoch 1"), ("p2", "epochs 2 to last, mean")])
    for index, name in enumerate(chosen.ids):
        y, (one, rest), label = chart.y(index), pairs[name], entries[name]["label"]
        chart.name(index, label, context.entry(name) + "#first_epoch_s")
        chart.canvas.line(scale.at(one), y, scale.at(rest), y, "join")
        chart.canvas.dot(scale.at(one), y, "p0", f"{label}, epoch 1: {digits(one)} s")
        chart.canvas.dot(scale.at(rest), y, "p2", f"{label}, later epochs: {digits(rest)} s")
        chart.canvas.text(scale.at(max(one, rest)) + 10, y + 4.5, f"{one / rest:.2f}×", "tick")
    chart.share(chosen, rests, "s", context)
    ascending = sorted(rests, key=lambda name: (rests[name], name))
    rows = tuple(
        (
            entries[name]["label"],
            *map(digits, pairs[name]),
            f"{pairs[name][0] / pairs[name][1]:.2f}×",
        )
        for name in ascending
    )
    return Drawing(
        chart.canvas, ("entry", "epoch 1, s", "epochs 2 to last, s", "ratio"), rows, chosen.note
    )


CHART = Chart(
    "first-epoch",
    "Epoch 1 and later epochs",
    "Means over runs. Epoch 1 starts with cold caches and includes the framework's warm-up. Number:"
    " epoch 1 over later epochs.",
    frozenset({"figures", "study"}),
    draw,
    position=50,
)
