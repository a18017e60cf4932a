"""Hardware and software counters, as in Figure 2 of the Raspberry Pi study."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporter.data.frames import Frames, is_known, rows_of
from reporter.data.frames import Row as Entry
from reporter.data.selection import choose_rows
from reporter.data.text import significant
from reporter.data.values import entries_of
from reporter.figures.chart import Chart, Context
from reporter.figures.entries import mean_of
from reporter.figures.for_papers import flat_rows, rows_panel
from reporter.figures.model import Estimate, Missing, PaperFigure, Plot, PlotRow, Rows
from reporter.figures.scales import Scale

MAX_ENTRIES = 12
ABOUT = (
    "Counters of all threads and processes on a run's first node from run_start to run_stop,"
    " evaluations included; counts are per finished epoch."
)


@dataclass(frozen=True)
class CounterPanel:
    """A figure as a panel: value * ``factor`` in ``unit``; counts are divided by the finished
    epochs, ratios are not."""

    figure: str
    name: str
    unit: str
    factor: float = 1.0
    is_count: bool = True

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


COUNTERS = (
    CounterPanel("instructions", "instructions", "10⁹ per epoch", 1e-9),
    CounterPanel("instructions_per_cpu_s", "instruction rate", "10⁹ per CPU second", 1e-9, False),
    CounterPanel("ipc", "instructions per cycle", "", 1.0, False),
    CounterPanel("l1d_access", "L1 data accesses", "10⁹ per epoch", 1e-9),
    CounterPanel("l1d_refill", "L1 data misses", "10⁹ per epoch", 1e-9),
    CounterPanel("l1d_miss_ratio", "L1 data miss ratio", "%", 100.0, False),
    CounterPanel("l1d_loads", "L1 data loads", "10⁹ per epoch", 1e-9),
    CounterPanel("l1d_load_misses", "L1 data load misses", "10⁹ per epoch", 1e-9),
    CounterPanel("l1d_load_miss_ratio", "L1 data load miss ratio", "%", 100.0, False),
    CounterPanel("branches", "branches", "10⁹ per epoch", 1e-9),
    CounterPanel("branch_mispredicts", "mispredictions", "10⁶ per epoch", 1e-6),
    CounterPanel("branch_mispredict_ratio", "branch mispredict ratio", "%", 100.0, False),
    CounterPanel("cpu_time_s", "CPU time", "s per epoch"),
    CounterPanel("page_faults", "page faults", "10³ per epoch", 1e-3),
    CounterPanel("context_switches", "context switches", "10³ per epoch", 1e-3),
)


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """A panel per counter with a bar per entry."""
    entries = entries_of(frames)
    values = {
        counter: {name: statistics.fmean(of_runs) for name, of_runs in found.items()}
        for counter in COUNTERS
        if (found := values_of_runs(frames, counter))
    }
    if not values:
        return Missing(shortest_reason(frames, COUNTERS))
    of_first = next(iter(values.values()))
    order = {name: of_first.get(name, math.inf) for name in entries}
    chosen = choose_rows(order, lambda name: str(entries[name]["framework"]), MAX_ENTRIES)
    shown = [(str(entries[name]["label"]), [name]) for name in chosen.ids]
    shown += [(group.label, list(group.ids)) for group in chosen.groups]
    ids = sorted(entries, key=lambda name: (order[name], entries[name]["label"], name))
    legend = context.frameworks([entries[name] for name in ids])
    panels = []
    for counter, means in values.items():
        rows = tuple(_bar(counter, label, names, means, entries, context) for label, names in shown)
        scale = Scale((0.0, max((row.total for row in rows), default=0.0) or 1.0))
        panels.append(Rows(counter.title, scale, rows, names=legend, has_axis=False))
    table = tuple(
        (
            entries[name]["label"],
            *(significant(of[name], 4) if name in of else "unknown" for of in values.values()),
        )
        for name in ids
    )
    headings = ("entry", *(counter.title for counter in values))
    note = _note(frames, list(values), chosen.note)
    return Plot(tuple(panels), headings, table, note, columns=3)


def _bar(
    counter: CounterPanel,
    label: str,
    names: Sequence[str],
    found: Mapping[str, float],
    entries: Mapping[str, Entry],
    context: Context,
) -> PlotRow:
    """An entry's bar, or the median of those that share a row."""
    values = [found[name] for name in names if name in found]
    link, style = context.entry(names[0], "runs"), context.colour(entries[names[0]]["framework"])
    if not values:
        return PlotRow(label, (), f"c{style}", link, ("unknown",))
    middle, is_one = statistics.median(values), len(values) == 1
    text = significant(middle) if is_one else f"median {significant(middle)}"
    bar, tip = (Estimate(max(middle, 0.0)),), f"{label}, {counter.title}: {text}"
    return PlotRow(label, bar, f"c{style}" + " faint" * (not is_one), link, (text,), (tip,))


