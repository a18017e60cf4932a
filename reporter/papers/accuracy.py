"""Accuracy against training time."""

import statistics

from reporter.data.frames import Frames, Row, known, rows_of
from reporter.data.selection import choose
from reporter.data.values import entries_of
from reporter.papers.batches import MAX_LINES
from reporter.papers.entries import line_styles, names_of, property_text, styles_of
from reporter.papers.model import Estimate, Line, Lines, Missing, PaperFigure

PERCENT = 100.0
Curve = tuple[tuple[float, Estimate], ...]


def curves(frames: Frames) -> PaperFigure | Missing:
    """A line per entry: accuracy, %, after each epoch against the mean training time until then, s,
    evaluations excluded."""
    found = {name: curve for name in entries_of(frames) if (curve := _curve(frames, name))}
    if not found:
        return Missing("no evaluation was finished")
    entries = entries_of(frames)
    names = names_of([entries[name] for name in found])
    chosen = choose(
        {name: found[name][-1][0] for name in found},
        lambda name: str(entries[name]["framework"]),
        MAX_LINES,
    )
    numbers = line_styles(
        [str(entries[name]["framework"]) for name in chosen.ids]
        + [group.name for group in chosen.groups],
        styles_of(frames),
    )
    lines = [
        Line(names[name] or property_text(entries[name], "framework"), number, found[name])
        for name, number in zip(chosen.ids, numbers, strict=False)
    ]
    for group, number in zip(chosen.groups, numbers[len(chosen.ids) :], strict=True):
        middle = group.ids[len(group.ids) // 2]
        lines.append(Line(group.label, number, found[middle], is_faint=True))
    note = chosen.note.replace("row", "line").replace(
        "lowest to highest value, with a mark at the median", "that of the median"
    )
    about = (
        "Accuracy after each epoch against the sum of the times of the epochs, without evaluations;"
        " mean over runs, as far as all runs went."
    )
    panel = Lines("training time, s", "accuracy, %", tuple(lines), is_from_zero=False)
    return PaperFigure(
        (panel,), tuple(found), about, "± one standard deviation over runs", (note,) if note else ()
    )


def _curve(frames: Frames, name: str) -> Curve:
    runs = [
        _of_run(list(rows_of(frames.select("epochs", "run_id", [run]).sort_values("epoch"))))
        for run in frames.select("runs", "entry_id", [name])["run_id"]
    ]
    points: list[tuple[float, Estimate]] = []
    for together in zip(*runs, strict=False):
        accuracies = [accuracy for _, accuracy in together]
        mean = statistics.fmean(accuracies)
        spread = statistics.stdev(accuracies) if len(accuracies) > 1 else None
        points.append(
            (
                statistics.fmean(t for t, _ in together),
                Estimate(mean) if spread is None else Estimate(mean, mean - spread, mean + spread),
            )
        )
    return tuple(points)


def _of_run(epochs: list[Row]) -> list[tuple[float, float]]:
    time_s, points = 0.0, []
    for epoch in epochs:
        if not known(epoch["end_to_end_s"]):
            break
        time_s += float(epoch["end_to_end_s"])
        if known(epoch["eval_accuracy"]):
            points.append((time_s, PERCENT * float(epoch["eval_accuracy"])))
    return points
