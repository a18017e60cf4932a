"""What the pages say and the files of data hold, as kept outputs: of one page of each kind, and of
a board of three rounds' entries with hostile names."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.kept_outputs import in_short, kept, plain
from tests.reporter.gallery import make_template, many_entries, render

pytestmark = pytest.mark.usefixtures("builds_a_site")

LINES = 250
OF_A_BLOCK = (
    " p li td th h1 h2 h3 h4 dt dd text summary option a caption figcaption title label button tr"
    " div section time span "
)
SPOKEN = ("aria-label", "title", "alt", "content", "data-value", "data-sort", "value")


class VisibleText(HTMLParser):
    """Texts of blocks, and attributes that people or scripts read; a tag that hostile text opens
    is a text less."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style")
        if f" {tag} " in OF_A_BLOCK:
            self._close()
        self.lines += [f"{name}: {value}" for name, value in attrs if name in SPOKEN and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")
        if f" {tag} " in OF_A_BLOCK:
            self._close()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._open.append(data)

    def _close(self) -> None:
        text = " ".join("".join(self._open).split())
        self._open = []
        if text:
            self.lines.append(text)


def visible(text: str) -> list[str]:
    """The lines of a page, in short."""
    parser = VisibleText()
    parser.feed(text[max(0, text.find("<main")) :])
    return [in_short(line) for line in parser.lines[:LINES]]


def one_page(site: Path, pattern: str) -> Path:
    return sorted(site.glob(pattern))[0]


PAGES = {
    "front": "index.html",
    "board": "boards/lenet-closed-mnist-v0-3.html",
    "figures": "boards/lenet-closed-mnist-v0-3-figures.html",
    "embed": "boards/lenet-closed-mnist-v0-3-embed.html",
    "compare": "compare.html",
    "changes": "changes.html",
    "run": "runs/*lenet-offered-1/index.html",
    "study": "studies/stalls-*.html",
    "studies": "studies/index.html",
    "machine": "devices/amd-ryzen-*.html",
    "submitter": "submitters/pies-ltd.html",
    "frameworks": "frameworks.html",
    "feed": "feed.xml",
}


FILES = ("data/*.json", "data/compare.js", "studies/*.json", "linpack/*.json", "badges/*.svg")
OF_RUNS = ('["leaderboard', '["entry', '["submi', '["study')
HOSTILE = "=<b>&\"'@$;</b>\t\u202e"
"""Follows the names of a gallery's entries."""
GALLERY = (
    "index.html",
    "boards/lenet*.html",
    "devices/orin*.html",
    "data/lenet*.csv",
    "compare.html",
)


def lines_of(path: Path) -> Any:
    """A file of data: its values if it is JSON, else its lines."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else text.splitlines()


def test_what_pages_say(whole_site: Path) -> None:
    for name, pattern in PAGES.items():
        page = one_page(whole_site, pattern).read_text(encoding="utf-8")
        kept("site-pages", visible(page), name)
    entry = max(whole_site.glob("entries/*.html"), key=lambda page: len(page.read_bytes()))
    kept("site-pages", visible(entry.read_text(encoding="utf-8")), "entry")


def test_what_files_of_data_hold(whole_site: Path) -> None:
    paths = sorted(path for pattern in FILES for path in whole_site.glob(pattern))
    found = [plain((path.name, lines_of(path))) for path in paths]
    kept("site-data", sorted(found, key=str))
    index = lines_of(whole_site / "data" / "search.js")
    kept("site-search", [line for line in index if line.startswith(OF_RUNS)])


def test_a_gallery_of_hostile_names(tmp_path: Path) -> None:
    """Of several machines, modes and instruments, whose names end in signs of HTML, of a
    spreadsheet and of control."""
    names = dict.fromkeys(("power_mode", "cpu_model", "framework_version", "organization"), HOSTILE)
    frames = many_entries(make_template(tmp_path / "made"), 9, names=names)
    site = render(frames, tmp_path / "site")
    for pattern in GALLERY:
        path = one_page(site, pattern)
        text = path.read_text(encoding="utf-8")
        kept("site-gallery", visible(text) if path.suffix == ".html" else lines_of(path), pattern)
