"""Labels: how wide they are, how they are broken and shortened, and where they stand so that no two
overlap. Lengths are units of a drawing, in which text is SIZE high."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

SIZE, LINE = 13.0, 15.0
"""Of text, and from one line to the next."""
ADVANCES = {
    28: "ijlI",
    34: " ,./:;|\\'J",
    39: '()[]-ft"',
    42: "r⁹·",
    52: "sz?_",
    59: "ckvxyFL*",
    64: "abdeghnopquESTPY0123456789$^`{}",
    70: "ABCKRVXZ",
    79: "DGHNOQU&w",
    87: "M+<=>~#×±",
    98: "mW%@",
}
"""Hundredths of a letter's width, in sizes: of DejaVu Sans, wider than which hardly any system's
font is."""
USUAL, WIDE, FIRST_WIDE = 0.66, 1.0, "\u2e80"
"""Width of letters that are not listed, and of those from FIRST_WIDE on: ideographs."""
WIDTHS = {letter: width / 100 for width, letters in ADVANCES.items() for letter in letters}
WORDS, PARTS = " ", " · "
GAP, FARTHEST = 8.0, 12
"""Between a point and its label; the most lines between them."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Measure = Callable[[str], float]


def text_width(text: str) -> float:
    """The width of a line of text in a font that is as wide as any usual one."""
    return SIZE * sum(
        WIDTHS.get(letter, WIDE if letter >= FIRST_WIDE else USUAL) for letter in text
    )


def shorten_text(text: str, measure: Measure, max_width: float) -> str:
    """The text, or as much of its beginning and end as fits, with an ellipsis between: what tells
    labels apart often stands at the end."""
    if measure(text) <= max_width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if measure(_cut(text, middle)) <= max_width else (low, middle - 1)
        )
    return _cut(text, low)


def _cut(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return f"{text[:head].rstrip()}…{text[len(text) - (kept - head) :].lstrip()}" if kept else "…"


def wrap_text(text: str, measure: Measure, max_width: float, max_lines: int = 2) -> tuple[str, ...]:
    """The text on at most ``max_lines`` lines, broken between its parts (" · ") or, without parts,
    words; what does not fit is shortened."""
    between = PARTS if PARTS in text else WORDS
    first, *others = text.split(between)
    lines = [first]
    for part in others:
        longer = f"{lines[-1]}{between}{part}"
        if len(lines) < max_lines and measure(longer) > max_width:
            lines.append(part)
        else:
            lines[-1] = longer
    return tuple(shorten_text(line, measure, max_width) for line in lines)


def spread_boxes(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centres near the wanted ones, in their order, so that boxes of these heights do not overlap
    and lie between ``low`` and ``high``.

    The sum of squared distances is least. If the boxes are higher than the space, they go beyond
    ``low``.
    """
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    below = [0.0, *accumulate(heights[index] for index in order)]
    # a block of touching boxes: where each of its members wants the lowest box to begin
    blocks: list[list[float]] = []
    for index, lower in zip(order, below, strict=False):
        block = [wanted[index] - heights[index] / 2 - lower]
        while blocks and fmean(blocks[-1]) > fmean(block):
            block = blocks.pop() + block
        blocks.append(block)
    begins = [min(max(fmean(block), low), high - below[-1]) for block in blocks for _ in block]
    centres = {
        index: begin + lower + heights[index] / 2
        for index, begin, lower in zip(order, begins, below, strict=False)
    }
    return [centres[index] for index in range(len(wanted))]


@dataclass(frozen=True)
class Placed:
    """Where a label stands, and the ends of the line to its point; None where it stands beside
    it."""

    box: Box
    join: tuple[Point, Point] | None


def place_labels(
    labels: Sequence[tuple[Point, float]],
    points: Sequence[Point],
    taken: Sequence[Box],
    inside: Box,
) -> list[Placed | None]:
    """A place for each label, of a point and a width, where it covers none of ``taken``, no other
    label and no line to one; None without such a place. ``points``: all that are drawn."""
    full, texts, found = list(taken), list[Box](), list[Placed | None]()
    for point, width in labels:
        place = next(
            (
                one
                for one in _places(point, width, points)
                if _is_within(one.box, inside)
                and not overlaps_any(one.box, full)
                and not (one.join and overlaps_any(line_box(*one.join), texts))
            ),
            None,
        )
        if place is not None:
            texts.append(place.box)
            full += [place.box, *([line_box(*place.join)] if place.join else ())]
        found.append(place)
    return found


def _places(point: Point, width: float, points: Sequence[Point]) -> Iterator[Placed]:
    """Places beside a point, the nearest first; with a line to the point where the label is away
    from it, or nearer to another one."""
    x, y = point
    for away in range(FARTHEST):
        for top in (y + GAP + away * LINE, y - GAP - (1 + away) * LINE):
            for left in (x - GAP - width, x + GAP, x - width / 2):
                box = left, top, left + width, top + LINE
                corner = min(max(x, left), left + width), top if top > y else top + LINE
                is_own = distance(point, box) <= min(distance(each, box) for each in points)
                yield Placed(box, None if away == 0 and is_own else (point, corner))


def line_box(one: Point, other: Point) -> Box:
    """The box around a line."""
    (x1, y1), (x2, y2) = one, other
    return min(x1, x2) - 2, min(y1, y2) - 2, max(x1, x2) + 2, max(y1, y2) + 2


def distance(point: Point, box: Box) -> float:
    """From a point to the nearest edge of a box; 0 within it."""
    across = max(box[0] - point[0], 0.0, point[0] - box[2])
    return math.hypot(across, max(box[1] - point[1], 0.0, point[1] - box[3]))


def overlaps_any(box: Box, others: Iterable[Box]) -> bool:
    """Whether the box overlaps one of the others; boxes that touch do not."""
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )


def _is_within(box: Box, outer: Box) -> bool:
    return box[0] >= outer[0] and box[1] >= outer[1] and box[2] <= outer[2] and box[3] <= outer[3]
