"""Distribution of epoch times over all epochs of all runs, as in Figure 5a of Prashanthi et al."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reporter.data.frames import Frames, is_known, rows_of
from reporter.data.frames import Row as Entry
from reporter.data.machine_names import machine_name
from reporter.data.machines import differing_software, machines_of
from reporter.data.selection import ascending, choose_rows
from reporter.data.text import significant
from reporter.data.values import entries_of, why_missing
from reporter.figures.chart import Chart, Context, row_of, rows_of_entries
from reporter.figures.energy import ENERGY, Drawn, panels_by_instrument
from reporter.figures.entries import entry_estimates, whole_epochs
from reporter.figures.for_papers import MAX_ROWS, Notes, context_of, entry_labels
from reporter.figures.model import Estimate, Marks, Missing, PaperFigure, Plot, PlotRow, Rows
from reporter.figures.scales import UNITS, fitting_closely, scale_in_units

AXES = {"end_to_end_s": "time per epoch, s", "energy_j": "energy per epoch, J"}
HEADINGS = (
    "entry",
    "epochs",
    "lowest, s",
    "lower quartile, s",
    "median, s",
    "upper quartile, s",
    "highest, s",
    "coefficient of variation, %",
)
MIN_EPOCHS = 2
MAX_NAMES = 4
"""Of software that differs, in a caption."""
INSTANCES = (
    "Boards of one type are named by the first six digits of the hash of their serial number."
)


@dataclass(frozen=True)
class _Epochs:
    """The times of an entry's epochs after the first, s."""

    entry: Entry
    times_s: tuple[float, ...]

    @cached_property
    def quartiles(self) -> Estimate:
        """The median with the quartiles."""
        return Estimate.between_quartiles(self.times_s)

    @property
    def variation(self) -> float:
        """The coefficient of variation."""
        return statistics.stdev(self.times_s) / statistics.fmean(self.times_s)

    def row(self, context: Context) -> PlotRow:
        """A box with a mark per epoch."""
        tip = (
            f"{self.entry['label']}: median {significant(self.quartiles.value)} s, coefficient of"
            f" variation {self.variation:.1%}"
        )
        box = row_of(self.entry, (self.quartiles,), context, "runs", tip=tip)
        return replace(box, singles=self.times_s)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        low, high = self.quartiles.ends
        numbers = (min(self.times_s), low, self.quartiles.value, high, max(self.times_s))
        variation = f"{100 * self.variation:.1f}"
        return self.entry["label"], str(len(self.times_s)), *map(significant, numbers), variation


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """One row per entry, in seconds: a mark per epoch after the first, a box between the quartiles,
    a line at the median."""
    entries, epochs = entries_of(frames), _epochs(frames)
    if not epochs:
        return Missing("no entry has two epochs after the first")
    medians = {name: one.quartiles.value for name, one in epochs.items()}
    rows, note = rows_of_entries(
        medians, entries, lambda name: epochs[name].row(context), "s", context
    )
    every = [*medians.values(), *(value for each in rows for value in each.singles)]
    scale = scale_in_units(every, "s", fitting_closely)
    axis = f"{UNITS[scale.unit]} per epoch (axis may start above 0)"
    legend = context.frameworks([entries[name] for name in epochs])
    panel = Rows(axis, scale, rows, marks=Marks.BANDS, names=legend)
    table = tuple(epochs[name].cells for name in ascending(medians))
    return Plot((panel,), HEADINGS, table, note)


def _epochs(frames: Frames) -> dict[str, _Epochs]:
    """Of each entry with two epochs after the first."""
    entries, entry_of, found = entries_of(frames), frames.entry_of, dict[str, list[float]]()
    for each in whole_epochs(frames):
        if each["epoch"] > 1 and is_known(each["end_to_end_s"]):
            found.setdefault(entry_of[each["run_id"]], []).append(float(each["end_to_end_s"]))
    return {
        name: _Epochs(entries[name], tuple(times))
        for name, times in found.items()
        if len(times) > 1
    }


