"""What the site has, for programs: data/index.json names every leaderboard with its sentence and
its files; sitemap.xml lists the pages where the site's address is known."""

import json
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import jinja2

from reporter.board.boards import Leaderboard
from reporter.pages.headlines import headline, newest_day
from reporter.pages.shared import Page, PageKind, SiteContents, board_title

SCHEMA = 1
DATA = (".csv", ".json", ".parquet", "-comparisons.json", "-devices.json")
"""Ends of the names of a leaderboard's files."""


def site_index(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """data/index.json, and sitemap.xml."""
    found = {
        "schema": SCHEMA,
        "newest_run": newest_day(contents.frames) or None,
        "leaderboards": [_board(board) for board in contents.boards],
    }
    yield Page("data/index.json", json.dumps(found, indent=1) + "\n")
    if contents.address is not None:
        places = ["index.html", *(f"boards/{board.slug}.html" for board in contents.boards)]
        places += [f"entries/{name}.html" for name in contents.frames.entries["entry_id"]]
        rows = "".join(
            f"<url><loc>{escape(contents.address + place)}</loc></url>\n" for place in places
        )
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        yield Page(
            "sitemap.xml",
            f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{space}">\n{rows}</urlset>\n',
        )


def _board(board: Leaderboard) -> dict[str, Any]:
    names = ("workload", "division", "data", "round", "precision", "is_reference", "own_data")
    return {
        "slug": board.slug,
        "title": board_title(board),
        **{name: getattr(board, name) for name in names},
        "entries": len(board.accepted),
        "headline": headline(board).text,
        "page": f"boards/{board.slug}.html",
        "files": [f"data/{board.slug}{end}" for end in DATA],
    }


PAGE_KIND = PageKind(site_index, 82)
