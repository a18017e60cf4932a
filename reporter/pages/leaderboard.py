"""The front page, with every leaderboard in short, and a page per leaderboard."""

from collections.abc import Iterator

import jinja2

from reporter.board.boards import Board
from reporter.board.ranking import FEWEST_RUNS
from reporter.data.frames import GENERATED
from reporter.pages.exports import board_files
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, place_charts, title_of
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError

MOST_ON_FRONT = 12


def front_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """index.html: each leaderboard's best entries and where their time goes."""
    sections = []
    for board in contents.boards:
        charts = place_charts("front", board.frames, contents, "", f"front-{board.slug}")
        title = title_of(board.workload, board.data, board.own_data)
        sections.append({"board": board, "title": title, "charts": charts, "most": MOST_ON_FRONT})
        yield from charts.files
    broken = contents.frames.broken.to_dict("records")
    runs = contents.frames.runs
    generated = runs[runs["state"] == GENERATED].to_dict("records")
    template = environment.get_template("front.html")
    page = template.render(root="", here="front", sections=sections, broken=broken, generated=generated, fewest=FEWEST_RUNS)
    yield Page("index.html", page)


def board_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """boards/*.html, with their data files."""
    template = environment.get_template("board.html")
    for board in contents.boards:
        charts = place_charts("board", board.frames, contents, "../", board.slug)
        page = template.render(
            root="../",
            here="front",
            board=board,
            title=title_of(board.workload, board.data, board.own_data),
            target=_target(board),
            charts=charts,
            fewest=FEWEST_RUNS,
        )
        yield Page(f"boards/{board.slug}.html", page)
        yield from charts.files
        yield from board_files(board)


def _target(board: Board) -> str | None:
    """The target accuracy that the board's runs had, in percent."""
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
