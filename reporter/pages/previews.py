"""previews/*.png: the picture that a link to the site or to a leaderboard shows elsewhere. Made
only where the site's address is known."""

import io
from collections.abc import Iterator, Sequence

import jinja2
from PIL import Image, ImageDraw, ImageFont

from reporter.board.boards import Leaderboard, with_values
from reporter.pages.shared import Page, PageKind, SiteContents, trained_title
from suite.files.counted import counted

SIZE = WIDTH, HEIGHT = 1200, 630
"""Pixels, as Open Graph's readers expect."""
LEFT, RIGHT = 72, 72
PAPER, INK, SOFT, BAR, FIRST = "#ffffff", "#1b2430", "#56616f", "#9dc3ec", "#0b57a4"
ROWS = 3
NAME = "Edge training benchmark"

Line = tuple[str, str, float]
"""A row: name, value as text, and the length of its bar, 0 to 1."""


def previews(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """previews/site.png, and previews/<slug>.png for every leaderboard."""
    if contents.address is None:
        return
    boards = [board for board in contents.boards if board.accepted]
    first = next((board for board in boards if not board.is_reference), None)
    results = counted(sum(len(board.accepted) for board in boards), "result")
    yield Page(
        "previews/site.png",
        picture(
            f"{trained_title(first)}: {first.time.heading}" if first else NAME,
            f"{results} on {counted(len(boards), 'leaderboard')}",
            _lines(first) if first else (),
        ),
    )
    for board in contents.boards:
        kind = "reference systems, " if board.is_reference else ""
        entries = f"{len(board.accepted)} {'entry' if len(board.accepted) == 1 else 'entries'}"
        where = f"{kind}{board.division} division, round {board.round}, {entries}"
        said = f"{board.time.heading}; {where}"
        content = picture(trained_title(board), said, _lines(board))
        yield Page(f"previews/{board.slug}.png", content)


def _lines(board: Leaderboard) -> tuple[Line, ...]:
    """The fastest entries, by the board's time."""
    cells = with_values(board.in_order[:ROWS], board.time.figure)
    shortest = min((cell.value for _, cell in cells if cell.value), default=0.0)
    return tuple(
        (f"{row.system}, {row.framework}", cell.quantity, shortest / cell.value)
        for row, cell in cells
        if cell.value
    )


def picture(title: str, subtitle: str, lines: Sequence[Line]) -> bytes:
    """A PNG with a title, a subtitle and up to three rows, each with a bar: the longest is the
    best."""
    image = Image.new("RGB", SIZE, PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, WIDTH, 14), fill=FIRST)
    _write(canvas, (LEFT, 54), NAME, 30, SOFT, WIDTH - LEFT - RIGHT)
    _write(canvas, (LEFT, 104), title, 62, INK, WIDTH - LEFT - RIGHT)
    _write(canvas, (LEFT, 190), subtitle, 30, SOFT, WIDTH - LEFT - RIGHT)
    for index, (name, value, share) in enumerate(lines):
        top = 268 + 114 * index
        width = _write(canvas, (WIDTH - RIGHT, top), value, 42, INK, 300, right=True)
        _write(canvas, (LEFT, top), name, 42, INK, WIDTH - LEFT - RIGHT - width - 30)
        canvas.rectangle(
            (LEFT, top + 60, LEFT + round(share * (WIDTH - LEFT - RIGHT)), top + 80),
            fill=FIRST if index == 0 else BAR,
        )
    sink = io.BytesIO()
    image.save(sink, "PNG", optimize=True)
    return sink.getvalue()


def _write(
    canvas: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    size: int,
    colour: str,
    max_width: int,
    *,
    right: bool = False,
) -> int:
    """Write a line, cut to fit ``max_width``; returns its width, pixels. ``place`` is its upper
    left corner, or its upper right one."""
    font = ImageFont.load_default(size)
    cut = text
    while cut and canvas.textlength(cut, font) > max_width:
        cut = cut[:-2].rstrip(" …") + "…" if len(cut) > 2 else ""
    width = round(canvas.textlength(cut, font))
    canvas.text((place[0] - width if right else place[0], place[1]), cut, fill=colour, font=font)
    return width


PAGE_KIND = PageKind(previews, 81)
