"""Stall, compute and total time by batch size, per epoch and per mini-batch, as in Figure 4 of
Prashanthi et al., POMACS 2022."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reporter.data.frames import Frames, Row
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.batch_size import SETTING
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.panels import LINE_HEIGHT, WIDTH, line_box, line_frame
from reporter.figures.svg import Canvas, doubling, linear

PARTS = (
    ("fetch stall", ("fetch_stall_s", "copy_s")),
    ("compute", ("compute_s",)),
    ("total", ("end_to_end_s",)),
)
TOP = 24


@dataclass(frozen=True)
class BatchPoint:
    """An entry's times at its batch size: seconds of an epoch and milliseconds of a mini-batch, for
    each of PARTS."""

    entry_id: str
    batch_size: float
    epoch_s: tuple[float, ...]
    step_ms: tuple[float, ...]


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Six panels with a line per setting that was run at two or more batch sizes: seconds per epoch
    above, milliseconds per mini-batch below."""
    entries = entries_of(frames)
    lines = _lines(frames)
    if not lines:
        return NotDrawn("no setting was run at two batch sizes for two epochs with all else equal")
    points = [point for line in lines for point in line]
    canvas = Canvas(WIDTH, TOP + 2 * LINE_HEIGHT, CHART.title, CHART.about)
    frameworks_legend(canvas, [entries[point.entry_id] for point in points], context)
    for index in range(2 * len(PARTS)):
        _panel(
            canvas,
            index,
            lines,
            {point.entry_id: entries[point.entry_id] for point in points},
            context,
        )
    rows = tuple(
        (
            entries[point.entry_id]["label"],
            f"{point.batch_size:g}",
            *(digits(value, 4) for value in (*point.epoch_s, *point.step_ms)),
        )
        for point in points
    )
    headings = (
        "entry",
        "batch size",
        *(f"{name}, s per epoch" for name, _ in PARTS),
        *(f"{name}, ms per mini-batch" for name, _ in PARTS),
    )
    return Drawing(canvas, headings, rows)


def _lines(frames: Frames) -> list[list[BatchPoint]]:
    settings: dict[tuple[str, ...], list[Row]] = {}
    for _, entry in sorted(entries_of(frames).items()):
        settings.setdefault(tuple(str(entry[key]) for key in SETTING), []).append(entry)
    several = [
        entries
        for _, entries in sorted(settings.items())
        if len({entry["batch_size"] for entry in entries}) > 1
    ]
    points = _points(frames, [entry for entries in several for entry in entries])
    lines = [
        [points[entry["entry_id"]] for entry in entries if entry["entry_id"] in points]
        for entries in several
    ]
    return [
        sorted(line, key=lambda point: point.batch_size)
        for line in lines
        if len({point.batch_size for point in line}) > 1
    ]


def _points(frames: Frames, entries: Sequence[Row]) -> dict[str, BatchPoint]:
    """Means over epochs 2 to last of all runs of an entry; as in the paper, the stall includes the
    host-to-device copy."""
    points = {}
    for entry in entries:
        runs = frames.select("runs", "entry_id", [entry["entry_id"]])["run_id"]
        epochs = frames.select("epochs", "run_id", runs)
        later = epochs[epochs["epoch"] > 1].sort_values(["run_id", "epoch"])
        seconds = [
            sum(later[column].to_numpy(dtype=float) for column in columns) for _, columns in PARTS
        ]
        steps = later["steps"].to_numpy(dtype=float)
        if not len(later) or np.isnan(seconds).any() or not (steps > 0).all():
            continue
        per_step = tuple(float((1e3 * column / steps).mean()) for column in seconds)
        points[entry["entry_id"]] = BatchPoint(
            entry["entry_id"],
            float(entry["batch_size"]),
            tuple(float(column.mean()) for column in seconds),
            per_step,
        )
    return points


def _panel(
    canvas: Canvas,
    index: int,
    lines: list[list[BatchPoint]],
    entries: dict[str, dict[str, object]],
    context: Context,
) -> None:
    part, per_step = index % len(PARTS), index >= len(PARTS)
    unit = "ms per mini-batch" if per_step else "s per epoch"
    across, up = line_box(index, TOP)

    def value(point: BatchPoint) -> float:
        return (point.step_ms if per_step else point.epoch_s)[part]

    x = doubling([point.batch_size for line in lines for point in line], *across)
    y = linear([value(point) for line in lines for point in line], *up, about=4)
    frame = line_frame(canvas, f"{PARTS[part][0]}, {unit}", x, y)
    canvas.text((across[0] + across[1]) / 2, up[0] + 30, "global batch size", "tick", "middle")
    for line in lines:
        style = context.colour(str(entries[line[0].entry_id]["framework"]))
        canvas.path([frame.at(point.batch_size, value(point)) for point in line], f"l{style} curve")
        for point in line:
            label = str(entries[point.entry_id]["label"])
            with canvas.link(context.entry(point.entry_id) + "#time_to_epoch_s", label):
                tip = f"{label}, batch {point.batch_size:g}: {digits(value(point))} {unit}"
                canvas.dot(*frame.at(point.batch_size, value(point)), f"c{style}", tip, 3.5)


CHART = Chart(
    "batch-times",
    "Stall, compute and total time by batch size",
    "Means of epochs 2 to last: seconds per epoch above, milliseconds per mini-batch below. The"
    " stall includes the host-to-device copy.",
    frozenset({"figures", "study"}),
    draw,
    position=110,
)
