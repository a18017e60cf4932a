"""Charts with two value axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from reporter.figures.narrow import FoldedPlane, fold_plane
from reporter.figures.svg import Canvas, Scale

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 390, 70, 30, 40, 48
ACROSS, UP = (LEFT, WIDTH - RIGHT), (HEIGHT - BOTTOM, TOP)
"""Coordinates of the ends of the axes: x left to right, y bottom to top."""


@dataclass(frozen=True)
class Plane:
    """A chart with its grid and axes drawn."""

    canvas: Canvas
    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Coordinates of a point."""
        return self.x.at(x), self.y.at(y)


def plane(title: str, description: str, x: Scale, y: Scale, names: tuple[str, str]) -> Plane:
    """A chart without data. ``names`` are the axis titles with units; the scales span ACROSS and
    UP."""
    canvas = Canvas(
        WIDTH,
        HEIGHT,
        title,
        description,
        partial(fold_plane, plot=FoldedPlane(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM)),
    )
    for tick, text in x.labels:
        canvas.line(x.at(tick), TOP, x.at(tick), HEIGHT - BOTTOM, "grid")
        canvas.text(x.at(tick), HEIGHT - BOTTOM + 18, text, "tick", "middle")
    for tick, text in y.labels:
        canvas.line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick), "grid")
        canvas.text(LEFT - 8, y.at(tick) + 4, text, "tick", "end")
    canvas.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, names[0], "axis", "middle")
    canvas.text(6, TOP - 14, names[1], "axis")
    return Plane(canvas, x, y)


def staircase(
    points: Sequence[tuple[float, float]], right: float, top: float
) -> list[tuple[float, float]]:
    """A Pareto front as steps, in coordinates: straight lines would suggest points that were not
    measured."""
    steps = [(points[0][0], top)]
    for (x, y), (following, _) in zip(points, [*points[1:], (right, 0.0)], strict=True):
        steps += [(x, y), (following, y)]
    return steps
