"""The front page, with the first rows of every leaderboard, and a page per leaderboard."""

from collections.abc import Iterator

import jinja2

from reporter.board.boards import Board
from reporter.data.frames import GENERATED
from reporter.data.text import digits
from reporter.pages.comparison_data import comparison_files
from reporter.pages.exports import board_files
from reporter.pages.first_page import first_page
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, place_charts, title_of
from suite.catalog.scoring import load_scoring
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError

MAX_ROWS_ON_FRONT = 12
MAX_ROWS_OF_FIGURES = 12
"""Of a figure on a board's page: its four figures are at most four screens high."""


def front_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """index.html: the first entries of each leaderboard, with their epoch times."""
    if contents.own_runs is not None:
        yield from first_page(contents, environment)
        return
    sections = []
    for board in contents.boards:
        charts = place_charts("front", board.frames, contents, "", f"front-{board.slug}")
        title = title_of(board.workload, board.data, board.own_data)
        sections.append({"board": board, "title": title, "charts": charts, "max_rows": MAX_ROWS_ON_FRONT})
        yield from charts.files
    broken = contents.frames.broken.to_dict("records")
    runs = contents.frames.runs
    generated = runs[runs["state"] == GENERATED].to_dict("records")
    template = environment.get_template("front.html")
    page = template.render(root="", here="front", sections=sections, broken=broken, generated=generated)
    yield Page("index.html", page)


def board_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """boards/<slug>.html, with figures and data files."""
    template = environment.get_template("board.html")
    for board in contents.boards:
        charts = place_charts("board", board.frames, contents, "../", board.slug, MAX_ROWS_OF_FIGURES)
        page = template.render(
            root="../",
            here="front",
            board=board,
            title=title_of(board.workload, board.data, board.own_data),
            target=_target(board),
            charts=charts,
            scoring=load_scoring(),
            labels={row.entry["entry_id"]: row for row in board.accepted},
            digits=digits,
        )
        yield Page(f"boards/{board.slug}.html", page)
        yield from charts.files
        yield from _figures_page(board, contents, environment)
        yield from board_files(board)
        yield from comparison_files(board)


def _figures_page(board: Board, contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """boards/<slug>-figures.html: every figure of the board, with more rows than on its own page."""
    charts = place_charts("figures", board.frames, contents, "../", f"{board.slug}-all")
    title = title_of(board.workload, board.data, board.own_data)
    yield Page(
        f"boards/{board.slug}-figures.html",
        environment.get_template("figures.html").render(root="../", here="front", board=board, title=title, charts=charts),
    )
    yield from charts.files


def _target(board: Board) -> str | None:
    """The target accuracy of the board's runs, in percent; None if there is none."""
    try:
        workload = load_workload(board.workload)
    except SuiteError:
        return None
    targets = {workload.data: workload.target_accuracy, **{other.data: other.target_accuracy for other in workload.other_data}}
    target = targets.get(board.data)
    return None if target is None else f"{100 * target:g} %"


PAGE_KINDS = (
    PageKind(front_page, 10, MenuItem("front", "index.html", "Leaderboards")),
    PageKind(board_pages, 11),
)
