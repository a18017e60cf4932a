"""Entries as rows of figures for papers: groups that differ in one setting, names, estimates with
error bars."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reporter.data.entries import describe, differences
from reporter.data.frames import IDENTITY, Frames, Row, known, rows_of
from reporter.data.framework_names import framework_name
from reporter.data.machine_names import machine_name
from reporter.data.selection import choose, more_of
from reporter.data.values import entries_of, figures_of
from reporter.data.words import workload_title
from reporter.papers.model import Bar, BarGroup, Estimate

MAX_ROWS = 24
LOCKED = "clocks locked"
OVER_RUNS = "± one standard deviation over runs; of a single run, over its epochs"


@dataclass(frozen=True)
class Varied:
    """Entries that are alike except in the properties that a figure varies, in their order;
    ``heading`` is what sets them apart from others."""

    heading: str
    entries: tuple[Row, ...]


def styles_of(frames: Frames) -> dict[str, int]:
    """A number of colour, marker and hatch for each framework, the same in all figures of these
    frames."""
    return {name: index for index, name in enumerate(sorted(set(frames.entries["framework"])))}


def model_title(entry: Mapping[str, object]) -> str:
    """The model of an entry's workload in its round, such as ResNet-18; the name of a workload that
    this version does not know."""
    return workload_title(str(entry["workload"]), str(entry["round"])).partition(" on ")[0]


def property_text(entry: Mapping[str, object], name: str) -> str:
    """A property of an entry in the words of a figure."""
    if name == "framework":
        return framework_name(str(entry["framework"]))
    if name == "workload":
        return model_title(entry)
    if name == "device":
        return machine_name(entry)
    if name == "power_mode" and known(entry["power_mode"]):
        return str(entry["power_mode"]).partition(":")[0] + (
            ", locked" if LOCKED in str(entry["power_mode"]) else ""
        )
    return describe(name, entry[name])


def _whole_text(entry: Mapping[str, object], name: str) -> str:
    """As :func:`property_text`, with the clocks of a power mode."""
    return describe(name, entry[name]) if name == "power_mode" else property_text(entry, name)


def names_of(entries: Sequence[Row], left_out: Iterable[str] = ()) -> dict[str, str]:
    """For each entry id, the properties in which the entries differ, without ``left_out``; empty if
    there are none."""
    by_id = {str(entry["entry_id"]): entry for entry in entries}
    texts = {
        name: [property_text(by_id[name], one) for one, _ in properties]
        for name, properties in differences(entries, left_out).items()
    }
    whole = {
        name: [_whole_text(by_id[name], one) for one, _ in properties]
        for name, properties in differences(entries, left_out).items()
    }
    if len(set(map(tuple, texts.values()))) < len(set(map(tuple, whole.values()))):
        texts = whole
    kept = _telling(list(texts.values()))
    return {
        name: " · ".join(dict.fromkeys(of_one[index] for index in kept))
        for name, of_one in texts.items()
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


def varied(
    frames: Frames, ids: Iterable[str], properties: Sequence[str], least: int = 2
) -> tuple[Varied, ...]:
    """The entries in groups that differ in ``properties`` only, in at least ``least`` of their
    values; headings are relative to these groups."""
    entries, groups = entries_of(frames), dict[tuple[str, ...], list[Row]]()
    for name in sorted(ids):
        entry = entries[name]
        groups.setdefault(
            tuple(str(entry[key]) for key in IDENTITY if key not in properties), []
        ).append(entry)
    chosen = [
        group
        for group in groups.values()
        if len({tuple(str(one[key]) for key in properties) for one in group}) >= least
    ]
    names = names_of([entry for group in chosen for entry in group], properties)
    made = [
        Varied(
            names[group[0]["entry_id"]],
            tuple(sorted(group, key=lambda one: _order(one, properties))),
        )
        for group in chosen
    ]
    return tuple(sorted(made, key=lambda one: one.heading))


def _order(entry: Row, properties: Sequence[str]) -> tuple[tuple[bool, float, str], ...]:
    """Numbers by value, texts by letter, unknown values first."""
    values = [entry[name] for name in properties]
    return tuple(
        (
            isinstance(value, int | float),
            float(value) if isinstance(value, int | float) else 0.0,
            str(value),
        )
        for value in values
    )


def estimate_of(figures: Mapping[str, Row], entry_id: str, factor: float = 1.0) -> Estimate | None:
    """A figure of an entry: the mean over its runs, with one standard deviation to each side; None
    if it is unknown."""
    row = figures.get(entry_id)
    if row is None or not known(row["value"]) or not math.isfinite(row["value"]):
        return None
    value = float(row["value"]) * factor
    if not known(row["spread"]):
        return Estimate(value)
    return Estimate(
        value, value - float(row["spread"]) * factor, value + float(row["spread"]) * factor
    )


def estimates(frames: Frames, figure: str, factor: float = 1.0) -> dict[str, Estimate]:
    """A figure of every entry that has it, by entry id."""
    figures = figures_of(frames, figure)
    made = {name: estimate_of(figures, name, factor) for name in entries_of(frames)}
    return {name: one for name, one in made.items() if one is not None}


def of_epochs(
    frames: Frames, columns: Sequence[str], is_wanted: Callable[[int], bool], factor: float = 1.0
) -> dict[str, Estimate]:
    """The sum of columns over wanted epochs: mean of the runs' means, with one standard deviation
    over runs; no entries that lack a value."""
    entry_of = dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True))
    of_run: dict[str, list[float]] = {}
    for row in rows_of(frames.epochs.sort_values(["run_id", "epoch"])):
        if is_wanted(int(row["epoch"])):
            of_run.setdefault(row["run_id"], []).append(
                sum(float(row[name]) if known(row[name]) else math.nan for name in columns) * factor
            )
    of_entry: dict[str, list[float]] = {}
    for run, values in of_run.items():
        of_entry.setdefault(entry_of[run], []).append(statistics.fmean(values))
    return {
        name: mean_of(values)
        for name, values in of_entry.items()
        if all(map(math.isfinite, values))
    }


def mean_of(values: Sequence[float]) -> Estimate:
    """The mean of some values with one sample standard deviation to each side, if there are two or
    more."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean)
    spread = statistics.stdev(values)
    return Estimate(mean, mean - spread, mean + spread)


