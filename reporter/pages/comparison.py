"""Framework comparisons with all other settings equal."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jinja2

from reporter.board.columns import FIGURE_COLUMNS, Cell, Column, make_cell
from reporter.board.comparison import Comparable, comparables, compare_pair
from reporter.data.entries import describe_property
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import IDENTITY, Frames, Row, records, rows_of
from reporter.data.instrument_names import instrument_named
from reporter.data.machine_names import system_name
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_by_entry
from reporter.data.words import property_in_words, property_name
from reporter.pages.shared import (
    Charts,
    Page,
    PageKind,
    SiteContents,
    place_charts,
    render_page,
    title_of,
)
from suite.catalog.rounds import judging_round
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.metrics.comparisons import Ratio

ALIKE = [
    name
    for name in IDENTITY
    if name not in ("framework", "framework_version", "implementation", "organization")
]
TIMES = (SCORE_S, TIME_TO_TARGET, "time_to_epoch_s")
"""What frameworks are compared by at the top of the page: the first figure that every entry of a
setting has."""


@dataclass(frozen=True)
class TableRow:
    """An entry of a comparison: its framework's name, its cells, those of the comparison's columns,
    and what measured its energies."""

    entry: Row
    framework: str
    cells: tuple[Cell, ...]
    instrument: str

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return str(self.entry["entry_id"])

    def cell(self, figure: str) -> Cell | None:
        """The cell of this figure."""
        return next((cell for cell in self.cells if cell.column.figure == figure), None)


@dataclass(frozen=True)
class Comparison:
    """A setting that was run in several frameworks: ``setting`` as (name, value), ``rows`` by time,
    the columns that are not empty in every row.

    ``figure`` is what ``best`` has, by framework, each of as many entries as ``chosen_from`` says;
    ``fastest`` is the framework whose entry has the lowest.
    """

    name: str
    title: str
    setting: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    figure: str
    best: Mapping[str, tuple[TableRow, Cell]]
    chosen_from: Mapping[str, int]
    compared: Mapping[str, Comparable]
    fastest: str
    charts: Charts

    def ratio(self, framework: str, base: str) -> Ratio | str:
        """The first framework's best time over that of the other one, or why there is none."""
        one, other = (self.compared[self.best[each][0].entry_id] for each in (framework, base))
        chosen_from = (self.chosen_from[framework] + self.chosen_from[base]) / 2
        return compare_pair(one, other, chosen_from)

    def beside_fastest(self, framework: str) -> tuple[str, str]:
        """ "×1.31, 1.28 to 1.34", with "≈" where the two are not distinguishable; without an
        interval the reason, and which entry lacks it."""
        if framework == self.fastest:
            return "fastest" if self.is_sure else "lowest", ""
        found = self.ratio(framework, self.fastest)
        if isinstance(found, str):
            return found.rpartition(": ")[2], found
        ends = f"{significant(found.low)} to {significant(found.high)}"
        return f"{'' if found.is_different else '≈ '}×{_times(found.ratio)}, {ends}", ""

    @cached_property
    def is_sure(self) -> bool:
        """Whether every framework of the setting has a figure, and all others are distinguishable
        from the fastest one."""
        if len(self.best) < 2 or any(row.framework not in self.best for row in self.rows):
            return False
        others = (self.ratio(each, self.fastest) for each in self.best if each != self.fastest)
        return all(isinstance(found, Ratio) and found.is_different for found in others)


def _times(ratio: float) -> str:
    return significant(ratio, 3 if 0.9 < ratio < 1.1 else 2)


def frameworks_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """frameworks.html: one comparison per setting that was run in at least two frameworks, and all
    of them side by side on top.

    Where there are several, the settings, entries and figures of each are on a page of its own,
    frameworks/<name>.html.
    """
    found = sorted(framework_comparisons(contents.frames.accepted()), key=_lightest_last)
    titles = _titles([setting for setting, _ in found])
    comparisons, up = [], "../" if len(found) > 1 else ""
    for (setting, frames), title in zip(found, titles, strict=True):
        name = _name(setting)
        charts = place_charts("comparison", frames, contents, up, name)
        yield from charts.files
        comparisons.append(_comparison(name, title, setting, frames, charts))
        if up:
            place, alone = f"frameworks/{name}.html", {"comparison": comparisons[-1]}
            yield render_page(environment, "comparison.html", place, "frameworks", **alone)
    count = Counter(framework for each in comparisons for framework in each.best)
    frameworks = sorted(count, key=lambda framework: (-count[framework], framework))
    shown = {
        "comparisons": comparisons,
        "frameworks": frameworks,
        "costs": list(framework_costs(comparisons)),
        "level": load_scoring().pair_confidence,
    }
    yield render_page(environment, "frameworks.html", "frameworks.html", "frameworks", **shown)


def _lightest_last(found: tuple[Row, Frames]) -> int:
    """Orders settings by their workload's multiply-adds."""
    setting, _ = found
    try:
        return -judging_round(str(setting["round"])).workload(str(setting["workload"])).forward_macs
    except SuiteError:
        return 0


