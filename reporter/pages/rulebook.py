"""The rulebook with the rules that are checked, and the page that explains the site."""

import posixpath
import re
from collections.abc import Iterator

import jinja2
import markupsafe

from reporter.board.columns import FIGURE_COLUMNS
from reporter.data.frames import IDENTITY
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, board_title, render_page
from suite.catalog.scoring import load_scoring
from suite.compliance import rulebook

_HEADING = re.compile(r"<h([23])>(.*?)</h\1>")
_CONTENTS = re.compile(r"<!-- generated: contents -->.*?<!-- end -->\n", re.DOTALL)
_OWN_PAGE = re.compile(r'<a href="(RULES|CHECKS|CHANGELOG)\.md(#[^"]*)?">')


def rules_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """rules.html, checks.html and changelog.html: the files of rules/, with an id for every rule
    and every section. Checks open one by one, changes by round."""
    rules = rulebook.path()
    pages = ((rules, None), (rulebook.checks_path(), 3), (rules.with_name("CHANGELOG.md"), 2))
    for path, level in pages:
        title, html = _as_html(path.read_text(encoding="utf-8")).split("</h1>", 1)
        chapters = [
            (place, markupsafe.Markup(title))
            for place, title in re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', html)
        ]
        shown = {
            "title": markupsafe.Markup(title.partition("<h1>")[2]),
            "text": markupsafe.Markup(html if level is None else _folded(html, level)),
            "chapters": chapters,
            "is_filtered": path == rulebook.checks_path(),
        }
        yield render_page(environment, "rules.html", f"{path.stem.lower()}.html", "rules", **shown)


def _as_html(text: str) -> str:
    """CommonMark with tables as HTML, without the list of contents, which the page shows itself;
    HTML in the source is escaped."""
    # start-up: worker processes import this module and do not render Markdown
    from markdown_it import MarkdownIt

    page = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .render(re.sub(r"^<!-- .* -->\n", "\n", _CONTENTS.sub("", text), flags=re.MULTILINE))
    )
    page = _HEADING.sub(
        lambda found: f'<h{found[1]} id="{rulebook.anchor(found[2])}">{found[2]}</h{found[1]}>',
        page,
    )
    page = _OWN_PAGE.sub(lambda link: f'<a href="{link[1].lower()}.html{link[2] or ""}">', page)
    page = re.sub(r'<a href="([^"#]*\.md)">(.*?)</a>', _in_checkout, page)
    return page.replace(
        "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>'
    ).replace("</table>", "</table></div>")


def _folded(html: str, level: int) -> str:
    """Each section of a level as a group that opens; its heading and first paragraph are always
    shown. The newest round is open."""
    section = rf"(<h{level} .*?</h{level}>)\n(?:<p>(.*?)</p>\n)?(.*?)(?=<h[2{level}] |\Z)"
    group = r'<details class="fold"><summary>\1 \2</summary>\n\3</details>\n'
    folded = re.sub(section, group, html, flags=re.DOTALL)
    return folded.replace('"fold"', '"fold" open', 1) if level == 2 else folded


def _in_checkout(link: re.Match[str]) -> str:
    """The path instead of a link, for pages of the checkout that are not on the site."""
    return f"{link[2]} (<code>{posixpath.normpath(posixpath.join('rules', link[1]))}</code>)"


def about_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """about.html: definitions of figures and ranks, links to data files."""
    boards = [(board_title(board), board.slug) for board in contents.boards]
    shown = {
        "columns": FIGURE_COLUMNS,
        "identity": IDENTITY,
        "boards": boards,
        "scoring": load_scoring(),
    }
    yield render_page(environment, "about.html", "about.html", "about", **shown)


PAGE_KINDS = (
    PageKind(rules_pages, 60, MenuItem("rules", "rules.html", "Rules & evidence")),
    PageKind(about_page, 70, MenuItem("about", "about.html", "Data")),
)
