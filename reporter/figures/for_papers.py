"""Entries as rows and lines of figures for papers: groups that differ in one setting, names, and
those that share a row or line."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reporter.data.entries import describe_property, entry_differences
from reporter.data.frames import Frames, is_known
from reporter.data.frames import Row as Entry
from reporter.data.machine_names import machine_name
from reporter.data.selection import ascending, choose_rows, more_of
from reporter.data.values import entries_of
from reporter.data.words import model_title
from reporter.figures.chart import COLOURS, Context
from reporter.figures.entries import entry_groups
from reporter.figures.model import Estimate, LegendEntry, Line, Marks, Plane, PlotRow, Rows
from reporter.figures.scales import (
    Scale,
    fitting_scale,
    linear_scale,
    linear_scale_without_zero,
    logarithmic_scale,
    spans_a_decade,
)

MAX_ROWS, MAX_LINES = 24, 8
LOCKED = "clocks locked"
OVER_RUNS = "± one standard deviation over runs; for a single run, over its epochs"
Points = tuple[tuple[float, Estimate], ...]
Values = Mapping[str, tuple[Estimate, ...]]
"""By entry id, an estimate for each series."""
Notes = tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """A line before it has a style: what it is called, its framework, and its points."""

    label: str
    framework: str
    points: Points


@dataclass(frozen=True)
class Varied:
    """Entries that are alike except in the properties that a figure varies, in their order;
    ``heading`` is what sets them apart from others."""

    heading: str
    entries: tuple[Entry, ...]


def context_of(frames: Frames) -> Context:
    """A number of colour, marker and hatch for each framework, the same in all figures of these
    frames, and the most rows of a figure."""
    frameworks = sorted(set(frames.entries["framework"]))
    return Context("", {name: index for index, name in enumerate(frameworks)}, MAX_ROWS)


def entry_model(entry: Entry) -> str:
    """The model of an entry's workload in its round, such as ResNet-18; the name of a workload that
    this version does not know."""
    return model_title(str(entry["workload"]), str(entry["round"]))


def property_text(entry: Entry, name: str, is_whole: bool = False) -> str:
    """A property of an entry in the words of a figure; ``is_whole``: with the clocks of a power
    mode."""
    if name == "framework":
        return str(entry["implementation_name"])
    if name == "workload":
        return entry_model(entry)
    if name == "device":
        return machine_name(entry)
    if name == "power_mode" and is_known(entry["power_mode"]) and not is_whole:
        mode = str(entry["power_mode"])
        return mode.partition(":")[0] + (", locked" if LOCKED in mode else "")
    return describe_property(name, entry[name])


def entry_names(entries: Sequence[Entry], left_out: Iterable[str] = ()) -> dict[str, str]:
    """For each entry id, the properties in which the entries differ, without ``left_out``; its
    framework if there are none."""
    by_id = {str(entry["entry_id"]): entry for entry in entries}
    differing = entry_differences(entries, left_out)
    short, whole = (
        {
            name: tuple(property_text(by_id[name], one, is_whole) for one, _ in properties)
            for name, properties in differing.items()
        }
        for is_whole in (False, True)
    )
    texts = whole if len(set(short.values())) < len(set(whole.values())) else short
    kept = _telling(list(texts.values()))
    return {
        name: " · ".join(dict.fromkeys(of_one[index] for index in kept))
        for name, of_one in texts.items()
    }


def entry_labels(entries: Sequence[Entry], left_out: Iterable[str] = ()) -> dict[str, str]:
    """As :func:`entry_names`; the framework of an entry that nothing tells apart."""
    names = entry_names(entries, left_out)
    return {
        name: names[name] or property_text(entry, "framework")
        for entry in entries
        for name in (str(entry["entry_id"]),)
    }


def _telling(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that tell rows apart which the columns before them do not: a framework's version
    adds nothing where each has one."""
    kept: list[int] = []
    parts = 1
    for column in range(len(rows[0]) if rows else 0):
        refined = len({tuple(row[index] for index in (*kept, column)) for row in rows})
        if refined > parts:
            kept.append(column)
            parts = refined
    return kept


