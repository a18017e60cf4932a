"""submit.html: the commands from a board to a submission, the rounds that are open, and the devices
that have no confirmed result."""

from collections.abc import Iterator

import jinja2

from reporter.pages.devices import machine_pages
from reporter.pages.shared import Page, PageKind, SiteContents, render_page
from suite.catalog.rounds import load_rounds
from suite.catalog.scoring import load_scoring


def submit_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """submit.html."""
    measured = [
        page
        for page in machine_pages(contents)
        if any(line.row.is_confirmed for line in page.lines if line.section == "accepted")
    ]
    without = [
        (page.title, page.slug)
        for page in machine_pages(contents)
        if page not in measured and page.profile is not None and not page.profile.is_fallback
    ]
    shown = {
        "rounds": [(each.name, each.title) for each in load_rounds() if each.closed is None],
        "min_runs": load_scoring().min_runs,
        "without": without,
    }
    yield render_page(environment, "submit.html", "submit.html", "submit", **shown)


PAGE_KIND = PageKind(submit_page, 75)
