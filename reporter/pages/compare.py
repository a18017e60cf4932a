"""compare.html: two entries of a leaderboard, chosen by the reader. Ratios with intervals that
depend on the two alone, and their configurations.

Without a script each leaderboard has its pairs: all of a small one, else every entry against the
first. The script only lets a reader pick; it computes from the statistics in data/compare.js what
reporter.board.comparison computes (a test compares the two).
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.board.columns import FIGURE_COLUMNS, Column
from reporter.board.comparison import Comparable, comparables, compare_pair
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import IDENTITY
from reporter.data.instrument_names import instrument_named
from reporter.data.text import significant
from reporter.data.words import property_in_words, property_name
from reporter.pages.comparison_data import t_table
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, board_title, render_page
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import OTHER_ACCELERATORS, Ratio

ALL_PAIRS_OF = 10
"""Entries of a board whose pairs are all listed: 45."""
MAX_LISTED = 200
"""Rows of a board without a script."""
NOT_COMPARED = (
    "best_accuracy",
    "epochs_to_target",
    "samples_per_s",
    "fetch_stall_share",
    "energy_j",
    "foreign_cpu_share",
)
"""Left out: what follows from other figures, shares, and what is no cost of a training."""
COMPARED = tuple(
    sorted(
        (column for column in FIGURE_COLUMNS if column.figure not in NOT_COMPARED),
        key=lambda column: column.is_energy,
    )
)
"""Times come first."""
MAX_NAMED = 2
"""Properties in the names of two entries of one framework and system; the table of differences has
all."""
DIGITS = 8
STATISTICS = (
    "log_mean",
    "log_variance",
    "runs",
    "fixed_variance",
    "epochs_variance",
    "epochs_freedom",
    "epochs_excess",
)
LEFT_OUT = ("workload", "division", "data", "own_data", "round")
"""Properties that all entries of a board share."""


@dataclass(frozen=True)
class Pair:
    """Two entries of a board, the ratio of their scores in words, and the properties in which they
    differ, as (name, first, second).

    ``names`` are those that tell the two apart; their labels, which tell them from all entries of
    the board, can be long.
    """

    one: LeaderboardRow
    other: LeaderboardRow
    names: tuple[str, str]
    ratio: str
    interval: str
    verdict: str
    differences: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class LeaderboardPairs:
    """The pairs of a board that are listed; ``is_whole`` if these are all of them."""

    board: Leaderboard
    title: str
    pairs: tuple[Pair, ...]
    entries: int
    is_whole: bool


def compare_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """compare.html and data/compare.js."""
    boards = [board for board in contents.boards if len(board.accepted) > 1]
    found = {
        board.slug: {each.figure: _compared(board, each) for each in COMPARED} for board in boards
    }
    listed = [_pairs(board, found[board.slug][SCORE_S]) for board in boards]
    confidence = load_scoring().pair_confidence
    shown = {"boards": listed, "confidence": confidence}
    yield render_page(environment, "compare.html", "compare.html", "compare", **shown)
    values = {
        "confidence": confidence,
        "accelerators": OTHER_ACCELERATORS,
        "t": t_table(),
        "figures": [_figure(column) for column in COMPARED],
        "named": MAX_NAMED,
        "properties": [property_name(name) for name in IDENTITY if name not in LEFT_OUT],
        "boards": [_board(board, found[board.slug]) for board in boards],
    }
    yield Page(
        "data/compare.js",
        '"use strict";\nconst COMPARED ='
        f" {json.dumps(values, separators=(',', ':'), allow_nan=False)};\n",
    )


def _compared(board: Leaderboard, column: Column) -> dict[str, Comparable]:
    return comparables(board.frames, [row.entry for row in board.accepted], column.figure)


def _pairs(board: Leaderboard, found: Mapping[str, Comparable]) -> LeaderboardPairs:
    rows = board.accepted
    is_whole = len(rows) <= ALL_PAIRS_OF
    pairs = (
        itertools.combinations(rows, 2)
        if is_whole
        else ((row, rows[0]) for row in rows[1 : MAX_LISTED + 1])
    )
    made = tuple(
        _pair(*((other, one) if is_whole else (one, other)), found) for one, other in pairs
    )
    return LeaderboardPairs(board, board_title(board), made, len(rows), is_whole)


def _pair(one: LeaderboardRow, other: LeaderboardRow, found: Mapping[str, Comparable]) -> Pair:
    """The later row over the earlier one: how many times as long it takes."""
    verdict = compare_pair(found[one.entry_id], found[other.entry_id])
    properties = tuple(
        (
            property_name(name),
            property_in_words(one.entry, name),
            property_in_words(other.entry, name),
        )
        for name in IDENTITY
        if name not in LEFT_OUT
        and property_in_words(one.entry, name) != property_in_words(other.entry, name)
    )
    names = _names(one, other, properties)
    if isinstance(verdict, str):
        shown = "—" if verdict == OTHER_ACCELERATORS else _ratio_without_interval(one, other)
        return Pair(one, other, names, shown, "", verdict, properties)
    return Pair(
        one,
        other,
        names,
        significant(verdict.ratio),
        f"{significant(verdict.low)} to {significant(verdict.high)}",
        _words(verdict),
        properties,
    )


def _names(
    one: LeaderboardRow, other: LeaderboardRow, properties: Sequence[tuple[str, str, str]]
) -> tuple[str, str]:
    """Framework and system; if these are alike, the first properties in which the two differ as
    well. compare.js has the same."""
    heads = [f"{row.framework} · {row.system}" for row in (one, other)]
    if heads[0] == heads[1]:
        for name, *values in properties[:MAX_NAMED]:
            heads = [f"{head} · {name} {value}" for head, value in zip(heads, values, strict=True)]
    return heads[0], heads[1]


def _words(ratio: Ratio) -> str:
    if not ratio.is_different:
        return "not distinguishable"
    return "slower" if ratio.ratio > 1 else "faster"


def _ratio_without_interval(one: LeaderboardRow, other: LeaderboardRow) -> str:
    """The quotient of two scores that have too few runs for an interval; a dash if one is
    unknown."""
    scores = [row.scores.time for row in (one, other)]
    values = [score.interval.value for score in scores if score is not None]
    return significant(values[0] / values[1]) if len(values) == 2 and values[1] > 0 else "—"


def _figure(column: Column) -> dict[str, Any]:
    return {
        "name": column.figure,
        "heading": column.heading,
        "unit": column.unit,
        "better": column.better,
        "energy": column.is_energy,
        "factor": column.factor,
    }


def _board(board: Leaderboard, found: Mapping[str, Mapping[str, Comparable]]) -> dict[str, Any]:
    return {
        "slug": board.slug,
        "title": board_title(board),
        "entries": [_entry(row, found) for row in board.accepted],
    }


def _entry(row: LeaderboardRow, found: Mapping[str, Mapping[str, Comparable]]) -> dict[str, Any]:
    name = row.entry_id
    cells = {cell.column.figure: cell for cell in row.cells}
    values: dict[str, Sequence[Any]] = {}
    for column in COMPARED:
        one, cell = found[column.figure][name], cells.get(column.figure)
        if cell is None:
            continue
        if not cell.raw:  # also where only some runs lack it
            values[column.figure] = ["", None, one.reason or cell.why, ""]
            continue
        instrument = instrument_named(*one.instrument) if one.instrument else ""
        known = cell.quantity, float(cell.raw), one.reason, instrument
        values[column.figure] = [*known, *_statistics(one)]
    return {
        "id": name,
        "label": row.label,
        "name": f"{row.framework} · {row.system}",
        "of": [property_in_words(row.entry, each) for each in IDENTITY if each not in LEFT_OUT],
        "on": found[SCORE_S][name].trained_on,
        "values": values,
    }


def _statistics(one: Comparable) -> list[float | None]:
    """The numbers of a comparison in the order of STATISTICS; an infinite variance is None; nothing
    where there is no value."""
    if one.value is None:
        return []
    numbers = [float(f"{getattr(one.value, name):.{DIGITS}g}") for name in STATISTICS]
    return [
        None if number == float("inf") else int(number) if number == int(number) else number
        for number in numbers
    ]


PAGE_KIND = PageKind(compare_page, 15, MenuItem("compare", "compare.html", "Compare"))