def framework_costs(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """What each framework costs beside the one that is most often significantly the fastest, a
    sentence each; that one's first."""
    won = Counter(each.fastest for each in comparisons if each.is_sure)
    if not won:
        if comparisons:
            yield "No framework is significantly the fastest."
        return
    base = min(won, key=lambda name: (-won[name], name))
    where = f" in {won[base]} of {len(comparisons)} settings" if len(comparisons) > 1 else ""
    yield f"{base} is the fastest framework{where}."
    for name in sorted({name for each in comparisons for name in each.best} - {base}):
        pairs = [each.ratio(name, base) for each in comparisons if {name, base} <= {*each.best}]
        found = [pair for pair in pairs if isinstance(pair, Ratio)]
        if found:
            ratios = [pair.ratio for pair in found]
            ends = dict.fromkeys(map(_times, (min(ratios), max(ratios))))
            alike = sum(not pair.is_different for pair in found)
            yield (
                f"{name} takes {' to '.join(ends)} times as long as {base}, in"
                f" {counted(len(found), 'setting')}"
                f"{f'; in {alike} of them the two are not distinguishable' if alike else ''}."
            )


def framework_comparisons(frames: Frames) -> Iterator[tuple[dict[str, Any], Frames]]:
    """Each setting that was run in several frameworks, and its entries; each framework has code of
    its own."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, entry in enumerate(rows_of(frames.entries[ALIKE])):
        groups.setdefault(tuple(str(value) for value in entry.values()), []).append(index)
    for _, indices in sorted(groups.items()):
        entries = frames.entries.iloc[indices]
        if entries["framework"].nunique() > 1:
            yield next(records(entries[ALIKE])), frames.of_entries(entries)


def _name(setting: Row) -> str:
    """A name that stays the same when other settings are added."""
    text = json.dumps({name: str(value) for name, value in setting.items()})
    return f"comparison-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _titles(settings: Sequence[Row]) -> list[str]:
    """Workload and system of each setting, and the properties in which it differs from others of
    the same workload and system."""
    titles = [f"{title_of(one)} · {system_name(one)}" for one in settings]
    written = []
    for title, setting in zip(titles, settings, strict=True):
        alike = [other for other, same in zip(settings, titles, strict=True) if same == title]
        differing = [name for name in ALIKE if len({str(other[name]) for other in alike}) > 1]
        written.append(
            " · ".join([title, *(describe_property(name, setting[name]) for name in differing)])
        )
    return written


def _comparison(name: str, title: str, setting: Row, frames: Frames, charts: Charts) -> Comparison:
    rows = _table(frames)
    columns = [
        column
        for index, column in enumerate(FIGURE_COLUMNS)
        if any(row.cells[index].raw for row in rows)
    ]
    shown = tuple(
        replace(row, cells=tuple(cell for cell in row.cells if cell.column in columns))
        for row in rows
    )
    figure = _figure_of_all(shown)
    best = _best(shown, figure)
    compared = comparables(frames, [row.entry for row in shown], figure)
    chosen_from = Counter(row.framework for row in shown if compared[row.entry_id].value)
    fastest = min(
        best, key=lambda framework: (best[framework][1].value or 0.0, framework), default=""
    )
    heading = next(
        (column.heading for column in columns if column.figure == figure), "time per epoch"
    )
    return Comparison(
        name,
        title,
        tuple(_facts(setting)),
        tuple(columns),
        shown,
        heading,
        best,
        chosen_from,
        compared,
        fastest,
        charts,
    )


def _figure_of_all(rows: Sequence[TableRow]) -> str:
    """The first of TIMES that every entry has."""
    known = ([row.cell(one) for row in rows] for one in TIMES)
    found = (
        one
        for one, cells in zip(TIMES, known, strict=True)
        if all(each and each.raw for each in cells)
    )
    return next(found, TIMES[-1])


def _best(rows: Sequence[TableRow], figure: str) -> dict[str, tuple[TableRow, Cell]]:
    """The row of each framework with the lowest value of a figure."""
    best: dict[str, tuple[TableRow, Cell]] = {}
    for row in rows:
        cell = row.cell(figure)
        if (
            cell is not None
            and cell.value is not None
            and (row.framework not in best or cell.value < (best[row.framework][1].value or 0.0))
        ):
            best[row.framework] = row, cell
    return best


def _facts(setting: Row) -> Iterator[tuple[str, str]]:
    left_out = ("workload", "own_data", "device")
    return (
        (property_name(name), property_in_words(setting, name))
        for name in setting
        if name not in left_out
    )


def _table(frames: Frames) -> list[TableRow]:
    """One row per entry, sorted by time per epoch, with a cell per column."""
    figures = figures_by_entry(frames, [column.figure for column in FIGURE_COLUMNS])
    rows = []
    for name, entry in entries_of(frames).items():
        cells = tuple(
            make_cell(column, figures[name].get(column.figure)) for column in FIGURE_COLUMNS
        )
        measured = (
            frames.scores[name].instrument
            if any(cell.raw for cell in cells if cell.column.is_energy)
            else None
        )
        rows.append(
            TableRow(
                entry,
                str(entry["implementation_name"]),
                cells,
                instrument_named(*measured) if measured else "",
            )
        )
    return sorted(rows, key=_order)


def _order(row: TableRow) -> tuple[bool, float, str]:
    cell = row.cell(TIMES[-1])
    value = None if cell is None else cell.value
    return value is None, value or 0.0, str(row.entry["entry_id"])


PAGE_KIND = PageKind(frameworks_page, 20)
