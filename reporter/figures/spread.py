"""A time per entry with its spread: dot for the mean, ticks for runs, band for the standard
deviation."""

from collections.abc import Callable

from reporter.data.frames import Frames, known
from reporter.data.quantities import quantity_with_spread
from reporter.data.selection import ascending
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of, values_of, values_of_runs, why_missing
from reporter.figures.chart import Chart, Context, rows_of_entries
from reporter.figures.model import Estimate, Figure, Marks, Missing, Row, Rows
from reporter.figures.scales import UNITS, in_units


def spread_of(figure: str, axis: str) -> Callable[[Frames, Context], Figure | Missing]:
    """What describes a figure in seconds with one row per entry, ascending; ``axis`` is the axis'
    title without the unit before it."""

    def describe(frames: Frames, context: Context) -> Figure | Missing:
        return _describe(frames, context, figure, axis)

    return describe


def _describe(frames: Frames, context: Context, figure: str, axis: str) -> Figure | Missing:
    found, entries, means = (
        figures_of(frames, figure),
        entries_of(frames),
        values_of(frames, figure),
    )
    runs = {name: values for name, values in values_of_runs(frames, figure).items() if values}
    if not means:
        return Missing(why_missing(frames, figure))
    spreads = {
        name: float(found[name]["spread"]) if known(found[name]["spread"]) else None
        for name in means
    }

    def row(name: str) -> Row:
        label, value, spread = entries[name]["label"], means[name], spreads[name]
        values = runs.get(name, [])
        over = (
            ""
            if spread is None
            else f" ± {digits(spread, 2)} over {'runs' if len(values) > 1 else 'its epochs'}"
        )
        return Row(
            label,
            (Estimate.around(value, spread),),
            f"c{context.colour(entries[name]['framework'])}",
            context.entry(name, figure),
            (quantity_with_spread(value, "s", spread)[0],),
            (f"{label}: {digits(value)} s{over}",),
            tuple(values) if len(values) > 1 else (),
        )

    rows, note = rows_of_entries(means, entries, row, "s", context)
    ends = [end for row in rows for end in (row.values[0].ends[1], *row.singles)]
    scale = in_units([*ends, *means.values()], "s")
    table = []
    for name in ascending(means):
        values, spread = runs.get(name, []), spreads[name]
        lowest = (digits(min(values)), digits(max(values))) if values else ("", "")
        written = "" if spread is None else digits(spread, 2)
        count = str(len(values))
        table.append((entries[name]["label"], digits(means[name]), written, count, *lowest))
    return Figure(
        (
            Rows(
                f"{UNITS[scale.unit]} {axis}",
                scale,
                rows,
                marks=Marks.DOTS,
                unit="s",
                names=context.frameworks([entries[name] for name in means]),
            ),
        ),
        ("entry", "mean, s", "standard deviation, s", "runs", "lowest, s", "highest, s"),
        tuple(table),
        note,
    )


CHARTS = (
    Chart(
        "time-to-target",
        "Time to target",
        "From run_start to the evaluation that reaches the target. Dot: mean over runs; thin mark:"
        " one run; band: ± one standard deviation.",
        spread_of("time_to_target_s", "to the target accuracy"),
        frozenset({"board", "comparison", "figures"}),
        position=20,
    ),
    Chart(
        "time-to-epoch",
        "Time per epoch",
        "Dot: mean over runs; thin mark: one run; band: ± one standard deviation over runs or, for"
        " a single run, over its epochs.",
        spread_of("time_to_epoch_s", "per epoch, mean of epochs 2 to last"),
        frozenset({"comparison", "figures"}),
        position=40,
    ),
)
