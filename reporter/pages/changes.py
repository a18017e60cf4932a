"""changes.html: the results by the day of their last run, the newest first, and which of them were
the fastest of their leaderboard until then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jinja2

from reporter.data.frames import grouped
from reporter.data.text import digits
from reporter.pages.entry_lines import EntryLine, entry_lines
from reporter.pages.shared import Page, PageKind, SiteContents, render

MAX_RESULTS = 500


@dataclass(frozen=True)
class Change:
    """A result, and what it changed: "1.3 times as fast as the best before"."""

    line: EntryLine
    what: str


def changes_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """changes.html."""
    lines = entry_lines(contents.boards, contents.frames)
    boards = grouped(lines, lambda line: line.board.slug).values()
    found = [change for of_board in boards for change in _changes(of_board)]
    found.sort(key=lambda one: (-one.line.dates.last_ms, one.line.row.entry_id))
    days = grouped(found[:MAX_RESULTS], lambda one: one.line.dates.last)
    yield render(
        environment, "changes.html", "changes.html", "changes", days=days, count=len(found)
    )


def _changes(lines: Sequence[EntryLine]) -> Iterator[Change]:
    """The results of one leaderboard by date; a confirmed one can be its fastest until then."""
    best: float | None = None
    for line in sorted(lines, key=lambda line: (line.dates.last_ms, line.row.entry_id)):
        value = line.row.value(line.board.time.figure)
        if line.section != "accepted" or value is None or not line.row.is_confirmed:
            yield Change(line, line.section if line.section != "accepted" else "")
        elif best is None or value < best:
            times = (
                "the first"
                if best is None
                else f"{digits(best / value)} times as fast as the best before"
            )
            best = value
            yield Change(line, times)
        else:
            yield Change(line, "")


PAGE_KIND = PageKind(changes_page, 79)
