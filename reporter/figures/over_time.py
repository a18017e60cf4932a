"""Power over time with the epochs marked, and the machine's load, which is there without any power sensor."""

import statistics
from itertools import pairwise
from typing import Any

from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, digits, legend
from reporter.figures.plane import ACROSS, HEIGHT, TOP, UP, Plane, plane
from reporter.figures.plane import BOTTOM as BELOW
from reporter.frames import Frames, known
from reporter.svg import close, linear

GAP = 4.0
"""Readings further apart than so many usual distances are not joined: nobody saw what was between."""


def draw_power(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Watts against seconds since run_start: mean, and band from smallest to greatest reading, per interval; the dashed line is the baseload."""
    if not (frames.readings["kind"] == "power").any():
        return NotDrawn("no power sensor was read")
    idle = frames.figures[frames.figures["figure"] == "baseload_power_w"]["value"]
    baseload = next((float(value) for value in idle if known(value)), None)
    return _draw(frames, POWER, "power", "watts", baseload)


def draw_load(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Percent of a machine's processors that were busy, and of its GPU, against seconds since run_start."""
    if not (frames.readings["kind"] == "load").any():
        return NotDrawn("neither processor nor GPU utilisation was read")
    return _draw(frames, LOAD, "load", "percent of the time busy", None)


def _draw(frames: Frames, chart: Chart, kind: str, axis: str, baseload: float | None) -> Drawing:
    readings = frames.readings[frames.readings["kind"] == kind].sort_values(["channel", "t_s"])
    channels: dict[str, list[dict[str, Any]]] = {}
    for row in readings.to_dict("records"):
        channels.setdefault(str(row["channel"]), []).append(row)
    spans = frames.spans.sort_values(["start_s", "name"]).to_dict("records")
    times = [*readings["t_s"], *(span[end] for span in spans for end in ("start_s", "stop_s"))]
    y = linear([100.0] if kind == "load" else [*readings["high"], baseload or 0.0], *UP)
    drawn = plane(chart.title, chart.about, close([*times, 0.0], *ACROSS, 9), y, ("seconds since run_start", axis))
    _mark_epochs(drawn, spans)
    for index, rows in enumerate(channels.values()):
        _line(drawn, rows, index)
    if baseload is not None:
        drawn.canvas.path(
            [drawn.at(drawn.x.ticks[0], baseload), drawn.at(drawn.x.ticks[-1], baseload)], "front", tip=f"baseload: {digits(baseload)} W"
        )
    names = [(f"c{index}", name) for index, name in enumerate(channels)]
    legend(drawn.canvas, names + ([("idle", f"baseload {digits(baseload)} W")] if baseload is not None else []), 300)
    table = tuple(_row(span, rows, len(channels)) for span in spans for rows in channels.values())
    whole = tuple(_row({"name": "all that was read", "start_s": None}, rows, len(channels)) for rows in channels.values())
    unit = readings["unit"].iloc[0]
    return Drawing(drawn.canvas.svg(), ("when", "readings drawn", f"lowest, {unit}", f"mean, {unit}", f"highest, {unit}"), whole + table)


def _mark_epochs(drawn: Plane, spans: list[dict[str, Any]]) -> None:
    """A band per epoch, its number above it where there is room; evaluations stay white."""
    for span in spans:
        if span["kind"] != "epoch":
            continue
        left, right = drawn.x.at(span["start_s"]), drawn.x.at(span["stop_s"])
        drawn.canvas.rect(left, TOP, right - left, HEIGHT - BELOW - TOP, "span", f"{span['name']}: {digits(span['stop_s'] - span['start_s'])} s")
        if right - left > 52:
            drawn.canvas.text((left + right) / 2, TOP + 15, span["name"], "tick", "middle")


def _line(drawn: Plane, rows: list[dict[str, Any]], index: int) -> None:
    distances = [b["t_s"] - a["t_s"] for a, b in pairwise(rows)]
    longest = GAP * statistics.median(distances) if distances else 0.0
    pieces = [[rows[0]]]
    for before, row in pairwise(rows):
        if row["t_s"] - before["t_s"] > longest:
            pieces.append([])
        pieces[-1].append(row)
    for piece in pieces:
        outline = [drawn.at(row["t_s"], row["high"]) for row in piece] + [drawn.at(row["t_s"], row["low"]) for row in reversed(piece)]
        drawn.canvas.path(outline, f"c{index} area", closed=True)
        drawn.canvas.path([drawn.at(row["t_s"], row["mean"]) for row in piece], f"l{index} curve")
        if len(piece) == 1:
            drawn.canvas.dot(*drawn.at(piece[0]["t_s"], piece[0]["mean"]), f"c{index}", radius=2)


def _row(span: dict[str, Any], rows: list[dict[str, Any]], channels: int) -> tuple[str, ...]:
    inside = [row for row in rows if span["start_s"] is None or span["start_s"] <= row["t_s"] <= span["stop_s"]]
    name = span["name"] if channels == 1 else f"{span['name']}, {rows[0]['channel']}"
    if not inside:
        return name, "0", *["not read"] * 3
    mean = statistics.fmean(row["mean"] for row in inside)
    return name, str(len(inside)), digits(min(row["low"] for row in inside)), digits(mean), digits(max(row["high"] for row in inside))


POWER = Chart(
    "power-time",
    "Power over time",
    "Each shaded band is an epoch; between them lie evaluations. The line is the mean, the band around it what was read at least and at most.",
    frozenset({"run"}),
    draw_power,
)
LOAD = Chart(
    "load-time",
    "Load over time",
    "How busy the machine was, which is no power. Each shaded band is an epoch; between them lie evaluations.",
    frozenset({"run"}),
    draw_load,
)
