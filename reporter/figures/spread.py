"""A time per entry with its spread: dot for the mean, ticks for runs, band for the standard
deviation."""

from reporter.data.frames import Frames, known
from reporter.data.quantities import quantity_with_spread
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, values_of_runs, why_missing
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    UNITS,
    WIDTH,
    Context,
    Drawing,
    NotDrawn,
    choose_rows,
    frameworks_legend,
    rows_chart,
)
from reporter.figures.svg import in_units


def draw_spread(
    frames: Frames, context: Context, figure: str, title: str, about: str, axis: str
) -> Drawing | NotDrawn:
    """One row per entry with a value in seconds, ascending; ``axis`` is the axis' title without the
    unit before it."""
    found, all_entries, values = (
        figures_of(frames, figure),
        entries_of(frames),
        values_of_runs(frames, figure),
    )
    entries = {name: all_entries[name] for name in all_entries if name in found}
    if not entries:
        return NotDrawn(why_missing(frames, figure))
    means = {name: float(found[name]["value"]) for name in entries}
    chosen = choose_rows(means, entries, context.max_rows)
    ids = chosen.ids
    runs = {name: values.get(name, []) for name in entries}
    spreads = {
        name: float(found[name]["spread"]) if known(found[name]["spread"]) else None
        for name in entries
    }
    ends = (
        [means[name] + (spreads[name] or 0.0) for name in ids]
        + [value for name in ids for value in runs[name]]
        + list(means.values())
    )
    scale = in_units(ends, "s", LEFT, WIDTH - RIGHT)
    chart = rows_chart(
        title, about, len(ids) + len(chosen.groups), scale, f"{UNITS[scale.unit]} {axis}"
    )
    frameworks_legend(chart.canvas, [entries[name] for name in ids], context)
    rows = []
    for index, name in enumerate(ids):
        value, spread, y = float(found[name]["value"]), spreads[name], chart.y(index)
        style = context.colour(entries[name]["framework"])
        over = (
            ""
            if spread is None
            else f" ± {digits(spread, 2)} over {'runs' if len(runs[name]) > 1 else 'its epochs'}"
        )
        chart.name(index, entries[name]["label"], f"{context.entry(name)}#{figure}")
        left, right = scale.at(max(value - (spread or 0), 0)), scale.at(value + (spread or 0))
        if spread is not None:
            chart.canvas.rect(left, y - 4, right - left, 8, f"c{style} faint")
        for run in runs[name] if len(runs[name]) > 1 else ():
            chart.canvas.line(scale.at(run), y - 8, scale.at(run), y + 8, f"l{style}")
        chart.canvas.dot(
            scale.at(value), y, f"c{style}", f"{entries[name]['label']}: {digits(value)} s{over}"
        )
        marks = [left, right, *map(scale.at, runs[name])]
        chart.value(min(marks), max(marks), index, quantity_with_spread(value, "s", spread)[0])
    chart.share(chosen, means, "s", context)
    for name in sorted(means, key=lambda name: (means[name], name)):
        written = "" if (spread := spreads[name]) is None else digits(spread, 2)
        lowest, highest = (
            (digits(min(runs[name])), digits(max(runs[name]))) if runs[name] else ("", "")
        )
        rows.append(
            (
                entries[name]["label"],
                digits(means[name]),
                written,
                str(len(runs[name])),
                lowest,
                highest,
            )
        )
    return Drawing(
        chart.canvas,
        ("entry", "mean, s", "standard deviation, s", "runs", "lowest, s", "highest, s"),
        tuple(rows),
        chosen.note,
    )
