"""Strings of runs, submissions and studies are escaped on every kind of page."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reporter.site import build_site
from tests.browser import Tab
from tests.builders import run_id
from tests.every_case import some
from tests.reporter.hostile import HOSTILE, make_hostile

pytestmark = pytest.mark.usefixtures("builds_a_site")

RARE = {"h2", "h3", "section", "li", "details", "summary", "em", "strong", "p"}
"""Elements of templates that appear only for refused, withdrawn or broken runs."""


class Outline(HTMLParser):
    """Elements with their attributes, as parsed by a browser."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def allowed(whole_site: Path) -> set[str]:
    """Elements on the pages of harmless runs."""
    return {
        tag for page in whole_site.rglob("*.html") for tag, _ in Outline(page.read_text()).elements
    } | RARE


@pytest.mark.parametrize("text", some(HOSTILE.values()), ids=some(HOSTILE))
def test_no_string_becomes_markup(text: str, allowed: set[str], tmp_path: Path) -> None:
    site = build_site([make_hostile(tmp_path / "given", text)], tmp_path / "site").parent
    kinds = {page.relative_to(site).parts[0] for page in site.rglob("*.html")}
    assert {
        "index.html",
        "boards",
        "entries",
        "runs",
        "devices",
        "studies",
    } <= kinds, "every kind of page must be made"
    assert len(list(site.glob("studies/*.html"))) == 2 and len(list(site.glob("runs/*"))) == 8
    for page in site.rglob("*.html"):
        content = page.read_text()
        elements = Outline(content).elements
        assert {tag for tag, _ in elements} <= allowed, page
        assert all(
            (attributes.get("src") or "").endswith(".js")
            for tag, attributes in elements
            if tag == "script"
        )
        assert not [
            attributes
            for _, attributes in elements
            if any(key.startswith("on") or key == "style" for key in attributes)
        ]
        assert not [
            attributes
            for _, attributes in elements
            if urlsplit(attributes.get("href") or "").scheme == "javascript"
        ]
        assert (
            not re.search("[\x00\u202e\u2066\u200f\u2028\ud800]", content)
            and "w" * 5000 not in content
        )
    for figure in site.rglob("*.svg"):
        assert not {"script", "img"} & {tag for tag, _ in Outline(figure.read_text()).elements}


def test_long_names_are_cut_on_pages_and_kept_in_files(tmp_path: Path) -> None:
    site = build_site([make_hostile(tmp_path / "given", HOSTILE["long"])], tmp_path / "site").parent
    assert all("w" * 200 not in page.read_text() for page in (site / "boards").glob("*.html"))
    assert "w" * 10_000 in (site / "runs" / run_id("lenet-spoiled") / "system.json").read_text()


@pytest.mark.proof
@pytest.mark.browser
@pytest.mark.parametrize(
    "name", some(["attribute", "script", "style", "link", "long", "right-to-left"])
)
def test_no_string_runs_in_a_browser(name: str, tab: Tab, tmp_path: Path) -> None:
    """The page's script fills filters and baselines with these strings."""
    site = build_site([make_hostile(tmp_path / "given", HOSTILE[name])], tmp_path / "site").parent
    tab.look((360, 740))
    for page in sorted(site.rglob("*.html")):
        tab.open(page.as_uri())
        tab.run(
            "document.querySelectorAll('td, th, a, li').forEach((one) => one.dispatchEvent(new"
            " MouseEvent('mouseover', { bubbles: true })))"
        )
        assert "owned" not in (title := tab.page.title()) or HOSTILE[name][:10] in title, page
        assert tab.run("document.querySelectorAll('img, main script').length") == 0
        assert tab.run("document.documentElement.scrollWidth") <= 360, page
    shutil.rmtree(site)
