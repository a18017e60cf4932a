"""A time per entry with its spread: dot for the mean, ticks for runs, band for the standard
deviation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from reporter.data.frames import Frames, is_known
from reporter.data.frames import Row as Entry
from reporter.data.quantities import quantity_with_spread
from reporter.data.selection import ascending
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_of, values_of, values_of_runs, why_missing
from reporter.figures.chart import Chart, Context, row_of, rows_of_entries
from reporter.figures.model import Estimate, Marks, Missing, Plot, PlotRow, Rows
from reporter.figures.scales import UNITS, scale_in_units


def spread_of(figure: str, axis: str) -> Callable[[Frames, Context], Plot | Missing]:
    """What describes a figure in seconds with one row per entry, ascending; ``axis`` is the axis'
    title without the unit before it."""
    return partial(_describe, figure, axis)


@dataclass(frozen=True)
class _Time:
    """A figure of an entry: the mean over its runs, its standard deviation, and the runs' values;
    no values where they are not known one by one."""

    entry: Entry
    mean: float
    spread: float | None
    runs: Sequence[float]

    def row(self, context: Context, figure: str) -> PlotRow:
        """A dot with a band, and a mark per run of several."""
        of_runs = tuple(self.runs) if len(self.runs) > 1 else ()
        tip = f"{self.entry['label']}: {significant(self.mean)} s"
        if self.spread is not None:
            over = "runs" if of_runs else "its epochs"
            tip += f" ± {significant(self.spread, 2)} over {over}"
        value = (Estimate.around(self.mean, self.spread),)
        text = quantity_with_spread(self.mean, "s", self.spread)[0]
        return replace(row_of(self.entry, value, context, figure, text, tip), singles=of_runs)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        ends = (significant(min(self.runs)), significant(max(self.runs))) if self.runs else ("", "")
        spread = "" if self.spread is None else significant(self.spread, 2)
        return self.entry["label"], significant(self.mean), spread, str(len(self.runs)), *ends


def _describe(figure: str, axis: str, frames: Frames, context: Context) -> Plot | Missing:
    found, entries, means = (
        figures_of(frames, figure),
        entries_of(frames),
        values_of(frames, figure),
    )
    if not means:
        return Missing(why_missing(frames, figure))
    runs = values_of_runs(frames, figure)
    spreads = {name: found[name]["spread"] for name in means}
    times = {
        name: _Time(
            entries[name],
            mean,
            float(spreads[name]) if is_known(spreads[name]) else None,
            runs.get(name, []),
        )
        for name, mean in means.items()
    }
    rows, note = rows_of_entries(
        means, entries, lambda name: times[name].row(context, figure), "s", context
    )
    ends = [end for row in rows for end in (row.values[0].ends[1], *row.singles)]
    scale = scale_in_units([*ends, *means.values()], "s")
    legend = context.frameworks([entries[name] for name in means])
    axis = f"{UNITS[scale.unit]} {axis}"
    panel = Rows(axis, scale, rows, marks=Marks.DOTS, unit="s", names=legend)
    headings = ("entry", "mean, s", "standard deviation, s", "runs", "lowest, s", "highest, s")
    return Plot((panel,), headings, tuple(times[name].cells for name in ascending(means)), note)


CHARTS = (
    Chart(
        "time-to-target",
        "Measured time to target",
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