def varied_groups(
    frames: Frames, ids: Iterable[str], *properties: str, least: int = 2
) -> tuple[Varied, ...]:
    """The entries in groups that differ in ``properties`` only, in at least ``least`` of their
    values; headings are relative to these groups."""
    groups = entry_groups(frames, ids, properties, least)
    names = entry_names([entry for group in groups for entry in group], properties)
    made = [Varied(names[group[0]["entry_id"]], tuple(group)) for group in groups]
    return tuple(sorted(made, key=lambda one: one.heading))


def rows_panel(
    axis: str, rows: Iterable[PlotRow], series: Sequence[str] = (), is_stacked: bool = False
) -> Rows:
    """Rows with a scale that suits them: values that are not stacked and that span a decade become
    marks on a logarithmic axis, since a bar's length means nothing there."""
    drawn = tuple(rows)
    ends = [end for row in drawn for one in row.values for end in one.ends]
    ends += [row.total for row in drawn] if is_stacked else []
    scale = linear_scale(ends) if is_stacked else fitting_scale(ends)
    named = tuple(
        LegendEntry(f"p{index}", name, scale.logarithmic) for index, name in enumerate(series)
    )
    marks = Marks.STACKED if is_stacked else Marks.BARS
    return Rows(axis, scale, drawn, named, marks)