def values_of_runs(frames: Frames, counter: CounterPanel) -> dict[str, list[float]]:
    """The values of the runs of each entry, in the shown unit; entries with a run without a value
    are left out."""
    runs = {row["run_id"]: row for row in rows_of(frames.runs)}
    found: dict[str, list[float]] = {}
    for row in rows_of(frames.select("figures", "figure", [counter.figure]).sort_values("run_id")):
        run = runs[row["run_id"]]
        by = _epochs(frames, run) if counter.is_count else 1.0
        found.setdefault(run["entry_id"], []).append(
            float(row["value"]) * counter.factor / by
            if is_known(row["value"]) and by > 0
            else math.nan
        )
    return {name: values for name, values in found.items() if not any(map(math.isnan, values))}


def _epochs(frames: Frames, run: Entry) -> float:
    """The finished epochs of a run, one that was cut short as its share of the samples; 0 without a
    whole one."""
    rows = frames.rows_by("epochs", "run_id")(run["run_id"])
    samples = [float(row["samples"] or 0) for row in rows]
    return sum(samples) / max(samples) if run["epochs"] and any(samples) else 0.0


def _note(frames: Frames, drawn: list[CounterPanel], shared: str) -> str:
    missing = [counter for counter in COUNTERS if counter not in drawn]
    names = ", ".join(dict.fromkeys(counter.name for counter in missing))
    notes = (
        [f"Not drawn (unknown): {names} ({shortest_reason(frames, missing)})."] if missing else []
    )
    if shared:
        notes.append(
            shared.replace("lowest to highest value, with a mark at the median", "the median")
        )
    return " ".join(notes)


def shortest_reason(frames: Frames, counters: Sequence[CounterPanel]) -> str:
    """The shortest reason for which counters are unknown."""
    chosen = frames.select("figures", "figure", (counter.figure for counter in counters))
    reasons = [str(reason) for reason in chosen["reason"] if is_known(reason)]
    if not reasons and any(is_known(value) for value in chosen["value"]):
        return "no run has finished an epoch"
    return min(reasons, key=lambda one: (len(one), one), default="no run has counters")


def for_paper(frames: Frames, *figures: str) -> PaperFigure | Missing:
    """A panel per counter with a bar per entry."""
    panels, notes, ids = list[Rows](), list[str](), list[str]()
    drawn = [counter for name in figures for counter in COUNTERS if counter.figure == name]
    for counter in drawn:
        values = values_of_runs(frames, counter)
        found = {name: (mean_of(values[name]),) for name in entries_of(frames) if name in values}
        if found:
            rows, more = flat_rows(frames, found)
            panels.append(rows_panel(counter.title, rows))
            notes += more
            ids += found
    if not panels:
        return Missing(f"no run has this counter: {shortest_reason(frames, drawn)}")
    error_bars = "± one standard deviation over runs"
    return PaperFigure(tuple(panels), tuple(ids), ABOUT, error_bars, tuple(dict.fromkeys(notes)))


CHART = Chart(
    "counters",
    "CPU counters",
    f"{ABOUT} Means over runs, one scale per panel.",
    describe,
    frozenset({"comparison", "study"}),
    position=150,
)
