"""A page per machine: its boards, power modes, Pareto fronts, trends, profile and price."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import jinja2

from reporter.board.boards import Leaderboard
from reporter.board.dot_chart import DotRow
from reporter.data.frames import Frames, Row, grouped
from reporter.data.machine_names import first_title
from reporter.data.words import any_of
from reporter.pages.addresses import machine_slug
from reporter.pages.board_view import LeaderboardView, board_view
from reporter.pages.entry_lines import (
    BoardLines,
    BoardMode,
    EntryLine,
    entry_lines,
    lines_by_board,
    power_modes_of_board,
    trends,
)
from reporter.pages.headlines import (
    Headline,
    device_headline,
    quantity_words,
    row_of_device,
)
from reporter.pages.leaderboard import front_page_order
from reporter.pages.shared import (
    Charts,
    MenuItem,
    Page,
    PageKind,
    SiteContents,
    place_charts,
    render_page,
    trained_title,
)
from suite.catalog.devices import GENERIC, Device, load_devices
from suite.catalog.literature import PublishedResult, load_literature
from suite.catalog.prices import load_prices, system_prices

OF_BOARD = "machine"
"""Kind of page whose charts are drawn for one board of a machine."""
MAX_BOARDS = 4
"""Leaderboards beside one another on the page of all devices."""


@dataclass(frozen=True)
class BoardOfMachine:
    """A machine's entries on one board, its power modes there, and the charts of both."""

    lines: BoardLines
    view: LeaderboardView
    modes: tuple[BoardMode, ...]
    charts: Charts


@dataclass(frozen=True)
class MachinePage:
    """A machine that has a page: ``profile``, whose name is its slug, is None where it has none."""

    title: str
    slug: str
    profile: Device | None
    lines: tuple[EntryLine, ...]

    @property
    def entries(self) -> int:
        """The number of accepted entries."""
        return sum(line.section == "accepted" for line in self.lines)

    @property
    def is_reference(self) -> bool:
        """Whether all its accepted lines, or without any all lines, are those of a reference
        system."""
        lines = [line for line in self.lines if line.section == "accepted"] or self.lines
        return bool(lines) and all(line.board.is_reference for line in lines)

    @cached_property
    def boards(self) -> tuple[BoardLines, ...]:
        """Its lines by board, what the front page would answer first before the others."""
        return tuple(
            sorted(
                lines_by_board(self.lines),
                key=lambda of_board: front_page_order(of_board.board),
                reverse=True,
            )
        )

    @cached_property
    def headlines(self) -> tuple[Headline, ...]:
        """Its sentence on each of its boards."""
        return tuple(device_headline(lines.board, _names(lines)) for lines in self.boards)

    @property
    def facts(self) -> str:
        """Processor, accelerator and memory of the profile."""
        profile = self.profile
        if profile is None:
            kind = "reference system, " if self.is_reference else ""
            return f"{kind}no profile" if self.lines else ""
        cpu = f"{profile.cpu.cores} × {profile.cpu.architecture}" if profile.cpu else ""
        gpu = (
            f"{profile.gpu.cuda_cores} CUDA cores ({profile.gpu.architecture})"
            if profile.gpu
            else ""
        )
        memory = f"{any_of(profile.memory.sizes_gb)} GB" if profile.memory else ""
        return ", ".join(part for part in (cpu, gpu, memory) if part)


def device_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """devices/index.html, and devices/<slug>.html for every device profile and every machine
    without one that has entries."""
    pages = machine_pages(contents)
    yield render_page(
        environment, "devices.html", "devices/index.html", "devices", **_listed(pages, contents)
    )
    own = [(page.title, page.slug, page.entries) for page in pages if page.profile is None]
    for page in pages:
        groups = [
            _of_board(page, lines, headline, contents)
            for lines, headline in zip(page.boards, page.headlines, strict=True)
        ]
        frames = _frames_of(contents, page.lines)
        charts = (
            place_charts("device", frames, contents, "../", f"device-{page.slug}")
            if len(frames.entries)
            else Charts((), (), ())
        )
        yield render_page(
            environment,
            "device.html",
            f"devices/{page.slug}.html",
            "devices",
            title=page.title,
            facts=page.facts,
            device=page.profile,
            count=page.entries,
            boards=groups,
            charts=charts,
            trends=trends(page.lines),
            machines=own if page.profile is not None and page.profile.is_fallback else (),
            **_prices(page),
            published=_published(page),
        )
        for group in groups:
            yield from group.charts.files
        yield from charts.files


