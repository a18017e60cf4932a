"""Problems of built pages: links and anchors that lead nowhere, and requests to other hosts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

REQUESTING = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src",),
}
"""Attributes from which a browser makes a request when it shows the page."""
WITHOUT_REQUEST = {"canonical", "next", "prev", "search", "index", "author", "help"}
"""Relations of ``link`` that a browser does not fetch."""
_IN_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:)?//[^"')\s]+)""")


@dataclass
class _Page(HTMLParser):
    """What a page links to, what a browser requests for it, and its anchors."""

    links: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag != "link" or not WITHOUT_REQUEST & {*values.get("rel", "").split()}:
            self.requests += [values[name] for name in REQUESTING.get(tag, ()) if name in values]
        self.requests += _IN_STYLE.findall(values.get("style", ""))


def problems(site: Path) -> Iterator[str]:
    """A sentence for each link that leads nowhere and each request to another host."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for target in page.links + page.requests:
            yield from (f"{name}: {target} {what}" for what in _missing(path, target, pages))
        yield from (
            f"{name}: {target} is requested from another host"
            for target in page.requests
            if urlsplit(target).netloc
        )
    for path in sorted(site.rglob("*.css")):
        for target in _IN_STYLE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site).as_posix()}: {target} is requested from another host"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _missing(path: Path, target: str, pages: dict[Path, _Page]) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    place = Path(unquote(parts.path))
    found = (
        path
        if not parts.path
        else (path.parent / place).resolve()
        if not place.is_absolute()
        else place
    )
    if not found.exists() or place.is_absolute():
        yield "leads to no file"
    elif parts.fragment and found in pages and unquote(parts.fragment) not in pages[found].anchors:
        yield "leads to no anchor"
