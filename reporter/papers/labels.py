"""Where labels go: no two of them overlap. Coordinates are of the renderer, and sizes are its own
measures of the text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share an area; boxes that touch do not."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def spread(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centres near the wanted ones, in their order, so that boxes of these heights do not overlap
    and lie between ``low`` and ``high``.

    The sum of squared distances is least. If the boxes are higher than the space, they go beyond
    ``low``.
    """
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    # the lower edge of a block of touching boxes, and its members from below
    blocks: list[tuple[float, list[int]]] = []
    for index in order:
        block = (wanted[index] - heights[index] / 2, [index])
        while blocks and _top(blocks[-1], heights) > block[0] + 1e-9:
            block = _joined(blocks.pop()[1] + block[1], wanted, heights)
        blocks.append(block)
    return _within(blocks, heights, low, high)


def _top(block: tuple[float, list[int]], heights: Sequence[float]) -> float:
    return block[0] + sum(heights[index] for index in block[1])


def _joined(
    members: list[int], wanted: Sequence[float], heights: Sequence[float]
) -> tuple[float, list[int]]:
    offsets, offset = [], 0.0
    for index in members:
        offsets.append(wanted[index] - heights[index] / 2 - offset)
        offset += heights[index]
    return sum(offsets) / len(offsets), members


def _within(
    blocks: Sequence[tuple[float, list[int]]], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Pushes blocks down from ``high``, then up from ``low`` as far as there is space."""
    edges: dict[int, float] = {}
    for edge, members in blocks:
        for index in members:
            edges[index] = edge
            edge += heights[index]
    ascending = [index for _, members in blocks for index in members]
    floor = low
    for index in ascending:
        edges[index] = max(edges[index], floor)
        floor = edges[index] + heights[index]
    ceiling = high
    for index in reversed(ascending):
        edges[index] = min(edges[index], ceiling - heights[index])
        ceiling = edges[index]
    return [edges[index] + heights[index] / 2 for index in range(len(heights))]


@dataclass(frozen=True)
class Wanted:
    """A label for the point (x, y), of the given size; ``gap`` is the distance from the point's
    marker."""

    x: float
    y: float
    width: float
    height: float
    gap: float


def beside(
    labels: Sequence[Wanted], taken: Sequence[Box], inside: Box
) -> list[tuple[float, float] | None]:
    """The lower left corner of each label, beside its point: clear of other labels, of ``taken``
    and of the edges; None without such a place."""
    boxes, places = list(taken), list[tuple[float, float] | None]()
    for label in labels:
        found = next((box for box in _candidates(label) if _fits(box, boxes, inside)), None)
        places.append(None if found is None else (found[0], found[1]))
        if found is not None:
            boxes.append(found)
    return places


def _fits(box: Box, taken: Sequence[Box], inside: Box) -> bool:
    is_inside = (
        inside[0] <= box[0] and inside[1] <= box[1] and box[2] <= inside[2] and box[3] <= inside[3]
    )
    return is_inside and not any(overlap(box, other) for other in taken)


def _candidates(label: Wanted) -> list[Box]:
    """Places around the point, the preferred ones first, then the same ones further away."""
    found = []
    for factor in (1.0, 2.0, 3.5):
        gap = label.gap * factor
        for right, up in ((1, 1), (-1, -1), (1, -1), (-1, 1), (1, 0), (-1, 0), (0, 1), (0, -1)):
            left = label.x + (
                gap if right > 0 else -gap - label.width if right < 0 else -label.width / 2
            )
            bottom = label.y + (
                gap if up > 0 else -gap - label.height if up < 0 else -label.height / 2
            )
            found.append((left, bottom, left + label.width, bottom + label.height))
    return found


def shortened(text: str, width_of: Callable[[str], float], max_width: float) -> str:
    """The text, or as much of its beginning and end as fits, with an ellipsis between: what tells
    labels apart often stands at the end."""
    if width_of(text) <= max_width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if width_of(_cut(text, middle)) <= max_width else (low, middle - 1)
        )
    return _cut(text, low)


def _cut(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return f"{text[:head].rstrip()}…{text[len(text) - (kept - head) :].lstrip()}" if kept else "…"


def wrapped(
    text: str, width_of: Callable[[str], float], max_width: float, max_lines: int = 2
) -> str:
    """The text on at most ``max_lines`` lines, broken between its parts (" · ") or words; what does
    not fit is shortened."""
    if width_of(text) <= max_width:
        return text
    words, lines = text.replace(" · ", " ·\u00a0").split(" "), [""]
    for word in words:
        candidate = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(candidate) > max_width and len(lines) < max_lines:
            lines.append(word)
        else:
            lines[-1] = candidate
    return "\n".join(
        shortened(line.replace("·\u00a0", "· ").removeprefix("· "), width_of, max_width)
        for line in lines
    )
