"""Labels of the front of time and energy: they belong to their point, and no line to another label
crosses them."""

import math
import random
from collections.abc import Iterable

import pytest

from reporter.figures.chart import LETTER
from reporter.figures.narrow import LETTER as NARROW_LETTER
from reporter.figures.narrow import covers
from reporter.figures.plane import ACROSS, UP, Plane, plane, staircase
from reporter.figures.svg import Part, Point, Shape, Words, logarithmic
from reporter.figures.time_energy import Box, _name_front

LABELS = [
    "PyTorch · Jetson AGX Orin · MAXN",
    "PyTorch · Jetson AGX Orin · MODE_50W",
    "TensorFlow · Jetson AGX Orin · MODE_30W",
]


def named(seed: int) -> Plane:
    """A chart with three points of a front close to one another and eight others above it, at
    places drawn by chance."""
    chance = random.Random(seed)
    left, top = chance.uniform(80, 700), chance.uniform(200, 320)
    front = [
        (left + 25 * each + chance.uniform(0, 20), top + 8 * each + chance.uniform(0, 6))
        for each in range(3)
    ]
    others = [(left + chance.uniform(0, 250), top - chance.uniform(10, 120)) for _ in range(8)]
    axis = [1.0, 10.0]
    chart = plane("title", "about", logarithmic(axis, *ACROSS), logarithmic(axis, *UP), ("x", "y"))
    chart.canvas.path(staircase(front, ACROSS[1], UP[1]), "front")
    for x, y in (*front, *others):
        chart.canvas.dot(x, y, "c0")
    _name_front(chart, front, [*front, *others], LABELS)
    return chart


def names(parts: Iterable[Part], letter: float = LETTER) -> list[tuple[str, Box]]:
    """The labels with their boxes, of letters of this width."""
    found = [part for part in parts if isinstance(part, Words) and part.style == "name"]
    return [
        (each.text, (each.x, each.y - 11, each.x + letter * len(each.text), each.y + 4))
        for each in found
    ]


def joins(parts: Iterable[Part]) -> list[tuple[Point, Point]]:
    """The lines from points to their labels."""
    return [
        (part.points[0], part.points[1])
        for part in parts
        if isinstance(part, Shape) and part.style == "join"
    ]


@pytest.mark.parametrize("seed", range(40))
def test_no_line_to_a_label_crosses_another_label(seed: int) -> None:
    parts = named(seed).canvas.parts
    for (x1, y1), (x2, y2) in joins(parts):
        # its end is at the edge of its own label
        line = min(x1, x2) - 1, min(y1, y2) + 1, max(x1, x2) + 1, max(y1, y2) - 1
        assert not covers(line, [box for _, box in names(parts)])


def test_some_of_these_labels_have_a_line() -> None:
    assert sum(len(joins(named(seed).canvas.parts)) for seed in range(40)) > 10


@pytest.mark.parametrize("seed", range(40))
def test_on_a_narrow_screen_a_label_stands_beside_its_own_point(seed: int) -> None:
    canvas = named(seed).canvas
    assert canvas.fold is not None
    folded = canvas.fold(canvas).parts
    dots = [part.points[0] for part in folded if isinstance(part, Shape) and part.kind == "dot"]
    for text, box in names(folded, NARROW_LETTER):
        distances = [
            math.hypot(max(box[0] - x, x - box[2], 0.0), max(box[1] - y, y - box[3], 0.0))
            for x, y in dots
        ]
        assert distances[LABELS.index(text)] <= min(distances) + 2, "places are in whole pixels"
