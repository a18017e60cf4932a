"""Time of an epoch by part, and of epoch 1 beside later ones, as in Figures 2a, 2b and 3 of
Prashanthi et al., POMACS 2022."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reporter.data.frames import Frames, is_known
from reporter.data.frames import Row as Entry
from reporter.data.quantities import quantity
from reporter.data.selection import ascending
from reporter.data.text import significant
from reporter.data.values import entries_of, values_of, why_missing
from reporter.figures.chart import Chart, Context, rows_of_entries, without_parts
from reporter.figures.entries import entry_estimates, entry_groups, epoch_sums
from reporter.figures.for_papers import (
    MAX_ROWS,
    Varied,
    flat_rows,
    rows_of_groups,
    rows_panel,
    varied_groups,
)
from reporter.figures.model import (
    Estimate,
    LegendEntry,
    Marks,
    Missing,
    PaperFigure,
    Plot,
    PlotRow,
    Rows,
)
from reporter.figures.scales import UNITS, linear_scale, scale_in_units, spans_a_decade

PARTS = {
    "fetch_stall_s": "fetch stall",
    "copy_s": "copy",
    "compute_s": "compute",
    "communication_s": "communication",
    "overhead_s": "overhead",
}
WORKER_START = {"worker_start_s": "start of workers"}
"""Drawn where a run had data-loading processes."""
VARIED = ("storage_medium", "workers")
TIME, MEAN = "time_to_epoch_s", "mean of epochs 2 to last"
FIRST_AND_LATER = (LegendEntry("p0", "epoch 1"), LegendEntry("p2", "epochs 2 to last, mean"))
PAPER_PARTS = ("fetch stall", "compute", "overhead")
WAITS = ("fetch_stall_s", "copy_s")
COLUMNS = (WAITS, ("compute_s",))
"""Of all parts but the last, which is the rest of the epoch."""

LATER, FIRST = "epochs 2 to last", "epoch 1"
DECADE = 10.0
NEEDED = {
    "workers": "number of workers",
    "storage_medium": "storage medium",
    "power_mode": "power mode",
}
"""What entries differ in, by the property that a figure varies."""


def by_part(frames: Frames, context: Context) -> Plot | Missing:
    """Mean over epochs 2 to last of each part, stacked, ascending by total: times, or shares of the
    epoch where the totals span a decade."""
    entries = entries_of(frames)
    parts = PARTS | WORKER_START if any(values_of(frames, *WORKER_START).values()) else PARTS
    values = _values(frames, parts)
    if not values:
        return without_parts(entries)
    totals = {name: sum(of_entry) for name, of_entry in values.items()}
    every = list(totals.values())
    is_shares = spans_a_decade(every)

    def row(name: str) -> PlotRow:
        label, total, link = entries[name]["label"], totals[name], context.entry(name, TIME)
        drawn = (max(100 * value / total if is_shares else value, 0.0) for value in values[name])
        tips = tuple(
            f"{label}, {part}: {significant(value)} s, {value / total:.1%}"
            for part, value in zip(parts.values(), values[name], strict=True)
        )
        text = (quantity(total, "s")[0],)
        return PlotRow(label, tuple(map(Estimate, drawn)), link=link, texts=text, tips=tips)

    rows, note = rows_of_entries(totals, entries, row, "s", context)
    if is_shares:  # the axis does not show the times of the others
        rows = tuple(replace(row, values=(), tips=()) if row.is_group else row for row in rows)
        note = note.replace(", with a mark at the median", "")
    scale = linear_scale([100.0]) if is_shares else scale_in_units(every, "s", linear_scale)
    unit = "% of an epoch" if is_shares else f"{UNITS[scale.unit]} per epoch"
    panel = Rows(f"{unit}, {MEAN}", scale, rows, _series(parts), Marks.STACKED)
    table = (
        (entries[name]["label"], *map(significant, values[name]), significant(totals[name]))
        for name in ascending(totals)
    )
    headings = ("entry", *_headings(parts))
    return Plot((panel,), headings, tuple(table), note)


def by_workers(frames: Frames, context: Context) -> Plot | Missing:
    """One stacked bar per entry, mean of epochs 2 to last; entries that differ only in workers or
    storage are grouped."""
    parts = PARTS | WORKER_START
    entries, values = entries_of(frames), _values(frames, parts)
    found = {
        str(entry["entry_id"]): entry
        for group in entry_groups(frames, values, VARIED)
        for entry in group
    }
    if not found:
        return Missing(
            "no two entries differ only in their number of workers or their storage medium"
        )
    bars = {
        name: PlotRow(
            entries[name]["label"],
            tuple(Estimate(max(value, 0.0)) for value in values[name]),
            link=context.entry(name, TIME),
        )
        for name in found
    }
    totals = {name: bar.total for name, bar in bars.items()}
    rows, note = rows_of_entries(totals, entries, bars.__getitem__, "s", context, list(found))
    scale = scale_in_units(list(totals.values()), "s", linear_scale)
    axis = f"{UNITS[scale.unit]} per epoch, {MEAN}"
    panel = Rows(axis, scale, rows, _series(parts), Marks.STACKED, "s")
    table = tuple(
        (
            bar.label,
            _loading(found[name]),
            *(significant(one.value) for one in bar.values),
            significant(bar.total),
        )
        for name, bar in bars.items()
    )
    headings = ("entry", "workers and storage", *_headings(parts))
    return Plot((panel,), headings, table, note)


def _values(frames: Frames, parts: Mapping[str, str]) -> dict[str, list[float]]:
    """The parts of an epoch of each entry that has them all, s."""
    first, *others = (values_of(frames, part) for part in parts)
    return {
        name: [value, *(part[name] for part in others)]
        for name, value in first.items()
        if all(name in part for part in others)
    }


def _series(parts: Mapping[str, str]) -> tuple[LegendEntry, ...]:
    return tuple(LegendEntry(f"p{index}", label) for index, label in enumerate(parts.values()))


def _headings(parts: Mapping[str, str]) -> tuple[str, ...]:
    return *(f"{label}, s" for label in parts.values()), "total, s"


def _loading(entry: Entry) -> str:
    storage, workers = entry["storage_medium"], f"{float(str(entry['workers'])):g}"
    return (
        f"{workers} worker{'' if workers == '1' else 's'},"
        f" {storage if is_known(storage) else 'storage unknown'}"
    )


@dataclass(frozen=True)
class _Compared:
    """What of epoch 1 stands beside that of later epochs: its marks, its axis and table's heading,
    the figure that its rows link to, and whether rows have the ratio."""

    marks: Marks
    axis: str
    what: str
    figure: str
    has_ratio: bool


def first_epoch(frames: Frames, context: Context) -> Plot | Missing:
    """Two connected dots per entry: epoch 1 and the mean of epochs 2 to last, in seconds."""
    of = _Compared(Marks.DOTS, "per epoch", "", "first_epoch_s", True)
    first_s, later_s = values_of(frames, of.figure), values_of(frames, TIME)
    if not first_s.keys() & later_s.keys():
        return Missing("no run has finished two epochs")
    return _first_and_later(frames, context, first_s, later_s, of)


def first_stall(frames: Frames, context: Context) -> Plot | Missing:
    """Two bars per entry, or marks where values span a decade: fetch stall and copy in epoch 1 and
    per later epoch; means over runs."""
    of = _Compared(Marks.BARS, "of stall per epoch", "stall of ", "fetch_stall_s", False)
    first_s, later_s = (
        {name: one.value for name, one in epoch_sums(frames, WAITS, is_first).items()}
        for is_first in (True, False)
    )
    if not first_s.keys() & later_s.keys():
        return without_parts(entries_of(frames))
    return _first_and_later(frames, context, first_s, later_s, of)


def _first_and_later(
    frames: Frames,
    context: Context,
    first_s: Mapping[str, float],
    later_s: Mapping[str, float],
    of: _Compared,
) -> Plot:
    entries = entries_of(frames)
    rests = {name: rest for name, rest in later_s.items() if name in first_s}
    ratios = {
        name: (f"{first_s[name] / rest:.2f}×",) if of.has_ratio else ()
        for name, rest in rests.items()
    }

    def row(name: str) -> PlotRow:
        label, pair = entries[name]["label"], (first_s[name], rests[name])
        tips = (
            f"{label}, epoch 1: {significant(pair[0])} s",
            f"{label}, later epochs: {significant(pair[1])} s",
        )
        link, values = context.entry(name, of.figure), tuple(map(Estimate, pair))
        return PlotRow(label, values, link=link, texts=ratios[name], tips=tips)

    rows, note = rows_of_entries(rests, entries, row, "s", context)
    scale = scale_in_units([*rests.values(), *(first_s[name] for name in rests)], "s")
    panel = Rows(f"{UNITS[scale.unit]} {of.axis}", scale, rows, FIRST_AND_LATER, of.marks, "s")
    table = (
        (
            entries[name]["label"],
            significant(first_s[name]),
            significant(rests[name]),
            *ratios[name],
        )
        for name in ascending(rests)
    )
    headings = ("entry", f"{of.what}epoch 1, s", f"{of.what}epochs 2 to last, s")
    return Plot((panel,), (*headings, *(("ratio",) * of.has_ratio)), tuple(table), note)


def parts_by(frames: Frames, varies: str) -> PaperFigure | Missing:
    """Parts of an epoch after the first, s, by a property of NEEDED."""
    needed = f"with runs of two or more epochs differ only in {NEEDED[varies]}"
    return _stacked(frames, varies, needed, is_first=False)


def first_by_storage(frames: Frames) -> PaperFigure | Missing:
    """Parts of epoch 1, s, by storage medium, without data-loading processes."""
    alone = frames.of_entries(frames.entries[frames.entries["workers"] == 0])
    needed = f"without loading workers differ only in {NEEDED['storage_medium']}"
    return _stacked(alone, "storage_medium", needed, is_first=True)


def first_stall_for_paper(frames: Frames) -> PaperFigure | Missing:
    """Stall of epoch 1 and of later epochs, s, by data-loading processes; copy included."""
    at_first, at_last = epoch_sums(frames, WAITS, is_first=True), epoch_sums(frames, WAITS)
    ids = [name for name in entries_of(frames) if name in at_first and name in at_last]
    if not ids:
        return Missing("no run finished two epochs")
    pairs = {name: (at_first[name], at_last[name]) for name in ids}
    groups = varied_groups(frames, ids, "workers", least=1)
    rows, notes = rows_of_groups(frames, groups, pairs, "workers")
    about = (
        "Time in which training waits for mini-batches, host-to-device copy included, in epoch 1"
        " and in later epochs. The page cache is cold in epoch 1 if it was emptied before the run."
    )
    panel = rows_panel("stall, s per epoch", rows, (FIRST, LATER))
    error_bars = "± one standard deviation over runs"
    return PaperFigure((panel,), tuple(ids), about, error_bars, notes)


def time_to_target(frames: Frames) -> PaperFigure | Missing:
    """Time to target, s, a row per entry."""
    found = entry_estimates(frames, "time_to_target_s")
    if not found:
        return Missing(f"time to target is unknown: {why_missing(frames, 'time_to_target_s')}")
    rows, notes = flat_rows(frames, {name: (one,) for name, one in found.items()})
    about = (
        "Time from run_start to the evaluation that reaches the target accuracy, minus uncounted"
        " time (storing states, asking a witness, pauses)."
    )
    panel, error_bars = rows_panel("time to target, s", rows), "± one standard deviation over runs"
    return PaperFigure((panel,), tuple(found), about, error_bars, notes)


def _stacked(frames: Frames, varies: str, needed: str, is_first: bool) -> PaperFigure | Missing:
    parts = _means_of_parts(frames, is_first)
    groups = varied_groups(frames, parts, varies)
    if not groups:
        return Missing(f"no two entries {needed}")
    when, axis = (FIRST, f"time of {FIRST}, s") if is_first else (LATER, "time per epoch, s")
    panels, notes = [], list[str]()
    for some in _of_one_scale(groups, parts):
        rows, more = rows_of_groups(frames, some, parts, varies, is_stacked=True)
        panels.append(rows_panel(axis, rows, PAPER_PARTS, is_stacked=True))
        notes += more
    ids = tuple(entry["entry_id"] for group in groups for entry in group.entries)
    about = (
        f"Mean over {when}. Fetch stall includes the host-to-device copy; overhead is the rest of"
        " the epoch, exposed communication included."
    )
    error_bars = "± one standard deviation of the total, over runs"
    return PaperFigure(tuple(panels), ids, about, error_bars, tuple(dict.fromkeys(notes)))


def _means_of_parts(frames: Frames, is_first: bool) -> dict[str, tuple[Estimate, ...]]:
    """Each part's mean by entry; the error bar is that of the total and stands at the last part."""
    means = [epoch_sums(frames, columns, is_first) for columns in COLUMNS]
    totals = epoch_sums(frames, ("end_to_end_s",), is_first)
    found = {}
    for name, total in totals.items():
        if all(name in of_part for of_part in means):
            values = [max(of_part[name].value, 0.0) for of_part in means]
            rest = Estimate(max(total.value - sum(values), 0.0), total.low, total.high)
            found[name] = (*map(Estimate, values), rest)
    return found


