"""An entry's badge and citations: an SVG, BibTeX, and CSL-JSON."""

import json
from collections.abc import Iterator
from xml.sax.saxutils import escape

from reporter.data.text import latex_text
from reporter.data.words import NO_ORGANIZATION
from reporter.pages.entry_page import EntryEvidence
from reporter.pages.shared import Page
from suite import __version__

NAME = "edge training"
LETTER, MARGIN = 6.7, 8.0
RANKED, OTHER = "#11693a", "#5a6472"


def citation_places(name: str) -> tuple[str, str, str]:
    """The places of the badge, the BibTeX and the CSL-JSON of the entry with this id."""
    return f"badges/{name}.svg", f"entries/{name}.bib", f"entries/{name}.csl.json"


def citation_files(evidence: EntryEvidence, address: str | None) -> Iterator[Page]:
    """badges/<id>.svg, entries/<id>.bib and entries/<id>.csl.json."""
    of_badge, of_bibtex, of_csl = citation_places(evidence.entry["entry_id"])
    yield Page(of_badge, badge_svg(evidence.standing.badge, evidence.standing.is_ranked))
    yield Page(of_bibtex, bibtex(evidence, address))
    yield Page(of_csl, json.dumps([_csl(evidence, address)], indent=1) + "\n")


def badge_svg(text: str, is_ranked: bool) -> str:
    """A badge with a text; colours have a contrast of 5 or more with its white letters."""
    left, right = (round(2 * MARGIN + LETTER * len(part)) for part in (NAME, text))
    said, colour = escape(text), RANKED if is_ranked else OTHER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{escape(NAME)}: {escape(text, {chr(34): "&quot;"})}"><title>{NAME}:'
        f' {said}</title><rect width="{left + right}" height="20" rx="3" fill="#2b333d"/><path'
        f' d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right - 3}z"'
        f' fill="{colour}"/><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif"'
        f' font-size="11" text-anchor="middle"><text x="{left / 2:g}" y="14"'
        f' textLength="{left - 2 * MARGIN:g}">{NAME}</text><text x="{left + right / 2:g}" y="14"'
        f' textLength="{right - 2 * MARGIN:g}">{said}</text></g></svg>\n'
    )


def bibtex(evidence: EntryEvidence, address: str | None) -> str:
    """A BibTeX entry; letters that mean something to LaTeX are escaped."""
    entry, standing = evidence.entry, evidence.standing
    fields = {
        "author": "{" + latex_text(_author(evidence)) + "}",
        "title": "{" + latex_text(_title(evidence)) + "}",
        "year": standing.last_moment[:4],
        "howpublished": latex_text(_published(evidence)),
        "note": latex_text(
            f"Entry {entry['entry_id']}, {standing.rank}; runs"
            f" {', '.join(str(run['run_id']) for run in evidence.runs)}"
        ),
    }
    if address is not None:
        fields["url"] = f"{address}entries/{entry['entry_id']}.html"
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{edge-training-{entry['entry_id']},\n{lines}}}\n"


def _csl(evidence: EntryEvidence, address: str | None) -> dict[str, object]:
    entry, moment = evidence.entry, evidence.standing.last_moment
    date = [int(part) for part in moment.partition("T")[0].split("-")]
    found: dict[str, object] = {
        "id": f"edge-training-{entry['entry_id']}",
        "type": "dataset",
        "title": _title(evidence),
        "author": [{"literal": _author(evidence)}],
        "issued": {"date-parts": [date]},
        "publisher": _published(evidence),
        "number": entry["entry_id"],
    }
    return (
        found if address is None else {**found, "URL": f"{address}entries/{entry['entry_id']}.html"}
    )


def _author(evidence: EntryEvidence) -> str:
    organization = evidence.entry["organization"]
    return "Edge training benchmark" if organization == NO_ORGANIZATION else str(organization)


def _title(evidence: EntryEvidence) -> str:
    return f"Training result: {evidence.standing.title}"


def _published(evidence: EntryEvidence) -> str:
    return (
        f"Edge training benchmark, round {evidence.entry['round'] or 'unknown'}, suite"
        f" {evidence.entry['suite_version'] or __version__}"
    )