def rows_of_groups(
    frames: Frames, groups: Sequence[Varied], values: Values, varies: str, is_stacked: bool = False
) -> tuple[tuple[PlotRow, ...], Notes]:
    """Rows below a heading per group, one per entry, named by what a property ``varies``, and a
    note where entries share a row.

    Groups of one entry each become rows without a heading. Groups are chosen by their lowest total,
    per framework in turn.
    """
    deepest = max((len(group.entries) for group in groups), default=1)
    if deepest == 1:
        ids = [str(group.entries[0]["entry_id"]) for group in groups]
        return flat_rows(frames, {name: values[name] for name in ids}, is_stacked=is_stacked)
    labels = {name: text for group in groups for name, text in _labels(group, varies).items()}
    capacity = max(MAX_ROWS // (deepest + 1), 1)
    rows, notes = _group_rows(frames, groups, values, labels, capacity, is_stacked)
    return rows, tuple(note.replace("entries", "settings") for note in notes)


def flat_rows(
    frames: Frames,
    values: Values,
    labels: Mapping[str, str] | None = None,
    is_stacked: bool = False,
) -> tuple[tuple[PlotRow, ...], Notes]:
    """A row per entry id, ascending by the sum of its values, and a note where entries share a
    row."""
    entries = entries_of(frames)
    order = ascending({name: sum(one.value for one in of_one) for name, of_one in values.items()})
    labels = labels or entry_labels([entries[name] for name in values])
    groups = [Varied("", (entries[name],)) for name in order]
    return _group_rows(frames, groups, values, labels, MAX_ROWS, is_stacked)


def _group_rows(
    frames: Frames,
    groups: Sequence[Varied],
    values: Values,
    labels: Mapping[str, str],
    capacity: int,
    is_stacked: bool,
) -> tuple[tuple[PlotRow, ...], Notes]:
    context, by_index = context_of(frames), {f"{index:05}": one for index, one in enumerate(groups)}
    ids = {index: [one["entry_id"] for one in group.entries] for index, group in by_index.items()}
    totals = {
        index: min(sum(one.value for one in values[name]) for name in names)
        for index, names in ids.items()
    }
    chosen = choose_rows(totals, lambda index: by_index[index].entries[0]["framework"], capacity)
    rows = [
        PlotRow(
            labels[entry["entry_id"]],
            values[entry["entry_id"]],
            f"c{context.colour(entry['framework'])}",
            heading=group.heading,
        )
        for index, group in by_index.items()
        if index in chosen.ids
        for entry in group.entries
    ]
    heading = "others, lowest to highest" if any(group.heading for group in groups) else ""
    for one in chosen.groups:
        shared = [values[name] for index in one.ids for name in ids[index]]
        label, style = more_of(len(shared), one.name), f"c{context.colour(one.name)}"
        together = _together(shared, is_stacked)
        rows.append(PlotRow(label, together, style, is_group=True, heading=heading))
    return tuple(rows), chosen.notes


def _together(values: Sequence[tuple[Estimate, ...]], is_stacked: bool) -> tuple[Estimate, ...]:
    """The median of each part, and the range of each part or, if they are stacked, of the totals at
    the last part."""
    parts = [Estimate.of_all([one.value for one in part]) for part in zip(*values, strict=True)]
    if not is_stacked:
        return tuple(parts)
    totals = Estimate.of_all([sum(one.value for one in of_one) for of_one in values])
    *others, last = (one.value for one in parts)
    return *map(Estimate, others), replace(totals, value=last)


def _labels(group: Varied, varies: str) -> dict[str, str]:
    """What tells the entries of a group apart; whole power modes where their names do not."""
    short, whole = (
        {one["entry_id"]: property_text(one, varies, is_whole) for one in group.entries}
        for is_whole in (False, True)
    )
    return short if len(set(short.values())) == len(short) else whole


def lines_of(
    frames: Frames,
    curves: Mapping[str, Curve],
    order: Mapping[str, float],
    together: Callable[[Sequence[Curve]], Points] | None = None,
    first: str = "lowest",
) -> tuple[tuple[Line, ...], Notes]:
    """A line per curve, those of the lowest ``order`` of each framework in turn, and a note where
    others share one per framework: ``together``, by default their mean. The note calls those chosen
    ``first``.

    A line has the style of its framework, unless two lines share one or there is only one line:
    then each has its own.
    """
    context = context_of(frames)
    chosen = choose_rows(order, lambda name: curves[name].framework, MAX_LINES, first)
    shown = [curve for name, curve in curves.items() if name in chosen.ids]
    for group in chosen.groups:
        members = [curves[name] for name in group.ids]
        shown.append(Curve(group.label, group.name, (together or _mean)(members)))
    frameworks = [curve.framework for curve in shown]
    is_own = len(set(frameworks)) == len(frameworks) > 1
    lines = tuple(
        Line(
            curve.points,
            f"l{context.colour(curve.framework) if is_own else index % COLOURS} curve"
            + (" faint" if index >= len(chosen.ids) else ""),
            curve.label,
            is_band=index >= len(chosen.ids),
        )
        for index, curve in enumerate(shown)
    )
    return lines, tuple(note.replace("row", "line") for note in chosen.notes)


def _mean(curves: Sequence[Curve]) -> Points:
    """The mean, the lowest and the highest value at each place."""
    values: dict[float, list[float]] = {}
    for x, one in (point for curve in curves for point in curve.points):
        values.setdefault(x, []).append(one.value)
    return tuple(
        (x, Estimate(statistics.fmean(found), min(found), max(found)))
        for x, found in sorted(values.items())
    )


def settings_notes(notes: Notes) -> Notes:
    """Notes on lines that share one, of settings and their mean."""
    return tuple(
        note.replace("entries", "settings").replace("a mark at the median", "the mean")
        for note in notes
    )


def lines_panel(
    axes: tuple[str, str],
    lines: Sequence[Line],
    x: Callable[[Sequence[float]], Scale],
    is_from_zero: bool = True,
) -> Plane:
    """Lines with scales that suit them: from zero, or logarithmic where values span a decade."""
    ends = [end for line in lines for _, one in line.points for end in one.ends]
    values = [one.value for line in lines for _, one in line.points]
    if not is_from_zero:
        y = linear_scale_without_zero(ends)
    elif spans_a_decade(values):
        y = logarithmic_scale([end for end in ends if end > 0])
    else:
        y = linear_scale(ends)
    places = sorted({place for line in lines for place, _ in line.points})
    return Plane(*axes, x(places), y, tuple(lines))


def position_scale(values: Sequence[float]) -> Scale:
    """Ticks at a few whole numbers, else round ones that span the values."""
    is_few = 1 < len(values) <= 8 and all(value == int(value) for value in values)
    return Scale(tuple(values)) if is_few else linear_scale_without_zero(values)