def _of_one_scale(
    groups: Sequence[Varied], parts: Mapping[str, tuple[Estimate, ...]]
) -> list[list[Varied]]:
    """Groups whose totals lie within a decade share a panel: stacked bars cannot be drawn on a
    logarithmic axis."""
    total = {
        group.heading: max(
            sum(one.value for one in parts[entry["entry_id"]]) for entry in group.entries
        )
        for group in groups
    }
    panels: list[list[Varied]] = []
    for group in sorted(groups, key=lambda one: (-total[one.heading], one.heading)):
        if panels and (
            total[panels[-1][0].heading] <= DECADE * total[group.heading]
            or len(panels) == MAX_ROWS // 6
        ):
            panels[-1].append(group)
        else:
            panels.append([group])
    return [sorted(panel, key=lambda one: one.heading) for panel in panels]


CHARTS = (
    Chart(
        "stacked-epoch",
        "Epoch time by part",
        "Mean of epochs 2 to last: waiting for mini-batches, host-to-device copy, compute, "
        "exposed communication, overhead. Number: time of an epoch; if times differ by a factor "
        "of ten or more, bars show shares of the epoch.",
        by_part,
        frozenset({"board", "comparison", "figures", "study"}),
        position=45,
    ),
    Chart(
        "first-epoch",
        "Epoch 1 and later epochs",
        "Means over runs. Epoch 1 includes the framework's warm-up; its caches are cold if they"
        " were emptied before the run. Number: time of epoch 1 / time of a later epoch.",
        first_epoch,
        frozenset({"figures", "study"}),
        position=50,
    ),
    Chart(
        "first-stall",
        "Stall of epoch 1 and of later epochs",
        "Fetch stall and host-to-device copy per epoch, means over runs. Caches are cold in epoch 1"
        " if they were emptied before the run.",
        first_stall,
        frozenset({"comparison", "figures", "study"}),
        position=120,
    ),
    Chart(
        "workers",
        "Workers and storage",
        "Mean of epochs 2 to last. Entries differ only in the number of data-loading processes (0:"
        " the training process loads the data) or in the storage medium.",
        by_workers,
        frozenset({"figures", "study"}),
        position=130,
    ),
)
