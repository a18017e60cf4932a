"""One module per kind of page: its contents, from frames; templates hold its layout. A module that
declares PAGE_KIND or PAGE_KINDS is found here."""

import re
from functools import cache
from pathlib import Path

import jinja2
import markupsafe

from reporter.data.cache import digest_of_code
from reporter.data.discovery import declarations
from reporter.data.machine_names import machine_title
from reporter.data.text import one_line, significant
from reporter.data.words import any_of, property_in_words, property_name
from reporter.pages.shared import PageKind
from suite import __version__
from suite.catalog.extensions import ExtensionPart

CODE_DIGITS = 12
TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


@cache
def page_kinds() -> tuple[PageKind, ...]:
    """Every kind of page that a module of this package declares, by position."""
    return tuple(
        sorted(
            declarations(__name__, ExtensionPart.PAGE, "PAGE_KIND", PageKind),
            key=lambda kind: kind.position,
        )
    )


def _in_text(text: str) -> markupsafe.Markup:
    """Escaped for an element's content, where quotes need none: lines of JSON have many."""
    return markupsafe.Markup(str(markupsafe.escape(text)).replace("&#34;", '"'))


_WHOLE = re.compile(r"\d{4}-\d\d-\d\d|[\d.]+ (?:%|(?:[smhdJW]|min|[kMG]J|kW|[KMG]iB)\b)")


def unbroken(text: str) -> markupsafe.Markup:
    """The text, escaped; no line breaks in its dates nor between its numbers and their units."""
    escaped = str(markupsafe.escape(text))
    return markupsafe.Markup(_WHOLE.sub(r'<span class="whole">\g<0></span>', escaped))


def with_commands(text: str) -> markupsafe.Markup:
    """The text, escaped; what stands between backticks as code."""
    escaped = str(markupsafe.escape(text))
    return markupsafe.Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))


@cache
def templates(address: str | None = None, data_of: str = "") -> jinja2.Environment:
    """The templates, with every value escaped and a missing one an error; ``menu`` is the site's,
    ``address`` where it is published, ``data_of`` the day of the newest run, for pages of many
    entries."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters["plain"] = one_line
    environment.filters["in_text"] = _in_text
    environment.filters["unbroken"] = unbroken
    environment.filters["with_commands"] = with_commands
    environment.filters["digits"] = significant
    environment.filters["machine"] = machine_title
    environment.filters["in_words"] = property_in_words
    environment.filters["any_of"] = any_of
    environment.filters["property_name"] = property_name
    environment.globals |= {"address": address, "data_of": data_of, "version": __version__}
    environment.globals["code"] = digest_of_code()[:CODE_DIGITS]
    environment.globals["menu"] = [kind.menu for kind in page_kinds() if kind.menu]
    return environment
