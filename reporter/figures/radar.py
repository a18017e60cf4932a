"""Radar chart of frameworks along several figures, as in Figure 1d of the Raspberry Pi study."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reporter.data.frames import Frames, Row
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, legend
from reporter.figures.svg import Canvas

MAX_SERIES, MIN_AXES = 4, 3
WIDTH, HEIGHT, RADIUS, LINE = 900, 530, 165, 14
CENTRE = (WIDTH / 2, 310)


@dataclass(frozen=True)
class Axis:
    """A figure as an axis; the rim is the best drawn value. ``better``: 1 if more is better, -1 if
    less is."""

    figure: str
    title: str
    better: int
    factor: float = 1.0
    is_energy: bool = False


AXES = (
    Axis("samples_per_s", "samples per second", 1),
    Axis("time_to_target_s", "time to target, s", -1),
    Axis("best_accuracy", "accuracy, %", 1, 100.0),
    Axis("peak_memory_bytes", "peak memory, MiB", -1, 2.0**-20),
    Axis("energy_per_epoch_j", "energy per epoch, J", -1, is_energy=True),
    Axis("compute_share", "share of an epoch computing, %", 1, 100.0),
    Axis("first_epoch_s", "epoch 1, s", -1),
    Axis("ipc", "instructions per cycle", 1),
    Axis("l1d_miss_ratio", "L1 data miss ratio, %", -1, 100.0),
    Axis("branch_mispredict_ratio", "branch mispredict ratio, %", -1, 100.0),
)


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One polygon per framework (its fastest entry), at most MAX_SERIES; along each axis
    value/best, or best/value where less is better."""
    chosen = series(frames)
    if len(chosen) < 2:
        return NotDrawn("fewer than two frameworks have finished two epochs")
    axes, shares = shares_of(frames, chosen)
    if len(axes) < MIN_AXES:
        return NotDrawn(f"fewer than {MIN_AXES} figures are known for all of the frameworks")
    entries = entries_of(frames)
    values = _values(frames, axes, chosen)
    canvas = _web(axes)
    for name in chosen:
        style, label = context.colour(entries[name]["framework"]), entries[name]["label"]
        points = [_at(index, len(axes), shares[name][index]) for index in range(len(axes))]
        canvas.path(points, f"c{style} area", closed=True)
        canvas.path(points, f"l{style} curve", closed=True)
        with canvas.link(context.entry(name), label):
            for index, point in enumerate(points):
                canvas.dot(
                    *point,
                    f"c{style}",
                    f"{label}, {axes[index].title}:"
                    f" {digits(values[name][index] * axes[index].factor)}",
                )
    for line, name in enumerate(chosen):  # one below the other: labels can be long
        legend(
            canvas,
            [(f"c{context.colour(entries[name]['framework'])}", entries[name]["label"])],
            20,
            10 + 18 * line,
        )
    rows = tuple(
        (
            entries[name]["label"],
            *(digits(value * axis.factor) for axis, value in zip(axes, values[name], strict=True)),
        )
        for name in chosen
    )
    return Drawing(
        canvas,
        ("entry", *(axis.title for axis in axes)),
        rows,
        _note(axes, entries.keys() - set(chosen)),
    )


def shares_of(frames: Frames, entries: list[str]) -> tuple[list[Axis], dict[str, list[float]]]:
    """The axes whose figures are known and comparable for all the entries, and each entry's
    distances from the centre along them."""
    found = {axis: figures_of(frames, axis.figure) for axis in AXES}
    axes = [
        axis
        for axis in AXES
        if all(name in found[axis] for name in entries)
        and (not axis.is_energy or _share_a_sensor(found[axis], entries))
    ]
    values = _values(frames, axes, entries)
    return axes, {
        name: [
            share(axis, [values[other][index] for other in entries], values[name][index])
            for index, axis in enumerate(axes)
        ]
        for name in entries
    }


def _values(frames: Frames, axes: list[Axis], entries: list[str]) -> dict[str, list[float]]:
    found = {axis: figures_of(frames, axis.figure) for axis in axes}
    return {name: [float(found[axis][name]["value"]) for axis in axes] for name in entries}


def _share_a_sensor(energies: Mapping[str, Row], entries: list[str]) -> bool:
    return len({(energies[name]["covers"], energies[name]["tier"]) for name in entries}) == 1


def share(axis: Axis, values: list[float], value: float) -> float:
    """Distance from the centre, 0 to 1: value over the best of ``values``, or best over value where
    less is better."""
    best = max(values) if axis.better > 0 else min(values)
    if value == best:
        return 1.0
    above, below = (value, best) if axis.better > 0 else (best, value)
    return min(max(above / below, 0.0), 1.0) if below > 0 else 0.0


def series(frames: Frames) -> list[str]:
    """The fastest entry of each framework, at most MAX_SERIES, the fastest first."""
    times, entries = figures_of(frames, "time_to_epoch_s"), entries_of(frames)
    best: dict[str, str] = {}
    for name in sorted(
        (name for name in entries if name in times),
        key=lambda name: (float(times[name]["value"]), name),
    ):
        best.setdefault(str(entries[name]["framework"]), name)
    return list(best.values())[:MAX_SERIES]


def _web(axes: list[Axis]) -> Canvas:
    canvas = Canvas(WIDTH, HEIGHT, CHART.title, CHART.about)
    for ring in (0.25, 0.5, 0.75, 1.0):
        canvas.path(
            [_at(index, len(axes), ring) for index in range(len(axes))], "ring", closed=True
        )
        canvas.text(CENTRE[0] + 4, CENTRE[1] - ring * RADIUS - 3, f"{ring:g}", "tick")
    for index, axis in enumerate(axes):
        canvas.line(*CENTRE, *_at(index, len(axes), 1.0), "grid")
        _name(canvas, axis, *_at(index, len(axes), 1.13))
    return canvas


def _name(canvas: Canvas, axis: Axis, x: float, y: float) -> None:
    """The axis title beyond the rim, on two lines aligned away from the circle."""
    anchor = "middle" if abs(x - CENTRE[0]) < 40 else "start" if x > CENTRE[0] else "end"
    upper = y - 10 if y < CENTRE[1] - RADIUS / 2 else y + 4 if y > CENTRE[1] + RADIUS / 2 else y - 3
    canvas.text(x, upper, axis.title, "axis", anchor)
    canvas.text(
        x, upper + LINE, f"({'more' if axis.better > 0 else 'less'} is better)", "axis", anchor
    )


def _at(index: int, count: int, reach: float) -> tuple[float, float]:
    angle = 2 * math.pi * index / count - math.pi / 2
    return CENTRE[0] + reach * RADIUS * math.cos(angle), CENTRE[1] + reach * RADIUS * math.sin(
        angle
    )


def _note(axes: list[Axis], omitted: set[str]) -> str:
    missing = [axis.title for axis in AXES if axis not in axes]
    note = (
        f"No axis, because unknown or not comparable for some: {', '.join(missing)}. "
        if missing
        else ""
    )
    return note + (
        f"{len(omitted)} entries that are not the fastest of their framework are not drawn."
        if omitted
        else ""
    )


CHART = Chart(
    "radar",
    "Framework overview",
    "Per axis, value relative to the best drawn one (rim = 1; inverted where less is better);"
    " fastest entry per framework. Areas have no meaning.",
    frozenset({"comparison", "study"}),
    draw,
    position=140,
)
