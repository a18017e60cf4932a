"""axe-core finds no serious violation on any kind of page, light and dark, wide and narrow."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import NARROW, WIDE, Tab
from tests.builders import run_id
from tests.every_case import EVERY_CASE, one_of_each, some
from tests.open_round import SLUG

OFFERED, REFUSED = run_id("lenet-offered-1"), run_id("lenet-refused", "tensorflow")

pytestmark = pytest.mark.browser
KINDS = (
    "index.html",
    f"boards/lenet-closed-mnist-{SLUG}.html",
    f"boards/lenet-open-digits-{SLUG}.html",
    "entries/*.html",
    f"runs/{OFFERED}/index.html",
    f"runs/{REFUSED}/index.html",
    "frameworks.html",
    "devices/index.html",
    "devices/generic.html",
    "devices/orin.html",
    "studies/index.html",
    "studies/stalls-*.html",
    "rules.html",
    "checks.html",
    "changelog.html",
    "about.html",
    "changes.html",
    "compare.html",
    "search.html",
    "submit.html",
    "submitters/index.html",
    "submitters/pies-ltd.html",
)


OPEN = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"
SHORTEN = """for (const kind of ['tr', 'li', 'section', 'article', 'details', 'dt', 'dd'])
    document.querySelectorAll(`${kind}:nth-of-type(n + 9)`).forEach((each) => { each.remove(); })"""
"""Eight elements of a kind in a row; in a proof all."""


def violations(tab: Tab) -> list[str]:
    """Serious and critical violations, with their elements."""
    from axe_playwright_python.sync_playwright import Axe

    # axe would fetch the style sheets, which the pages' content policy forbids
    options = {"preload": False}
    found: list[dict[str, Any]] = Axe().run(tab.page, options=options).response["violations"]
    return [
        f"{one['id']}: {', '.join(str(node['target']) for node in one['nodes'][:3])}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", some([False, True]), ids=lambda dark: "dark" if dark else "light")
@pytest.mark.parametrize("kind", one_of_each(KINDS, lambda kind: kind.split("/")[0]))
def test_no_serious_violation(kind: str, dark: bool, tab: Tab, whole_site: Path) -> None:
    page = sorted(whole_site.glob(kind))[0]
    for size in some((WIDE, NARROW)):
        tab.look(size, dark)
        tab.open(page.as_uri())
        tab.run(OPEN)
        if not EVERY_CASE:
            tab.run(SHORTEN)
        assert violations(tab) == []


def test_every_kind_of_page_is_checked(whole_site: Path) -> None:
    """KINDS must name a page of every folder."""
    folders = {page.relative_to(whole_site).parts[0] for page in whole_site.rglob("*.html")}
    assert folders == {kind.split("/")[0] for kind in KINDS}


def test_a_serious_violation_is_found(tab: Tab, whole_site: Path) -> None:
    """Text with low contrast on the front page."""
    tab.open((whole_site / "index.html").as_uri())
    tab.run("document.querySelector('h1').style.setProperty('color', '#ddd')")
    assert any(said.startswith("color-contrast") for said in violations(tab))
