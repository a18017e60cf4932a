"""A real browser for tests: Debian's Chromium, headless, driven by Playwright. What a page reports
and requests is kept."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.every_case import in_ci

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDE, NARROW = (1300, 900), (360, 740)


def find_chromium() -> str:
    """Chromium's path; skips where it is missing, and fails in CI."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        (pytest.fail if in_ci() else pytest.skip)("needs Chromium: apt-get install chromium")
    return str(chromium)


@dataclass(frozen=True)
class Tab:
    """One page in the browser. ``errors`` collects what the console and the page reported,
    ``requests`` every address requested."""

    page: "Page"
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Go to an address, from another one: only a new fragment would load nothing."""
        self.page.goto("about:blank")
        self.page.goto(address)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return self.page.evaluate(script)

    def look(self, size: tuple[int, int] = WIDE, dark: bool = False, paper: bool = False) -> None:
        """Set the window's size, the reader's preference for light or dark, and screen or paper."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(
            color_scheme="dark" if dark else "light", media="print" if paper else "screen"
        )

    def screenshot(self, path: Path) -> None:
        """The whole page as it is seen, as PNG."""
        self.page.screenshot(path=path, full_page=True)


@contextmanager
def browser() -> Iterator[Tab]:
    """A tab in a browser of its own, which ends with the context."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        tab = Tab(opened.new_page())
        tab.page.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.page.on(
            "console",
            lambda said: (
                tab.errors.append(said.text)
                if said.type in ("error", "warning", "assert")
                else None
            ),
        )
        tab.page.on(
            "requestfailed", lambda request: tab.errors.append(f"{request.url}: {request.failure}")
        )
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        try:
            yield tab
        finally:
            opened.close()
