"""Energy per epoch by kind of sensor, as in Figure 2c of Prashanthi et al."""

from reporter.data.frames import Frames
from reporter.data.instrument_names import instrument_words, sensor_named
from reporter.data.quantities import quantity
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    STEP,
    TOP,
    WIDTH,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    Rows,
    choose_rows,
    folded,
    frameworks_legend,
)
from reporter.figures.svg import Canvas, fitting
from suite.catalog.scoring import load_scoring


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """A row per entry, mean of epochs 2 to last. Each kind of sensor has rows and a scale of its
    own: energies of different ones do not compare.

    Bars from zero, with the baseload shaded where it is known; marks on a logarithmic scale where
    the energies of a kind span a decade.
    """
    found, idle, all_entries = (
        figures_of(frames, "energy_per_epoch_j"),
        figures_of(frames, "baseload_per_epoch_j"),
        entries_of(frames),
    )
    entries = {name: all_entries[name] for name in all_entries if name in found}
    if not entries:
        return NotDrawn(why_missing(frames, "energy_per_epoch_j"))
    values = {name: float(found[name]["value"]) for name in entries}
    idle_j = {name: float(idle[name]["value"]) for name in entries if name in idle}
    kinds = {name: sensor_named(found[name]["tier"], found[name]["covers"]) for name in entries}
    order = sorted(set(kinds.values()), key=lambda kind: (_place(kind), kind))
    capacity = max(context.max_rows // len(order), 2)
    chosen = {
        kind: choose_rows(
            {name: values[name] for name in values if kinds[name] == kind}, entries, capacity
        )
        for kind in order
    }
    count = sum(1 + len(each.ids) + len(each.groups) for each in chosen.values())
    canvas = Canvas(WIDTH, TOP + STEP * count, CHART.title, CHART.about, folded(count))
    frameworks_legend(canvas, list(entries.values()), context)
    row = 0
    for kind, selection in chosen.items():
        own = [values[name] for name in values if kinds[name] == kind]
        chart = Rows(canvas, fitting(own, LEFT, WIDTH - RIGHT), row + 1)
        canvas.text(
            LEFT - 10,
            chart.y(-1) + 4.5,
            kind + (", logarithmic" if chart.scale.logarithmic else ""),
            "axis",
        )
        for index, name in enumerate(selection.ids):
            chart.name(index, entries[name]["label"], context.entry(name) + "#energy_per_epoch_j")
            _draw_row(
                chart,
                index,
                values[name],
                idle_j.get(name),
                f"c{context.colour(entries[name]['framework'])}",
            )
        chart.share(selection, values, "J", context)
        row += 1 + len(selection.ids) + len(selection.groups)
    rows = []
    for name in sorted(values, key=lambda name: (order.index(kinds[name]), values[name], name)):
        value, own_idle_j = values[name], idle_j.get(name)
        share = (
            ("unknown", "unknown")
            if own_idle_j is None
            else (digits(own_idle_j), f"{100 * own_idle_j / value:.0f}" if value > 0 else "unknown")
        )
        rows.append((entries[name]["label"], digits(value), *share, kinds[name]))
    headings = ("entry", "energy per epoch, J", "baseload, J", "baseload, %", "sensor")
    return Drawing(
        canvas,
        headings,
        tuple(rows),
        next((each.note for each in chosen.values() if each.note), ""),
    )


def _draw_row(chart: Rows, index: int, energy_j: float, idle_j: float | None, style: str) -> None:
    scale, y, text = chart.scale, chart.y(index), quantity(energy_j, "J")[0]
    end = scale.at(energy_j)
    if scale.logarithmic:
        chart.canvas.line(LEFT, y, end, y, "grid")
        chart.canvas.dot(end, y, style, text)
        if idle_j is not None and idle_j > 0:
            chart.canvas.rect(
                scale.at(idle_j) - 1, y - 9, 2, 18, "idle", f"baseload: {quantity(idle_j, 'J')[0]}"
            )
    else:
        chart.canvas.rect(scale.at(0), y - 11, end - scale.at(0), 22, style, text)
        if idle_j is not None:
            chart.canvas.rect(
                scale.at(0),
                y - 11,
                scale.at(idle_j) - scale.at(0),
                22,
                "idle",
                f"baseload: {quantity(idle_j, 'J')[0]}",
            )
    chart.value(LEFT, end, index, text)


def _place(kind: str) -> int:
    """The best kind of instrument first, in the rulebook's order."""
    instruments = load_scoring().instruments()
    return next(
        (each.place for each in instruments if kind == instrument_words(each)), len(instruments)
    )


CHART = Chart(
    "energy-per-epoch",
    "Energy per epoch",
    "Mean of epochs 2 to last and over runs; shaded: baseload. Each kind of sensor has a scale of"
    " its own: its energies compare with no others.",
    frozenset({"figures", "study"}),
    draw,
    position=80,
)
