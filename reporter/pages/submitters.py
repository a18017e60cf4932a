"""A page per submitter: entries by leaderboard, devices, dates, what was declared, trends."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jinja2

from reporter.data.frames import Row, grouped
from reporter.data.words import day_of, submitter_title
from reporter.pages.addresses import submitter_slug
from reporter.pages.entry_lines import EntryLine, entry_lines, lines_by_board, trends
from reporter.pages.shared import Page, PageKind, SiteContents, render_page

MAX_SENTENCES = 20
"""Different notes or addresses of code on one page."""


def submitter_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """submitters/index.html, and submitters/<slug>.html for every organization with an entry on a
    leaderboard."""
    runs_of, listed = contents.frames.rows_by("runs", "entry_id"), submitters_of(contents)
    place, here = "submitters/index.html", "submitters"
    yield render_page(environment, "submitters.html", place, here, submitters=listed)
    for name, lines in _groups(contents).items():
        yield render_page(
            environment,
            "submitter.html",
            f"submitters/{submitter_slug(name)}.html",
            here,
            title=submitter_title(name),
            count=len(lines),
            vouched=sum(line.row.is_vouched for line in lines),
            last=_last_day(lines),
            machines=sorted({(line.machine, line.machine_page) for line in lines}),
            boards=lines_by_board(lines),
            trends=trends(lines),
            **_declared(runs_of, lines),
        )


def submitters_of(contents: SiteContents) -> list[tuple[str, str, int, int, str]]:
    """Title, slug, number of entries and of those that others audited or reproduced, and the day of
    the last run of every submitter, those with the most entries first."""
    listed = [
        (
            submitter_title(name),
            submitter_slug(name),
            len(lines),
            sum(line.row.is_vouched for line in lines),
            _last_day(lines),
        )
        for name, lines in _groups(contents).items()
    ]
    return sorted(listed, key=lambda one: (-one[2], one[0]))


def _groups(contents: SiteContents) -> dict[str, list[EntryLine]]:
    lines = entry_lines(contents.boards, contents.frames)
    return grouped(lines, lambda line: str(line.row.entry["organization"]))


def _last_day(lines: Sequence[EntryLine]) -> str:
    return day_of(max(line.dates.last_ms for line in lines))


def _declared(runs_of: Callable[[str], list[Row]], lines: Sequence[EntryLine]) -> dict[str, Any]:
    """What the declarations say: availability, code, notes, and whose key signed."""
    runs = [run for line in lines for run in runs_of(line.row.entry_id)]

    def distinct(column: str) -> list[str]:
        return sorted({str(run[column]) for run in runs if run[column] is not None})[:MAX_SENTENCES]

    return {
        "availability": distinct("availability"),
        "codes": distinct("code"),
        "notes": distinct("notes"),
        "signed_by": distinct("signed_by"),
    }


PAGE_KIND = PageKind(submitter_pages, 35)
