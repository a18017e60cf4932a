"""search.html with its index: entries, machines, submitters, leaderboards, studies and rules, found
by words, without a server."""

import json
from collections.abc import Iterator

import jinja2

from reporter.board.dot_chart import time_chart
from reporter.pages.devices import machine_pages
from reporter.pages.entry_lines import entry_lines
from reporter.pages.headlines import headline
from reporter.pages.leaderboard import front_page_order
from reporter.pages.shared import Page, PageKind, SiteContents, board_title, render_page
from reporter.pages.submitters import submitters_of
from suite.compliance.registry import all_rules

Found = tuple[str, str, str, str, str]
"""Kind, title, what is said of it, further words that it is found by, page from the site's root."""


PAGES: tuple[Found, ...] = (
    (
        "page",
        "Data and definitions",
        "every leaderboard as CSV, JSON and Parquet; what each figure means",
        "download API ranks",
        "about.html",
    ),
    (
        "page",
        "Compare two entries",
        "the ratio of two entries, with its interval",
        "verdict difference",
        "compare.html",
    ),
    (
        "page",
        "Frameworks compared",
        "PyTorch, TensorFlow and Chainer with all else equal",
        "ratio",
        "frameworks.html",
    ),
    (
        "page",
        "Submitters",
        "every submitter, with the number of entries that others audited or reproduced",
        "audit unaudited self-reported witness reviews nobody",
        "submitters/index.html",
    ),
    (
        "page",
        "Rules & evidence",
        "the rulebook: divisions, scoring, reviews",
        "audited reproduced self-reported witness",
        "rules.html",
    ),
    (
        "page",
        "What each round changed",
        "changes to the rules",
        "changelog rounds new",
        "changelog.html",
    ),
    ("page", "Results by date", "the newest first", "changes records feed", "changes.html"),
    (
        "page",
        "Measure your board",
        "seven steps to a result on this site",
        "install submit package pull request",
        "submit.html",
    ),
)
"""The pages that are not about one thing, with words that their titles lack."""


def search_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """search.html and data/search.js: a script, since a page from a file may not read other
    files."""
    index = list(_index(contents))
    without_entries = [found for found in index if found[0] not in ("entry", "rule")]
    listed = {"listed": without_entries, "count": len(index)}
    yield render_page(environment, "search.html", "search.html", "search", **listed)
    rows = ",\n".join(json.dumps(found, separators=(",", ":")) for found in index)
    yield Page("data/search.js", f'"use strict";\nconst SEARCH_INDEX = [\n{rows}\n];\n')


def _index(contents: SiteContents) -> Iterator[Found]:
    yield from PAGES
    for board in contents.boards:
        yield (
            "leaderboard",
            board_title(board),
            headline(board).text,
            f"{board.workload} {board.data}",
            f"boards/{board.slug}.html",
        )
    for machine in machine_pages(contents):
        said = machine.headlines[0].text if machine.headlines else machine.facts
        yield "device", machine.title, said, machine.slug, f"devices/{machine.slug}.html"
    for title, slug, entries, *_ in submitters_of(contents):
        yield "submitter", title, f"entries: {entries}", "", f"submitters/{slug}.html"
    for study in contents.studies:
        facts = ", ".join(value for _, value in study.facts)
        yield "study", study.title, facts, "", f"studies/{study.name}.html"
    first = {
        row.best.entry_id: f"{'fastest of' if row.is_lowest else 'stands for'} {row.name}"
        for board in contents.boards
        for row in time_chart(board).rows
    }
    heaviest = sorted(contents.boards, key=front_page_order, reverse=True)
    places = {board.slug: place for place, board in enumerate(heaviest)}
    lines = entry_lines(contents.boards, contents.frames)
    for line in sorted(lines, key=lambda line: places[line.board.slug]):
        entry = line.row.entry
        parts = (line.title, first.get(line.row.entry_id, ""), line.submitter, line.row.provenance)
        words = f"{line.machine} {entry['workload']} {line.section} {entry['entry_id']}"
        cell = line.row.cell(line.board.time.figure)
        said = f": {cell.quantity}, {cell.column.heading}" if cell is not None and cell.raw else ""
        title, told = f"{line.row.label}{said}", " · ".join(filter(None, parts))
        yield "entry", title, told, words, line.row.evidence
    for rule in all_rules():
        yield "rule", rule.id, rule.sentence, " ".join(rule.formerly), f"checks.html#{rule.id}"


PAGE_KIND = PageKind(search_page, 65)
