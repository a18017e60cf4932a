"""The rulebook, and the page that explains the site."""

import posixpath
import re
from collections.abc import Iterator

import jinja2
import markupsafe

from reporter.board.columns import FIGURE_COLUMNS
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, board_title, render
from suite.catalog.scoring import load_scoring
from suite.compliance import rulebook
from suite.compliance.registry import all_rules

_RULE_ROW = re.compile(r"<tr>\n<td><code>([a-z0-9-]+)</code></td>")
_HEADING = re.compile(r"<h2>(.*?)</h2>")


def rules_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """rules.html: rules/RULES.md, with an id for every rule and every section."""
    html = _as_html(rulebook.path().read_text(encoding="utf-8"))
    chapters = [
        (place, markupsafe.Markup(title))
        for place, title in re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', html)
    ]
    shown = {"text": markupsafe.Markup(html), "chapters": chapters}
    yield render(environment, "rules.html", "rules.html", "rules", **shown)


def _as_html(text: str) -> str:
    """CommonMark with tables as HTML; HTML in the source is escaped."""
    # start-up: worker processes import this module and do not render Markdown
    from markdown_it import MarkdownIt

    page = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .render(re.sub(r"^<!-- .* -->\n", "\n", text, flags=re.MULTILINE))
    )
    ids = {rule.id for rule in all_rules()}
    page = _RULE_ROW.sub(
        lambda found: (
            found[0].replace("<tr>", f'<tr id="{found[1]}">') if found[1] in ids else found[0]
        ),
        page,
    )
    page = _HEADING.sub(
        lambda found: f'<h2 id="{re.sub("[^a-z]+", "-", found[1].lower())}">{found[1]}</h2>', page
    )
    page = re.sub(r'<a href="([^"#]*\.md)">(.*?)</a>', _in_checkout, page)
    return page.replace(
        "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>'
    ).replace("</table>", "</table></div>")


def _in_checkout(link: re.Match[str]) -> str:
    """The path instead of a link, for pages of the checkout that are not on the site."""
    return f"{link[2]} (<code>{posixpath.normpath(posixpath.join('rules', link[1]))}</code>)"


def about_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """about.html: definitions of figures and ranks, links to data files."""
    boards = [(board_title(board), board.slug) for board in contents.boards]
    shown = {"columns": FIGURE_COLUMNS, "boards": boards, "scoring": load_scoring()}
    yield render(environment, "about.html", "about.html", "about", **shown)


PAGE_KINDS = (
    PageKind(rules_page, 60, MenuItem("rules", "rules.html", "Rules & evidence")),
    PageKind(about_page, 70, MenuItem("about", "about.html", "Data")),
)
