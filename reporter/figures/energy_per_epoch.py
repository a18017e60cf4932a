"""Energy per epoch by kind of sensor, as in Figure 2c of Prashanthi et al."""

from reporter.data.frames import Frames, known
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.figures.chart import LEFT, RIGHT, WIDTH, Chart, Context, Drawing, NotDrawn, legend, rows_chart, shortest
from reporter.figures.svg import linear


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One bar per entry, joules, mean of epochs 2 to last, grouped by kind of sensor; the baseload, where known, is shaded."""
    found, idle, all_entries = figures_of(frames, "energy_per_epoch_j"), figures_of(frames, "baseload_per_epoch_j"), entries_of(frames)
    entries = {name: all_entries[name] for name in all_entries if name in found}
    if not entries:
        return NotDrawn(why_missing(frames, "energy_per_epoch_j"))
    ids, note = shortest({name: float(found[name]["value"]) for name in entries})
    kinds = {name: _kind(found[name]["covers"], found[name]["tier"]) for name in ids}
    ids.sort(key=lambda name: (kinds[name], float(found[name]["value"])))
    order = sorted(set(kinds.values()))
    scale = linear([float(found[name]["value"]) for name in ids], LEFT, WIDTH - RIGHT)
    chart = rows_chart(CHART.title, CHART.about, len(ids), scale, "joules per epoch, mean of epochs 2 to last")
    legend(chart.canvas, [(f"c{index}", kind) for index, kind in enumerate(order)] + ([("idle", "baseload")] if idle else []), 40)
    rows = []
    for index, name in enumerate(ids):
        value, label, y = float(found[name]["value"]), entries[name]["label"], chart.y(index)
        chart.name(index, label, context.entry(name) + "#energy_per_epoch_j")
        chart.canvas.rect(
            scale.at(0), y - 11, scale.at(value) - scale.at(0), 22, f"c{order.index(kinds[name])}", f"{label}: {digits(value)} J, {kinds[name]}"
        )
        if name in idle:
            chart.canvas.rect(scale.at(0), y - 11, scale.at(float(idle[name]["value"])) - scale.at(0), 22, "idle", "baseload")
        chart.canvas.text(scale.at(value) + 6, y + 4.5, f"{digits(value)} J", "tick")
        idle_j = float(idle[name]["value"]) if name in idle else None
        share = ("unknown", "unknown") if idle_j is None else (digits(idle_j), f"{100 * idle_j / value:.0f}" if value > 0 else "unknown")
        rows.append((label, digits(value), *share, kinds[name]))
    headings = ("entry", "energy per epoch, J", "baseload, J", "baseload, %", "sensor")
    return Drawing(chart.canvas.svg(), headings, tuple(rows), note)


def _kind(covers: object, tier: object) -> str:
    return f"{covers}, {tier}" if known(covers) and known(tier) else "mixed or unknown sensors"


CHART = Chart(
    "energy-per-epoch",
    "Energy per epoch",
    "Joules, mean of epochs 2 to last and over runs; shaded: baseload. Only bars of one colour compare: same kind of sensor and same coverage.",
    frozenset({"board", "device", "study"}),
    draw,
    position=80,
)
