"""Epoch time by part against data-loading workers and storage, as in Figures 2a and 3 of Prashanthi
et al., POMACS 2022."""

from reporter.data.frames import IDENTITY, Frames, known
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
)
from reporter.figures.stacked_epoch import PARTS
from reporter.figures.svg import in_units, linear

VARIED = ("workers", "storage_medium")
SETTING = [name for name in IDENTITY if name not in VARIED]


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One stacked bar per entry, mean of epochs 2 to last; entries that differ only in workers or
    storage are grouped."""
    parts = {name: figures_of(frames, name) for name, _ in PARTS}
    entries = {
        name: entry
        for name, entry in entries_of(frames).items()
        if all(name in found for found in parts.values())
    }
    settings: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(entries):
        settings.setdefault(tuple(str(entries[name][key]) for key in SETTING), []).append(name)
    groups = [
        sorted(
            names,
            key=lambda name: (
                str(entries[name]["storage_medium"]),
                float(entries[name]["workers"]),
                name,
            ),
        )
        for _, names in sorted(settings.items())
        if len(names) > 1
    ]
    if not groups:
        return NotDrawn(
            "no setting was run with two numbers of workers or storage media with all else equal"
        )
    ids = [name for names in groups for name in names]
    values = {
        name: [max(float(parts[part][name]["value"]), 0.0) for part, _ in PARTS] for name in ids
    }
    totals = {name: sum(values[name]) for name in ids}
    chosen = choose_rows(totals, entries, context.max_rows)
    drawn = [name for name in ids if name in chosen.ids]
    scale = in_units(list(totals.values()), "s", LEFT, WIDTH - RIGHT, linear)
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(drawn) + len(chosen.groups),
        scale,
        f"{UNITS[scale.unit]} per epoch, mean of epochs 2 to last",
    )
    legend(chart.canvas, [(f"p{index}", label) for index, (_, label) in enumerate(PARTS)])
    for index, name in enumerate(drawn):
        x, label = scale.at(0), entries[name]["label"]
        chart.name(index, label, context.entry(name) + "#time_to_epoch_s")
        for part, value in enumerate(values[name]):
            chart.canvas.rect(
                x,
                chart.y(index) - 11,
                scale.at(value) - scale.at(0),
                22,
                f"p{part}",
                f"{label}, {PARTS[part][1]}: {digits(value)} s",
            )
            x += scale.at(value) - scale.at(0)
        chart.canvas.text(x + 6, chart.y(index) + 4.5, quantity(sum(values[name]), "s")[0], "tick")
    chart.share(chosen, totals, "s", context)
    rows = tuple(
        (
            entries[name]["label"],
            _describe(entries[name]),
            *(digits(value) for value in values[name]),
            digits(sum(values[name])),
        )
        for name in ids
    )
    headings = ("entry", "workers and storage", *(f"{label}, s" for _, label in PARTS), "total, s")
    return Drawing(chart.canvas, headings, rows, chosen.note)


def _describe(entry: dict[str, object]) -> str:
    storage = entry["storage_medium"]
    workers = f"{float(str(entry['workers'])):g}"
    return (
        f"{workers} worker{'' if workers == '1' else 's'},"
        f" {storage if known(storage) else 'storage unknown'}"
    )


CHART = Chart(
    "workers",
    "Workers and storage",
    "Mean of epochs 2 to last. Entries differ only in data-loading processes (0: the training"
    " process) or storage medium.",
    frozenset({"figures", "study"}),
    draw,
    position=130,
)
