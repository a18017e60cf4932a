"""feed.xml: an Atom feed of the newest results. Its times are those of the runs: the same input
gives the same bytes."""

import hashlib
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

import jinja2

from reporter.data.frames import ACCEPTED
from reporter.data.text import one_line
from reporter.pages.entry_lines import EntryLine, entry_lines
from reporter.pages.shared import Page, PageKind, SiteContents
from reporter.pages.standings import Standing, standings_of
from suite.files.counted import counted

MAX_RESULTS = 50
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
TITLE = "Edge training benchmark: new results"


def feed(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """The results of accepted entries, the newest first; addresses are relative
    unless that of the site is known."""
    lines = [
        line for line in entry_lines(contents.boards, contents.frames) if line.section == ACCEPTED
    ]
    lines.sort(key=lambda line: (-line.dates.last_ms, line.row.entry_id))
    standings = standings_of(contents.frames, contents.boards)
    base = contents.address or ""
    newest = [(line, standings[line.row.entry_id]) for line in lines[:MAX_RESULTS]]
    updated = newest[0][1].last_moment if newest else "1970-01-01T00:00:00Z"
    own = f'<link rel="self" href={quoteattr(f"{base}feed.xml")}/>' if contents.address else ""
    entries = "".join(_entry(line, standing, base) for line, standing in newest)
    head = f"<id>{_identifier(base, 'feed')}</id><title>{TITLE}</title><updated>{updated}</updated>"
    links = f"{own}<link href={quoteattr(f'{base}index.html')}/>"
    yield Page(
        "feed.xml",
        f"{DECLARATION}\n<feed"
        f' xmlns="http://www.w3.org/2005/Atom">{head}{links}\n{entries}</feed>\n',
    )


def _entry(line: EntryLine, standing: Standing, base: str) -> str:
    name, runs = line.row.entry_id, counted(line.row.entry["runs"], "run")
    said = f"{line.title}. {standing.sentence} {runs}, {standing.dates}."
    return (
        f"<entry><id>{_identifier('', name)}</id><title>{_text(standing.title)}</title>"
        f"<updated>{standing.last_moment}</updated>"
        f"<author><name>{_text(standing.submitter)}</name></author><link"
        f" href={quoteattr(f'{base}{line.row.evidence}')}/>"
        f"<summary>{_text(said)}</summary></entry>\n"
    )


def _identifier(*parts: str) -> str:
    """A UUID of version 8 from the digest of what it identifies."""
    digits = hashlib.sha256("\n".join(("edge-training-benchmark", *parts)).encode()).hexdigest()
    return f"urn:uuid:{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _text(text: str) -> str:
    return escape(one_line(text, 400))


PAGE_KIND = PageKind(feed, 80)