def for_paper(frames: Frames, column: str) -> PaperFigure | Missing:
    """A column of AXES of every epoch after the first; a row per entry and board, an energy in a
    panel per kind of instrument."""
    axis, values = AXES[column], _values(frames, column)
    if not values:
        return Missing(
            f"no entry has a known {axis.partition(',')[0]} for at least {MIN_EPOCHS} epochs after"
            " the first"
        )
    entries = entries_of(frames)
    sensor_of = ENERGY if column == "energy_j" else None
    names = entry_labels(
        [{**entries[name], "entry_id": f"{name} {board}"} for name, board in values]
    )
    labels = {
        (name, board): names[f"{name} {board}"] + (f" · board {board}" if board else "")
        for name, board in values
    }
    measured = entry_estimates(frames, sensor_of) if sensor_of else entries
    ids = sorted({name for name, _ in values if name in measured})
    if not ids:
        return Missing(f"no entry has a mean energy ({why_missing(frames, ENERGY)})")

    def rows(of_kind: Sequence[str]) -> Drawn:
        chosen = {key: found for key, found in values.items() if key[0] in of_kind}
        boxes, notes = _boxes(frames, chosen, labels)
        return boxes, notes, of_kind

    panels, notes, drawn = panels_by_instrument(frames, sensor_of, axis, ids, rows, _panel)
    if any(name not in ids for name, _ in values):
        why = why_missing(frames, ENERGY)
        notes = (*notes, f"Not drawn: entries without a mean energy ({why}).")
    about = f"One mark per epoch after the first. Box: quartiles; line: median. {INSTANCES}"
    every = tuple(sorted({*notes, *_software_notes(frames, values)}))
    return PaperFigure(panels, drawn, about, "", every, sensor_of)


def _panel(axis: str, rows: Sequence[PlotRow]) -> Rows:
    singles = [value for row in rows for value in row.singles]
    return Rows(axis, fitting_closely(singles), tuple(rows), marks=Marks.BANDS)


def _software_notes(frames: Frames, values: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A warning for each entry whose boards differ in software, which varies times more than boards
    do (Section 5.4.4 of the study)."""
    machines, boards = (
        machines_of(frames),
        {entry: {board for other, board in values if other == entry} for entry, _ in values},
    )
    for entry, of_entry in sorted(boards.items()):
        runs = [str(run["run_id"]) for run in rows_of(frames.runs) if run["entry_id"] == entry]
        differing = differing_software(machines[run] for run in runs) if len(of_entry) > 1 else ()
        if differing:
            more = f" and {len(differing) - MAX_NAMES} more" if len(differing) > MAX_NAMES else ""
            yield (
                f"Software differs between boards ({machine_name(entries_of(frames)[entry])}:"
                f" {', '.join(differing[:MAX_NAMES])}{more})."
            )


def _values(frames: Frames, column: str) -> dict[tuple[str, str], list[float]]:
    """Values by entry id and board; a board is empty where all runs of an entry are of one, or its
    digest is unknown."""
    entry_of, machines = frames.entry_of, machines_of(frames)
    boards = {name: machine.board or "" for name, machine in machines.items()}
    found: dict[tuple[str, str], list[float]] = {}
    for row in whole_epochs(frames):
        if row["epoch"] > 1 and is_known(row[column]):
            found.setdefault((entry_of[row["run_id"]], boards[row["run_id"]]), []).append(
                float(row[column])
            )
    return {key: values for key, values in sorted(found.items()) if len(values) >= MIN_EPOCHS}


def _boxes(
    frames: Frames,
    values: dict[tuple[str, str], list[float]],
    labels: Mapping[tuple[str, str], str],
) -> tuple[list[PlotRow], Notes]:
    """A row per entry and board, below its machine where there are several."""
    entries, context = entries_of(frames), context_of(frames)
    keys = {f"{entry} {board}": (entry, board) for entry, board in values}
    chosen = choose_rows(
        {text: statistics.median(values[key]) for text, key in keys.items()},
        lambda text: str(entries[keys[text][0]]["framework"]),
        MAX_ROWS,
    )
    machines = {entry: machine_name(entries[entry]) for entry, _ in values}
    are_several = len(set(machines.values())) > 1
    rows = []
    for key in (keys[text] for text in chosen.ids):
        style = f"c{context.colour(entries[key[0]]['framework'])}"
        heading = machines[key[0]] if are_several else ""
        rows.append(_box(labels[key], style, values[key], heading))
    order = list(dict.fromkeys(row.heading for row in rows))
    rows.sort(key=lambda row: order.index(row.heading))
    for group in chosen.groups:
        shared = [value for text in group.ids for value in values[keys[text]]]
        rows.append(_box(group.label, f"c{context.colour(group.name)}", shared, "others"))
    return rows, chosen.notes


def _box(label: str, style: str, values: Sequence[float], heading: str) -> PlotRow:
    quartiles = (Estimate.between_quartiles(values),)
    return PlotRow(label, quartiles, style, singles=tuple(values), is_group=True, heading=heading)


CHART = Chart(
    "distribution",
    "Distribution of epoch times",
    "One mark per epoch after the first. Box: lower to upper quartile; thick line: median.",
    describe,
    frozenset({"figures"}),
    position=60,
)