def machine_pages(contents: SiteContents) -> tuple[MachinePage, ...]:
    """Every machine, those with the most entries first."""
    every = entry_lines(contents.boards, contents.frames)
    lines = grouped(every, lambda line: machine_slug(line.row.entry))
    profiles = [
        MachinePage(device.title, device.name, device, tuple(lines.pop(device.name, ())))
        for device in load_devices()
    ]
    others = [
        MachinePage(first_title(of_machine[0].row.entry), slug, None, tuple(of_machine))
        for slug, of_machine in lines.items()
    ]
    return tuple(
        sorted(
            (*profiles, *others),
            key=lambda page: (-page.entries, -len(page.lines), page.title, page.slug),
        )
    )


@dataclass(frozen=True)
class Overview:
    """Machines with results, each with its row on each of these boards, or None; of a board
    (itself, title, quantity)."""

    boards: tuple[tuple[Leaderboard, str, str], ...]
    machines: tuple[tuple[MachinePage, list[DotRow | None]], ...]


def _overview(
    pages: tuple[MachinePage, ...], contents: SiteContents, is_reference: bool
) -> Overview:
    """The devices, or the reference systems, with results, the fastest first: their times on the
    boards of the round and division that the front page would answer first of theirs."""
    of_kind = [board for board in contents.boards if board.is_reference == is_reference]
    main = max(of_kind, key=front_page_order, default=None)
    alike = [
        board
        for board in of_kind
        if main and (board.round, board.division) == (main.round, main.division) and board.own_data
    ]
    boards = sorted(alike, key=front_page_order, reverse=True)[:MAX_BOARDS]
    found = []
    for page in (page for page in pages if page.entries and page.is_reference == is_reference):
        names = frozenset(line.row.system for line in page.lines)
        found.append((page, [row_of_device(board, names) for board in boards]))
    # a board on which a device has no row comes after its others
    found.sort(
        key=lambda one: [math.inf if row is None else row.cell.value or math.inf for row in one[1]]
    )
    titles = ((board, trained_title(board), quantity_words(board, None)) for board in boards)
    return Overview(tuple(titles), tuple(found))


def _listed(pages: tuple[MachinePage, ...], contents: SiteContents) -> Row:
    """The devices with results, the reference systems, then the devices that only have a
    profile."""
    return {
        "devices": _overview(pages, contents, is_reference=False),
        "references": _overview(pages, contents, is_reference=True),
        "waiting": [
            page
            for page in pages
            if not page.entries and page.profile is not None and not page.profile.is_fallback
        ],
        "without_profile": f"{GENERIC}.html",
    }


def _of_board(
    page: MachinePage, lines: BoardLines, headline: Headline, contents: SiteContents
) -> BoardOfMachine:
    frames = _frames_of(contents, lines.lines)
    charts = place_charts(
        OF_BOARD,
        frames,
        contents,
        "../",
        f"device-{page.slug}",
        prefix=f"{lines.board.slug}-",
    )
    # the devices of the board, with this one's sentence
    view = replace(board_view(lines.board, ("device",), _names(lines)), headline=headline)
    return BoardOfMachine(lines, view, power_modes_of_board(lines.lines), charts)


def _names(lines: BoardLines) -> frozenset[str]:
    return frozenset(line.row.system for line in lines.lines)


def _frames_of(contents: SiteContents, lines: tuple[EntryLine, ...]) -> Frames:
    accepted, names = contents.frames.accepted(), {line.row.entry_id for line in lines}
    return accepted.of_entries(accepted.entries[accepted.entries["entry_id"].isin(names)])


def _prices(page: MachinePage) -> Row:
    found = next((one for one in load_prices() if one.name == page.slug), None)
    return {
        "prices": system_prices(found) if found else (),
        "quotes": found.quotes if found else (),
    }


def _published(page: MachinePage) -> tuple[PublishedResult, ...]:
    """What others measured on the device."""
    return next((one.results for one in load_literature() if one.name == page.slug), ())


PAGE_KIND = PageKind(device_pages, 12, MenuItem("devices", "devices/index.html", "Devices"))
