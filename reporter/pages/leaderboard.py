"""The front page, whose sentence and chart are those of the heaviest workload, and a page per
leaderboard."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import jinja2

from reporter.board.axis import Axis, axis_of
from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.board.columns import Cell, Column, Facet, show_facet
from reporter.data.entry_scores import SCORE_J, SCORE_S, Status
from reporter.data.frames import ACCEPTED, grouped
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.words import property_name
from reporter.pages.addresses import machine_page, submitter_page
from reporter.pages.board_view import LeaderboardView, board_view, instrument
from reporter.pages.comparison_data import comparison_files
from reporter.pages.exports import board_files
from reporter.pages.first_page import first_page
from reporter.pages.headlines import headline
from reporter.pages.shared import (
    Charts,
    MenuItem,
    Page,
    PageKind,
    SiteContents,
    board_sections,
    board_title,
    place_charts,
    render_page,
    trained_title,
)
from suite.catalog.divisions import Division
from suite.catalog.rounds import judging_round
from suite.errors import SuiteError

MAX_ROWS_OF_FIGURES = 12
"""Of a figure on a board's page: its four figures are at most four screens high."""
MAX_ROWS_OF_FIGURE_TABLES = 20
CURVES = "accuracy"
"""The figure of accuracy against time."""
MAX_LINKED_ROWS = 100
"""Of a table of entries: in the rows behind these, only the system and its time are links, which
keeps a page of 1,000 entries small."""


@dataclass(frozen=True)
class EntryTable:
    """A table of entries. ``facets`` and ``columns`` are those of opened rows, with their places in
    a row's facets and cells."""

    board: Leaderboard
    rows: tuple[LeaderboardRow, ...]
    axis: Axis
    facets: tuple[tuple[int, Facet], ...]
    columns: tuple[tuple[int, Column], ...]
    max_linked: int = MAX_LINKED_ROWS

    @property
    def has_ranks(self) -> bool:
        """Whether the first cell of a row says something: a rank, or why there is none."""
        return any(
            row.rank.place is not None
            or row.entry["state"] != ACCEPTED
            or row.scores.status in MARKED
            for row in self.rows
        )

    def main(self, row: LeaderboardRow) -> Iterator[tuple[Cell, str]]:
        """The cells that are always shown, with their kind."""
        for column, kind in (
            (self.board.time, "time"),
            (self.board.energy, "energy"),
            (self.board.memory, "memory"),
        ):
            if column is not None and (cell := row.cell(column.figure)) is not None:
                yield cell, kind

    def machine_page(self, row: LeaderboardRow) -> str:
        """The page of the row's device, from the site's root."""
        return machine_page(row.entry)

    def submitter_page(self, row: LeaderboardRow) -> str:
        """The page of who submitted the row, from the site's root."""
        return submitter_page(str(row.entry["organization"]))

    def is_compared(self, row: LeaderboardRow) -> bool:
        """Whether the page that compares two entries has the row and another one to compare it
        with."""
        return row.entry["state"] == ACCEPTED and len(self.board.accepted) > 1

    def instrument(self, row: LeaderboardRow) -> str:
        """What measured the row's energy, in words."""
        return instrument(row)


def entry_table(board: Leaderboard, rows: tuple[LeaderboardRow, ...]) -> EntryTable:
    """A table of these rows; all tables of a board have one axis."""
    axis = axis_of((row.cell(board.time.figure) for row in board.accepted), board.time.unit)
    facets = tuple(
        (place, facet) for place, facet in enumerate(board.facets) if facet.name not in NAMED
    )
    columns = tuple(
        (place, column)
        for place, column in enumerate(board.columns)
        if column in board.other_columns
    )
    return EntryTable(board, rows, axis, facets, columns)


SCORES = (SCORE_S, SCORE_J)
MARKED = (Status.PROVISIONAL, Status.CHARACTERISATION)
CHANGED = ("batch_size", "learning_rate", "precision")
"""Settings that rounds prescribe, and that change a training's time."""
NAMED = ("device", "framework")
"""Facets that stand in cells of their own."""


def front_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """index.html: the sentence and the chart of one workload, then the sentence of every
    leaderboard by round and division."""
    if contents.own_runs is not None:
        yield from first_page(contents, environment)
        return
    main = max(contents.boards, key=front_page_order, default=None)
    groups = grouped(contents.boards, lambda board: (board.round, board.division))
    frames = contents.frames if main is None else main.frames
    charts = place_charts("front", frames, contents, "", "front")
    yield from charts.files
    yield render_page(
        environment,
        "front.html",
        "index.html",
        "front",
        view=main and _with_curves(board_view(main), charts),
        charts=charts,
        tabs=() if main is None else tabs_of(main, contents.boards),
        groups=[
            (
                *key,
                [
                    (board, headline(board), why_other_round(board, contents.boards))
                    for board in boards
                ],
            )
            for key, boards in groups.items()
        ],
        title_of=trained_title,
        **contents.off_boards,
    )


def _with_curves(view: LeaderboardView, charts: Charts) -> LeaderboardView:
    names = [placed.chart.name for placed in charts.placed]
    return replace(view, curves=CURVES if CURVES in names else "")


