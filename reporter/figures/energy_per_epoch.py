"""Energy per epoch by kind of sensor, as in Figure 2c of Prashanthi et al."""

from reporter.data.frames import Frames, known
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import LEFT, RIGHT, WIDTH, Chart, Context, Drawing, NotDrawn, legend, rows_chart
from reporter.figures.svg import linear
from suite.catalog.power import Tier


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One bar per entry, joules, mean of epochs 2 to last, grouped by kind of sensor; the baseload, where known, is shaded."""
    found, idle, all_entries = figures_of(frames, "energy_per_epoch_j"), figures_of(frames, "baseload_per_epoch_j"), entries_of(frames)
    entries = {name: all_entries[name] for name in all_entries if name in found}
    if not entries:
        return NotDrawn(why_missing(frames, "energy_per_epoch_j"))
    values = {name: float(found[name]["value"]) for name in entries}
    kinds = {name: _kind(found[name]["covers"], found[name]["tier"]) for name in entries}
    order = sorted(set(kinds.values()), key=lambda kind: (_tier_place(kind), kind))
    ascending = sorted(values, key=lambda name: (order.index(kinds[name]), values[name], name))
    chosen = choose(values, lambda name: f"{entries[name]['framework']}, {kinds[name]}", context.max_rows)
    ids = [name for name in ascending if name in chosen.ids]
    scale = linear(list(values.values()), LEFT, WIDTH - RIGHT)
    chart = rows_chart(CHART.title, CHART.about, len(ids) + len(chosen.groups), scale, "joules per epoch, mean of epochs 2 to last")
    legend(chart.canvas, [(f"c{index}", kind) for index, kind in enumerate(order)] + ([("idle", "baseload")] if idle else []), 40)
    rows = []
    for index, name in enumerate(ids):
        value, label, y = values[name], entries[name]["label"], chart.y(index)
        chart.name(index, label, context.entry(name) + "#energy_per_epoch_j")
        chart.canvas.rect(
            scale.at(0), y - 11, scale.at(value) - scale.at(0), 22, f"c{order.index(kinds[name])}", f"{label}: {digits(value)} J, {kinds[name]}"
        )
        if name in idle:
            chart.canvas.rect(scale.at(0), y - 11, scale.at(float(idle[name]["value"])) - scale.at(0), 22, "idle", "baseload")
        chart.canvas.text(scale.at(value) + 6, y + 4.5, f"{digits(value)} J", "tick")
    chart.share(chosen, values, " J", context)
    for name in ascending:
        value = values[name]
        idle_j = float(idle[name]["value"]) if name in idle else None
        share = ("unknown", "unknown") if idle_j is None else (digits(idle_j), f"{100 * idle_j / value:.0f}" if value > 0 else "unknown")
        rows.append((entries[name]["label"], digits(value), *share, kinds[name]))
    headings = ("entry", "energy per epoch, J", "baseload, J", "baseload, %", "sensor")
    return Drawing(chart.canvas.svg(), headings, tuple(rows), chosen.note)


def _tier_place(kind: str) -> int:
    """The best kind of instrument first."""
    return next((place for place, tier in enumerate(Tier) if kind.endswith(f", {tier.value}")), len(Tier))


def _kind(covers: object, tier: object) -> str:
    return f"{covers}, {tier}" if known(covers) and known(tier) else "mixed or unknown sensors"


CHART = Chart(
    "energy-per-epoch",
    "Energy per epoch",
    "Joules, mean of epochs 2 to last and over runs; shaded: baseload. Only bars of one colour compare: same kind of sensor and same coverage.",
    frozenset({"device", "figures", "study"}),
    draw,
    position=80,
)
