"""Labels of the front of time and energy: they belong to their point, and no line to another label
crosses them. Widths of text are those of a font."""

import math
import random

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from reporter.figures.labels import SIZE, Box, overlaps_any, text_width, wrap_text
from reporter.figures.layout import lay_out
from reporter.figures.look import NARROW, WIDE, DrawingLook
from reporter.figures.model import Dot, Estimate, Plane, Point, line_through
from reporter.figures.scales import Scale
from reporter.figures.svg import Canvas, Shape, Words
from reporter.figures.time_energy import staircase

LABELS = [
    "PyTorch · Jetson AGX Orin · MAXN",
    "PyTorch · Jetson AGX Orin · MODE_50W",
    "TensorFlow · Jetson AGX Orin · MODE_30W",
]


def named(seed: int, look: DrawingLook) -> Canvas:
    """A chart with three points of a front close to one another and eight others above it, at
    places drawn by chance."""
    chance = random.Random(seed)
    left, top = chance.uniform(10, 630), chance.uniform(160, 280)
    front = [
        (left + 25 * each + chance.uniform(0, 20), top + 8 * each + chance.uniform(0, 6))
        for each in range(3)
    ]
    others = [(left + chance.uniform(0, 250), top - chance.uniform(10, 120)) for _ in range(8)]
    axes = Scale((0.0, 800.0)), Scale((302.0, 0.0))
    labels = [*LABELS, *[""] * len(others)]
    dots = tuple(
        Dot(Estimate(x), Estimate(y), "c0", label)
        for (x, y), label in zip((*front, *others), labels, strict=True)
    )
    return lay_out([Plane("x", "y", *axes, (line_through(staircase(front), "front"),), dots)], look)


def names(canvas: Canvas) -> list[tuple[str, Box]]:
    """The labels with their boxes."""
    found = [part for part in canvas.parts if isinstance(part, Words) and part.style == "name"]
    return [
        (each.text, (each.x, each.y - 11, each.x + text_width(each.text), each.y + 4))
        for each in found
    ]


def joins(canvas: Canvas) -> list[tuple[Point, Point]]:
    """The lines from points to their labels."""
    return [
        (part.points[0], part.points[1])
        for part in canvas.parts
        if isinstance(part, Shape) and part.style == "join"
    ]


@pytest.mark.parametrize("look", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", range(40))
def test_no_line_to_a_label_crosses_another_label(seed: int, look: DrawingLook) -> None:
    canvas = named(seed, look)
    for (x1, y1), (x2, y2) in joins(canvas):
        # its end is at the edge of its own label
        line = min(x1, x2) - 1, min(y1, y2) + 1, max(x1, x2) + 1, max(y1, y2) - 1
        assert not overlaps_any(line, [box for _, box in names(canvas)])


def test_some_of_these_labels_have_a_line() -> None:
    assert sum(len(joins(named(seed, WIDE))) for seed in range(40)) > 10


@pytest.mark.parametrize("look", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", range(40))
def test_a_label_without_a_line_stands_beside_its_own_point(seed: int, look: DrawingLook) -> None:
    canvas = named(seed, look)
    dots = [
        part.points[0] for part in canvas.parts if isinstance(part, Shape) and part.kind == "dot"
    ]
    begins = [begin for begin, _ in joins(canvas)]
    for text, box in names(canvas):
        distances = [
            math.hypot(max(box[0] - x, x - box[2], 0.0), max(box[1] - y, y - box[3], 0.0))
            for x, y in dots
        ]
        own = LABELS.index(text)
        assert dots[own] in begins or distances[own] <= min(distances) + 1


@pytest.mark.parametrize("text", [*LABELS, "6.38 J to 18.7 J", "seconds per epoch, mean", "%"])
def test_texts_are_as_wide_as_in_the_widest_of_usual_fonts(text: str) -> None:
    """Of DejaVu Sans, at most a tenth wider."""
    widest = FontProperties(family="DejaVu Sans")
    measured = TextPath((0, 0), text, size=SIZE, prop=widest).get_extents().width
    assert measured - 2 <= text_width(text) <= 1.1 * measured + 2


def test_ideographs_are_as_wide_as_high() -> None:
    assert text_width("日本") == 2 * SIZE and text_width("") == 0


def test_a_label_is_broken_between_its_parts_and_shortened_in_the_middle() -> None:
    assert wrap_text("PyTorch · a board · batch 16", len, 20) == ("PyTorch · a board", "batch 16")
    assert wrap_text("a long title", len, 7) == ("a long", "title")
    assert wrap_text("x" * 30, len, 9) == ("xxxx…xxxx",)
