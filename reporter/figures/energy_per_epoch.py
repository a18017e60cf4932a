"""Energy per epoch by kind of sensor, as in Figure 2c of Prashanthi et al."""

from dataclasses import replace

from reporter.data.frames import Frames
from reporter.data.instrument_names import instrument_words, sensor_named
from reporter.data.quantities import quantity
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import Chart, Context, rows_of_entries
from reporter.figures.model import Estimate, Figure, Missing, Row, Rows
from reporter.figures.scales import fitting
from suite.catalog.scoring import load_scoring

FIGURE = "energy_per_epoch_j"


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """A row per entry, mean of epochs 2 to last. Each kind of sensor has rows and a scale of its
    own: energies of different ones do not compare.

    Bars from zero, with the baseload shaded where it is known; marks on a logarithmic scale where
    the energies of a kind span a decade.
    """
    found, idle, entries = (
        figures_of(frames, FIGURE),
        figures_of(frames, "baseload_per_epoch_j"),
        entries_of(frames),
    )
    values = {name: float(found[name]["value"]) for name in entries if name in found}
    if not values:
        return Missing(why_missing(frames, FIGURE))
    idle_j = {name: float(idle[name]["value"]) for name in values if name in idle}
    kinds = {name: sensor_named(found[name]["tier"], found[name]["covers"]) for name in values}
    order = sorted(set(kinds.values()), key=lambda kind: (_place(kind), kind))
    capacity = replace(context, max_rows=max(context.max_rows // len(order), 2))

    def row(name: str) -> Row:
        text = quantity(values[name], "J")[0]
        return Row(
            entries[name]["label"],
            (Estimate(values[name]),),
            f"c{context.colour(entries[name]['framework'])}",
            context.entry(name, FIGURE),
            (text,),
            (text,),
            shaded=idle_j.get(name),
        )

    panels, notes = list[Rows](), list[str]()
    for kind in order:
        own = {name: values[name] for name in values if kinds[name] == kind}
        rows, note = rows_of_entries(own, entries, row, "J", capacity)
        scale = fitting(list(own.values()))
        panels.append(
            Rows(
                kind + (", logarithmic" if scale.logarithmic else ""),
                scale,
                rows,
                unit="J",
                names=context.frameworks([entries[name] for name in values]),
                has_axis=False,
            )
        )
        notes += [note] if note else []
    table = []
    for name in sorted(values, key=lambda name: (order.index(kinds[name]), values[name], name)):
        value, own_idle_j = values[name], idle_j.get(name)
        share = (
            ("unknown", "unknown")
            if own_idle_j is None
            else (digits(own_idle_j), f"{100 * own_idle_j / value:.0f}" if value > 0 else "unknown")
        )
        table.append((entries[name]["label"], digits(value), *share, kinds[name]))
    headings = ("entry", "energy per epoch, J", "baseload, J", "baseload, %", "sensor")
    return Figure(tuple(panels), headings, tuple(table), (*notes, "")[0])


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
    describe,
    frozenset({"figures", "study"}),
    position=80,
)
