"""The front page, with the best entry of each device for every workload, and a page per
leaderboard."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import jinja2

from reporter.board.answers import answers, best_of
from reporter.board.bars import BarScale, bar_scale
from reporter.board.boards import Board, BoardRow
from reporter.board.columns import Cell, Column, Facet
from reporter.board.instruments import measured_by
from reporter.board.matrix import matrices
from reporter.data.entry_scores import SCORE_J, SCORE_S, Status
from reporter.data.frames import ACCEPTED, GENERATED, grouped
from reporter.data.instrument_names import instrument_words
from reporter.pages.addresses import machine_page, submitter_page
from reporter.pages.comparison_data import comparison_files
from reporter.pages.exports import board_files
from reporter.pages.first_page import first_page
from reporter.pages.shared import (
    MenuItem,
    Page,
    PageKind,
    SiteContents,
    board_sections,
    place_charts,
    render,
    trained_title,
)
from suite.catalog.rounds import judging_round
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError

MAX_ROWS_OF_FIGURES = 12
"""Of a figure on a board's page: its four figures are at most four screens high."""
MAX_ROWS_OF_FIGURE_TABLES = 20
MAX_LINKED_ROWS = 100
"""Of a table of entries: in the rows behind these, only the system and its time are links, which
keeps a page of 1,000 entries small."""


@dataclass(frozen=True)
class EntryTable:
    """A table of entries. ``facets`` and ``columns`` are those of opened rows, with their places in
    a row's facets and cells."""

    board: Board
    rows: tuple[BoardRow, ...]
    scale: BarScale
    facets: tuple[tuple[int, Facet], ...]
    columns: tuple[tuple[int, Column], ...]
    max_linked: int = MAX_LINKED_ROWS

    @property
    def has_ranks(self) -> bool:
        """Whether the first cell of a row says something: a rank, or why there is none."""
        return any(
            row.rank.best is not None
            or row.entry["state"] != ACCEPTED
            or row.scores.status in MARKED
            for row in self.rows
        )

    def main(self, row: BoardRow) -> Iterator[tuple[Cell, str]]:
        """The cells that are always shown, with their kind."""
        for column, kind in (
            (self.board.time, "time"),
            (self.board.energy, "energy"),
            (self.board.memory, "memory"),
        ):
            if column is not None and (cell := row.cell(column.figure)) is not None:
                yield cell, kind

    def machine_page(self, row: BoardRow) -> str:
        """The page of the row's device, from the site's root."""
        return machine_page(row.entry)

    def submitter_page(self, row: BoardRow) -> str:
        """The page of who submitted the row, from the site's root."""
        return submitter_page(str(row.entry["organization"]))

    def is_compared(self, row: BoardRow) -> bool:
        """Whether the page that compares two entries has the row and another one to compare it
        with."""
        return row.entry["state"] == ACCEPTED and len(self.board.compared) > 1

    def instrument(self, row: BoardRow) -> str:
        """What measured the row's energy, in words."""
        kinds = load_scoring().instruments()
        return (
            instrument_words(kinds[row.instrument])
            if row.instrument < len(kinds)
            else "unknown sensor"
        )


def entry_table(board: Board, rows: tuple[BoardRow, ...]) -> EntryTable:
    """A table of these rows; the bars of all tables of a board have one scale."""
    scale = bar_scale([row.cell(board.time.figure) for row in board.compared])
    facets = tuple(
        (place, facet) for place, facet in enumerate(board.facets) if facet.name not in NAMED
    )
    columns = tuple(
        (place, column) for place, column in enumerate(board.columns) if column in board.others
    )
    return EntryTable(board, rows, scale, facets, columns)


SCORES = (SCORE_S, SCORE_J)
MARKED = (Status.PROVISIONAL, Status.PROJECTED, Status.CHARACTERISATION)
NAMED = ("device", "framework")
"""Facets that stand in cells of their own."""


def front_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """index.html: for each round and division, the best entry of each workload, devices by
    workloads, and the list of leaderboards."""
    if contents.own_runs is not None:
        yield from first_page(contents, environment)
        return
    groups = grouped(contents.boards, lambda board: (board.round, board.division))
    broken = contents.frames.broken.to_dict("records")
    runs = contents.frames.runs
    generated = runs[runs["state"] == GENERATED].to_dict("records")
    yield render(
        environment,
        "front.html",
        "index.html",
        "front",
        groups=[
            (*key, boards, [best_of(board) for board in boards], matrices(boards))
            for key, boards in groups.items()
        ],
        title_of=trained_title,
        is_score=lambda column: column.figure in SCORES,
        broken=broken,
        generated=generated,
    )


def board_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """boards/<slug>.html, with its style sheet, figures and data files."""
    for board in contents.boards:
        charts = place_charts(
            "board", board.frames, contents, "../", board.slug, MAX_ROWS_OF_FIGURES
        )
        yield render(
            environment,
            "board.html",
            f"boards/{board.slug}.html",
            "front",
            board=board,
            title=trained_title(board),
            target=_target(board),
            charts=charts,
            answers=answers(board),
            energies=measured_by(board),
            sections=[section.render(board, environment, "../") for section in board_sections()],
            table_of=partial(entry_table, board),
            max_table_rows=MAX_ROWS_OF_FIGURE_TABLES,
            is_scored=board.time.figure in SCORES,
        )
        yield Page(f"boards/{board.slug}.css", _labels(entry_table(board, ())))
        yield from charts.files
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
    board: Board, contents: SiteContents, environment: jinja2.Environment
) -> Iterator[Page]:
    """boards/<slug>-figures.html: every figure of the board, with more rows than on its own
    page."""
    charts = place_charts("figures", board.frames, contents, "../", f"{board.slug}-all")
    title = trained_title(board)
    place = f"boards/{board.slug}-figures.html"
    yield render(
        environment, "figures.html", place, "front", board=board, title=title, charts=charts
    )
    yield from charts.files


def _target(board: Board) -> str | None:
    """The target accuracy of the board's runs, in percent; None if there is none."""
    try:
        workload = judging_round(board.round).workload(board.workload)
    except SuiteError:
        return None
    targets = {
        workload.data: workload.target_accuracy,
        **{other.data: other.target_accuracy for other in workload.other_data},
    }
    target = targets.get(board.data)
    return None if target is None else f"{100 * target:g} %"


PAGE_KINDS = (
    PageKind(front_page, 10, MenuItem("front", "index.html", "Leaderboards")),
    PageKind(board_pages, 11),
)
