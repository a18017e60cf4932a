"""Accuracy against training time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from reporter.data.frames import Frames, is_known, rows_of
from reporter.data.selection import ascending, choose_rows
from reporter.data.text import significant
from reporter.data.values import entries_of
from reporter.figures.chart import Chart, Context
from reporter.figures.entries import mean_of
from reporter.figures.for_papers import Curve, Points, entry_labels, lines_of, lines_panel
from reporter.figures.model import (
    Dot,
    Line,
    Missing,
    PaperFigure,
    Plane,
    Plot,
    Point,
    dot,
    line_through,
)
from reporter.figures.scales import UNITS, linear_scale_without_zero, scale_in_units

MAX_RUNS, PERCENT = 60, 100.0
NO_CURVE = Missing("no run that began with epoch 1 has finished an evaluation")
"""The earlier epochs of a resumed run, and their time, are in another bundle."""
HEADINGS = (
    "run",
    "evaluations",
    "training time until the last evaluation, s",
    "last accuracy, %",
    "best accuracy, %",
)


@dataclass(frozen=True)
class _Run:
    """A run as a line: its name in words, its framework, and its evaluations."""

    label: str
    framework: str
    points: list[Point]

    @property
    def end(self) -> Point:
        """The last evaluation."""
        return self.points[-1]


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """One line per run: accuracy (%) after each epoch against the cumulated epoch time (s),
    evaluations excluded."""
    runs = {name: run for name, run in _runs(frames) if run.points}
    if not runs:
        return NO_CURVE
    order = {name: run.end[0] for name, run in runs.items()}
    chosen = choose_rows(order, lambda name: runs[name].framework, MAX_RUNS)
    lines, dots = list[Line](), list[Dot]()
    for run_id, run in ((name, runs[name]) for name in chosen.ids):
        (time_s, accuracy), colour = run.end, context.colour(run.framework)
        tip = f"{run.label}: {accuracy:.2f} % after {significant(time_s)} s of training"
        lines.append(line_through(run.points, f"l{colour} curve", f"{run.label} ({run_id})"))
        dots.append(dot(run.end, f"c{colour}", tip))
    crowds: dict[str, list[Point]] = {}
    for run in (runs[name] for group in chosen.groups for name in group.ids):
        crowds.setdefault(f"l{context.colour(run.framework)}", []).append(run.end)
    every = [point for run in runs.values() for point in run.points]
    x = scale_in_units([t for t, _ in every], "s")
    panel = Plane(
        f"training time in {UNITS[x.unit]} (without evaluations)",
        "accuracy, %",
        x,
        linear_scale_without_zero([value for _, value in every]),
        tuple(lines),
        tuple(dots),
        context.frameworks([run for run in rows_of(frames.runs) if run["run_id"] in runs]),
        tuple((style, tuple(points)) for style, points in sorted(crowds.items())),
    )
    rows = tuple(_cells(runs[name]) for name in ascending(order))
    return Plot((panel,), HEADINGS, rows, _note(len(frames.runs), len(runs), len(lines)))


def _runs(frames: Frames) -> Iterator[tuple[str, _Run]]:
    entries = entries_of(frames)
    for run in rows_of(frames.runs):
        label = f"{entries[run['entry_id']]['label']}, seed {run['seed']}"
        points = [] if run["resumed"] else _curve(frames, run["run_id"])
        yield run["run_id"], _Run(label, str(run["framework"]), points)


def _cells(run: _Run) -> tuple[str, ...]:
    time_s, last = run.end
    best = max(value for _, value in run.points)
    return run.label, str(len(run.points)), significant(time_s), f"{last:.2f}", f"{best:.2f}"


def _note(every: int, ended: int, drawn: int) -> str:
    notes = list[str]()
    if every > ended:
        notes.append(
            "Not drawn, because resumed or without a finished evaluation:"
            f" {every - ended} of {every} runs."
        )
    if ended > drawn:
        notes.append(
            "Drawn as a faint dot only, at the last evaluation:"
            f" {ended - drawn} of {ended} runs; lines show the fastest runs of each framework."
        )
    return " ".join(notes)


def for_paper(frames: Frames) -> PaperFigure | Missing:
    """A line per entry: accuracy, %, after each epoch against the mean training time until then, s,
    evaluations excluded."""
    entries = entries_of(frames)
    begun = [name for name, entry in entries.items() if not entry["resumed"]]
    points = {name: found for name in begun if (found := _means(frames, name))}
    if not points:
        return NO_CURVE
    order = {name: found[-1][0] for name, found in points.items()}
    labels = entry_labels([entries[name] for name in points])
    curves = {
        name: Curve(labels[name], str(entries[name]["framework"]), points[name])
        for name in ascending(order)
    }
    middle = "lowest to highest value, with a mark at the median"
    lines, notes = lines_of(frames, curves, order, lambda some: some[len(some) // 2].points)
    about = (
        "Accuracy after each epoch against the sum of the epoch times (without evaluations)."
        " Mean over runs, up to the last evaluation of the run with the fewest evaluations."
    )
    panel = lines_panel(
        ("training time, s", "accuracy, %"), lines, linear_scale_without_zero, is_from_zero=False
    )
    notes = tuple(note.replace(middle, "that of the median") for note in notes)
    if len(begun) < len(entries):
        notes = (*notes, "Runs that were resumed are not drawn.")
    error_bars = "± one standard deviation over runs"
    return PaperFigure((panel,), tuple(points), about, error_bars, notes)


def _means(frames: Frames, entry: str) -> Points:
    runs = [_curve(frames, run) for run in frames.select("runs", "entry_id", [entry])["run_id"]]
    return tuple(
        (mean_of([t for t, _ in together]).value, mean_of([value for _, value in together]))
        for together in zip(*runs, strict=False)
    )


def _curve(frames: Frames, run: str) -> list[Point]:
    """Accuracy, %, after each evaluation of a run, against the time of its epochs until then, s."""
    epochs = sorted(frames.rows_by("epochs", "run_id")(run), key=lambda each: each["epoch"])
    times_s = accumulate(
        math.nan if each["end_to_end_s"] is None else each["end_to_end_s"] for each in epochs
    )
    return [
        (time_s, PERCENT * each["eval_accuracy"])
        for time_s, each in zip(times_s, epochs, strict=True)
        if each["eval_accuracy"] is not None and is_known(time_s)
    ]


CHART = Chart(
    "accuracy",
    "Accuracy against training time",
    "One line per run, one point per evaluation. Horizontal axis: sum of the epoch times (without"
    " evaluations).",
    describe,
    frozenset({"board", "comparison", "figures", "first", "front", "study"}),
    position=30,
    min_rows=1,
)