def front_page_order(board: Leaderboard) -> tuple[bool, bool, bool, bool, int]:
    """What the front page answers first: a workload that two devices completed, in the closed
    division, the heaviest one by multiply-adds; of several rounds the newest. Reference systems
    come last."""
    confirmed = [row for row in board.in_order if row.is_confirmed]
    is_completed = board.time.figure in (SCORE_S, TIME_TO_TARGET)
    try:
        macs = judging_round(board.round).workload(board.workload).forward_macs
    except SuiteError:
        macs = 0
    return (
        bool(board.accepted) and not board.is_reference,
        is_completed and len({row.system for row in confirmed}) > 1,
        is_completed and bool(confirmed),
        board.division == Division.CLOSED.value and board.own_data,
        macs,
    )


def tabs_of(board: Leaderboard, boards: Sequence[Leaderboard]) -> tuple[tuple[str, str, bool], ...]:
    """The other workloads of the board's round and division, as (title, page, is it this);
    reference systems are named where devices stand beside them."""
    alike = [
        each for each in boards if (each.round, each.division) == (board.round, board.division)
    ]
    has_devices = not all(each.is_reference for each in alike)
    return tuple(
        (
            trained_title(each)
            + (": reference systems" if each.is_reference and has_devices else ""),
            f"boards/{each.slug}.html",
            each is board,
        )
        for each in alike
    )


def why_other_round(board: Leaderboard, boards: Sequence[Leaderboard]) -> str:
    """Why a result of an earlier round is not that of the newest one with results: what was set
    otherwise."""
    alike = (
        each
        for each in boards
        if (each.workload, each.division, each.data, each.precision, each.is_reference)
        == (board.workload, board.division, board.data, board.precision, board.is_reference)
    )
    newer = next((each for each in alike if each.accepted), board)
    if newer is board or not board.accepted:
        return ""
    changes = [
        f"{property_name(name)} {_values(board, name)} here, {_values(newer, name)} there"
        for name in CHANGED
        if _values(board, name) != _values(newer, name)
    ]
    said = "; ".join(changes) or "its own reference points"
    return f"Not comparable with round {newer.round}: {said}."


def _values(board: Leaderboard, name: str) -> str:
    return ", ".join(sorted({show_facet(row.entry[name]) for row in board.accepted}))


def board_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """boards/<slug>.html, with its style sheet, figures and data files, and the part of it that
    other pages embed."""
    for board in contents.boards:
        charts = place_charts(
            "board", board.frames, contents, "../", board.slug, MAX_ROWS_OF_FIGURES
        )
        yield render_page(
            environment,
            "board.html",
            f"boards/{board.slug}.html",
            "front",
            board=board,
            title=trained_title(board),
            view=_with_curves(board_view(board), charts),
            tabs=tabs_of(board, contents.boards),
            charts=charts,
            sections=[section.render(board, environment, "../") for section in board_sections()],
            table_of=partial(entry_table, board),
            max_table_rows=MAX_ROWS_OF_FIGURE_TABLES,
            is_scored=board.time.figure in SCORES,
        )
        yield Page(f"boards/{board.slug}.css", _labels(entry_table(board, ())))
        yield from charts.files
        yield render_page(
            environment,
            "embed.html",
            f"boards/{board.slug}-embed.html",
            "front",
            view=board_view(board, ("device",)),
            title=board_title(board),
        )
        yield from _figures_page(board, contents, environment)
        yield from board_files(board)
        yield from comparison_files(board)


def _labels(table: EntryTable) -> str:
    """The style sheet that names the cells of opened rows and hides those of closed ones. Its texts
    are headings of this module's columns only."""
    shown = 5 + (table.board.energy is not None) + (table.board.memory is not None)
    headings = [facet.heading for _, facet in table.facets] + [
        column.heading for _, column in table.columns
    ]
    rules = [
        f".entries > tbody > tr > :nth-child({shown + place})::before {{ content:"
        f" {json.dumps(text)}; }}"
        for place, text in enumerate(headings, 1)
    ]
    hidden = (
        f".entries > thead > tr > :nth-child(n + {shown + 1}), .entries > tbody >"
        f" tr:not(:has(details[open])) > :nth-child(n + {shown + 1})"
    )
    return "\n".join([f"{hidden} {{ display: none; }}", *rules, ""])


def _figures_page(
    board: Leaderboard, contents: SiteContents, environment: jinja2.Environment
) -> Iterator[Page]:
    """boards/<slug>-figures.html: every figure of the board, with more rows than on its own
    page."""
    charts = place_charts("figures", board.frames, contents, "../", f"{board.slug}-all")
    yield render_page(
        environment,
        "figures.html",
        f"boards/{board.slug}-figures.html",
        "front",
        board=board,
        title=trained_title(board),
        headline=headline(board),
        charts=charts,
    )
    yield from charts.files


PAGE_KINDS = (
    PageKind(front_page, 10, MenuItem("front", "index.html", "Workloads")),
    PageKind(board_pages, 11),
)
