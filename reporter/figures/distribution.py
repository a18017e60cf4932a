"""Distribution of epoch times over all epochs of all runs, as in Figure 5a of Prashanthi et al."""

import statistics

from reporter.data.frames import Frames, known, rows_of
from reporter.data.selection import ascending
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import Chart, Context, rows_of_entries
from reporter.figures.model import Figure, Marks, Missing, Row, Rows
from reporter.figures.scales import UNITS, fitting_closely, in_units


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One row per entry, in seconds: a mark per epoch after the first, a box between the quartiles,
    a line at the median."""
    entries, entry_of = (
        entries_of(frames),
        dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True)),
    )
    epochs: dict[str, list[float]] = {}
    for each in rows_of(frames.epochs[frames.epochs["epoch"] > 1].sort_values(["run_id", "epoch"])):
        if known(each["end_to_end_s"]):
            epochs.setdefault(entry_of[each["run_id"]], []).append(float(each["end_to_end_s"]))
    epochs = {name: values for name, values in epochs.items() if len(values) > 1}
    if not epochs:
        return Missing("no entry has two epochs after the first")
    medians = {name: statistics.median(values) for name, values in epochs.items()}
    variations = {
        name: statistics.stdev(values) / statistics.fmean(values) for name, values in epochs.items()
    }

    def row(name: str) -> Row:
        label = entries[name]["label"]
        return Row(
            label,
            (),
            f"c{context.colour(entries[name]['framework'])}",
            context.entry(name, "runs"),
            tips=(
                f"{label}: median {digits(medians[name])} s, coefficient of variation"
                f" {variations[name]:.1%}",
            ),
            singles=tuple(epochs[name]),
        )

    rows, note = rows_of_entries(medians, entries, row, "s", context)
    every = [*medians.values(), *(value for each in rows for value in each.singles)]
    scale = in_units(every, "s", fitting_closely)
    panel = Rows(
        f"{UNITS[scale.unit]} per epoch (axis may not start at 0)",
        scale,
        rows,
        marks=Marks.BOXES,
        names=context.frameworks([entries[name] for name in epochs]),
    )
    table = []
    for name in ascending(medians):
        values = epochs[name]
        quartiles = statistics.quantiles(values, n=4, method="inclusive")
        numbers = map(digits, (min(values), *quartiles, max(values)))
        variation = f"{100 * variations[name]:.1f}"
        table.append((entries[name]["label"], str(len(values)), *numbers, variation))
    headings = (
        "entry",
        "epochs",
        "lowest, s",
        "lower quartile, s",
        "median, s",
        "upper quartile, s",
        "highest, s",
        "coefficient of variation, %",
    )
    return Figure((panel,), headings, tuple(table), note)


CHART = Chart(
    "distribution",
    "Distribution of epoch times",
    "One mark per epoch, without first epochs; box: lower to upper quartile, thick line: median.",
    describe,
    frozenset({"figures"}),
    position=60,
)
