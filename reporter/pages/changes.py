"""changes.html: the results by the day of their last run, the newest first, and which of them were
the fastest of their leaderboard until then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import jinja2

from reporter.board.comparison import Comparable, comparables, compare_pair
from reporter.data.frames import ACCEPTED, grouped
from reporter.data.text import significant
from reporter.pages.entry_lines import EntryLine, entry_lines, lines_by_board
from reporter.pages.shared import Page, PageKind, SiteContents, render_page
from suite.metrics.comparisons import Ratio

MAX_RESULTS = 500


@dataclass(frozen=True)
class Change:
    """A result, and what it changed: "1.3 times as fast as the best before"."""

    line: EntryLine
    what: str


def changes_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """changes.html."""
    lines = entry_lines(contents.boards, contents.frames)
    found = [one for of_board in lines_by_board(lines) for one in _changes(of_board.lines)]
    found.sort(key=lambda one: (-one.line.dates.last_ms, one.line.row.entry_id))
    days = grouped(found[:MAX_RESULTS], lambda one: one.line.dates.last)
    records = (one for one in found if one.what and one.line.section == ACCEPTED)
    newest = next((one for one in records if not one.line.board.is_reference), None)
    shown = {"days": days, "count": len(found), "newest": newest}
    yield render_page(environment, "changes.html", "changes.html", "changes", **shown)


def _changes(lines: Sequence[EntryLine]) -> Iterator[Change]:
    """The results of one leaderboard by date. A confirmed one is its fastest until then where it is
    surely faster than the one that was."""
    board = lines[0].board
    entries = [line.row.entry for line in lines if line.section == "accepted"]
    of_entry = comparables(board.frames, entries, board.time.figure)
    best: Comparable | None = None
    for line in sorted(lines, key=lambda line: (line.dates.last_ms, line.row.entry_id)):
        if line.section != "accepted":
            yield Change(line, line.section)
            continue
        mine, what = of_entry[line.row.entry_id], ""
        if line.row.is_confirmed and mine.value is not None:
            what = "the first" if best is None else _faster(mine, best)
            best = mine if what else best
        yield Change(line, what)


def _faster(mine: Comparable, best: Comparable) -> str:
    """By how much a result is significantly faster than the earlier best, in words; without the
    ratio where the two frameworks ran on different accelerators. Empty if it is not faster."""
    found = compare_pair(replace(best, trained_on=None), mine)
    if not (isinstance(found, Ratio) and found.is_different and found.ratio > 1):
        return ""
    if best.is_on_another_accelerator(mine):
        return "faster than the earlier best, which is on another accelerator"
    return f"{significant(found.ratio)} times as fast as the earlier best"


PAGE_KIND = PageKind(changes_page, 79)
