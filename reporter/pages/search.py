"""search.html with its index: entries, machines, submitters, leaderboards, studies and rules, found
by words, without a server."""

import json
from collections.abc import Iterator

import jinja2

from reporter.board.dot_chart import time_chart
from reporter.pages.devices import machine_pages
from reporter.pages.entry_lines import entry_lines
from reporter.pages.headlines import headline
from reporter.pages.shared import Page, PageKind, SiteContents, board_title, render_page
from reporter.pages.submitters import submitters_of
from suite.compliance.registry import all_rules

Found = tuple[str, str, str, str]
"""Kind, title, further words, page from the site's root."""


PAGES: tuple[Found, ...] = (
    ("page", "Data and definitions", "download CSV JSON Parquet API figures ranks", "about.html"),
    ("page", "Compare two entries", "ratio interval verdict difference", "compare.html"),
    ("page", "Frameworks compared", "PyTorch TensorFlow Chainer ratio", "frameworks.html"),
    (
        "page",
        "Rules & evidence",
        "rulebook divisions scoring audited reproduced self-reported reviews witness",
        "rules.html",
    ),
    ("page", "What each round changed", "changelog rules rounds new", "changelog.html"),
    ("page", "Results by date", "changes newest records feed", "changes.html"),
    ("page", "Measure your board", "install submit package pull request", "submit.html"),
)
"""The pages that are not about one thing, with words that their titles lack."""


def search_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """search.html and data/search.js: a script, since a page from a file may not read other
    files."""
    index = list(_index(contents))
    without_entries = [found for found in index if found[0] not in ("entry", "rule")]
    listed = {"listed": without_entries, "count": len(index)}
    yield render_page(environment, "search.html", "search.html", "search", **listed)
    yield Page(
        "data/search.js", f'"use strict";\nconst SEARCH_INDEX = [\n{_index_rows(index)}\n];\n'
    )


def _index_rows(index: list[Found]) -> str:
    return ",\n".join(json.dumps(found, separators=(",", ":")) for found in index)


def _index(contents: SiteContents) -> Iterator[Found]:
    yield from PAGES
    for board in contents.boards:
        yield (
            "leaderboard",
            board_title(board),
            f"{headline(board).text} {board.workload} {board.data}",
            f"boards/{board.slug}.html",
        )
    for machine in machine_pages(contents):
        yield "device", machine.title, machine.slug, f"devices/{machine.slug}.html"
    for title, slug, entries, *_ in submitters_of(contents):
        yield "submitter", title, f"{entries} entries", f"submitters/{slug}.html"
    for study in contents.studies:
        yield (
            "study",
            study.title,
            " ".join(value for _, value in study.facts),
            f"studies/{study.name}.html",
        )
    first = {
        row.best.entry_id: f"fastest of {row.name}"
        for board in contents.boards
        for row in time_chart(board).rows
    }
    for line in entry_lines(contents.boards, contents.frames):
        entry = line.row.entry
        words = (
            f"{first.get(line.row.entry_id, '')} {line.machine} {line.submitter}"
            f" {entry['workload']} {line.board.division} {line.board.round} {line.section}"
            f" {line.row.provenance} {entry['entry_id']}"
        )
        cell = line.row.cell(line.board.time.figure)
        said = f": {cell.quantity}, {cell.column.heading}" if cell is not None and cell.raw else ""
        yield "entry", f"{line.row.label}{said}", f"{line.title} {words}", line.row.evidence
    for rule in all_rules():
        words = " ".join((rule.sentence, *rule.formerly))
        yield "rule", rule.id, words, f"checks.html#{rule.id}"


PAGE_KIND = PageKind(search_page, 65)