def rows_of_groups(
    frames: Frames,
    groups: Sequence[Varied],
    value: Callable[[Row], tuple[Estimate, ...]],
    properties: Sequence[str],
    is_stacked: bool = False,
) -> tuple[tuple[BarGroup, ...], str]:
    """A group of bars per heading and a bar per entry, and a note where entries share a row.

    Groups of one entry each become one group without a heading. Groups are chosen by their lowest
    total, per framework in turn.
    """
    styles = styles_of(frames)
    if all(len(group.entries) == 1 for group in groups):
        entries = [group.entries[0] for group in groups]
        bars, note = flat_rows(
            frames,
            {str(entry["entry_id"]): value(entry) for entry in entries},
            is_stacked=is_stacked,
        )
        return (BarGroup("", bars),), note
    totals = {
        str(index): min(sum(one.value for one in value(entry)) for entry in group.entries)
        for index, group in enumerate(groups)
    }
    deepest = max(len(group.entries) for group in groups)
    chosen = choose(
        totals,
        lambda index: str(groups[int(index)].entries[0]["framework"]),
        max(MAX_ROWS // (deepest + 1), 1),
    )
    shown = [groups[int(index)] for index in sorted(chosen.ids, key=int)]
    made = [
        BarGroup(
            group.heading,
            tuple(
                Bar(label, value(entry), styles[str(entry["framework"])])
                for label, entry in zip(
                    _labels(group.entries, properties), group.entries, strict=True
                )
            ),
        )
        for group in shown
    ]
    shared = [
        (one, [value(entry) for index in one.ids for entry in groups[int(index)].entries])
        for one in chosen.groups
    ]
    if shared:
        rest = tuple(
            _shared(more_of(len(values), one.name), values, styles.get(one.name, 7), is_stacked)
            for one, values in shared
        )
        made.append(BarGroup("others, lowest to highest", rest))
    return tuple(made), chosen.note.replace("entries", "settings") if shared else ""


def flat_rows(
    frames: Frames,
    values: Mapping[str, tuple[Estimate, ...]],
    names: Mapping[str, str] | None = None,
    is_stacked: bool = False,
) -> tuple[tuple[Bar, ...], str]:
    """A bar per entry id, ascending by the sum of its values, and a note where entries share a
    row."""
    entries, styles = entries_of(frames), styles_of(frames)
    labels = names or names_of([entries[name] for name in values])
    chosen = choose(
        {name: sum(one.value for one in of_one) for name, of_one in values.items()},
        lambda name: str(entries[name]["framework"]),
        MAX_ROWS,
    )
    bars = [
        Bar(
            labels[name] or property_text(entries[name], "framework"),
            values[name],
            styles[str(entries[name]["framework"])],
        )
        for name in chosen.ids
    ]
    bars += [
        _shared(one.label, [values[name] for name in one.ids], styles.get(one.name, 7), is_stacked)
        for one in chosen.groups
    ]
    return tuple(bars), chosen.note


def _shared(
    label: str, values: Sequence[tuple[Estimate, ...]], style: int, is_stacked: bool
) -> Bar:
    """A row for several entries: the median of each part, and the range of each part or, if they
    are stacked, of the totals at the last part."""
    parts = [[one[part].value for one in values] for part in range(len(values[0]))]
    if not is_stacked:
        return Bar(
            label,
            tuple(Estimate(statistics.median(part), min(part), max(part)) for part in parts),
            style,
            is_group=True,
        )
    totals, medians = (
        [sum(one.value for one in of_one) for of_one in values],
        [statistics.median(part) for part in parts],
    )
    return Bar(
        label,
        (*map(Estimate, medians[:-1]), Estimate(medians[-1], min(totals), max(totals))),
        style,
        is_group=True,
    )


def _labels(entries: Sequence[Row], properties: Sequence[str]) -> list[str]:
    """What tells the entries of a group apart; whole power modes where their names do not."""
    labels = [", ".join(property_text(entry, name) for name in properties) for entry in entries]
    return (
        labels
        if len(set(labels)) == len(labels)
        else [", ".join(_whole_text(entry, name) for name in properties) for entry in entries]
    )


def line_styles(frameworks: Sequence[str], styles: Mapping[str, int]) -> list[int]:
    """A style for each line: its framework's, unless two lines share a framework, or there is only
    one: then each line has its own."""
    if len(set(frameworks)) == len(frameworks) > 1:
        return [styles.get(name, len(styles)) for name in frameworks]
    return list(range(len(frameworks)))
