"""Accuracy against training time."""

from reporter.data.frames import Frames, Row, known, rows_of
from reporter.data.values import entries_of
from reporter.figures.entries import mean_of
from reporter.figures.model import Missing, PaperFigure
from reporter.figures.scales import close
from reporter.papers.entries import Curve, Points, labels_of, lines_of, lines_panel

PERCENT = 100.0


def curves(frames: Frames) -> PaperFigure | Missing:
    """A line per entry: accuracy, %, after each epoch against the mean training time until then, s,
    evaluations excluded."""
    entries = entries_of(frames)
    points = {name: found for name in entries if (found := _points(frames, name))}
    if not points:
        return Missing("no evaluation was finished")
    order = {name: found[-1][0] for name, found in points.items()}
    labels = labels_of([entries[name] for name in points])
    drawn = {
        name: Curve(labels[name], str(entries[name]["framework"]), points[name])
        for name in sorted(points, key=lambda name: (order[name], name))
    }
    lines, note = lines_of(frames, drawn, order, lambda members: members[len(members) // 2].points)
    note = note.replace("lowest to highest value, with a mark at the median", "that of the median")
    about = (
        "Accuracy after each epoch against the sum of the times of the epochs, without evaluations;"
        " mean over runs, as far as all runs went."
    )
    panel = lines_panel(("training time, s", "accuracy, %"), lines, close, is_from_zero=False)
    error_bars, notes = "± one standard deviation over runs", (note,) if note else ()
    return PaperFigure((panel,), tuple(points), about, error_bars, notes)


def _points(frames: Frames, name: str) -> Points:
    runs = [
        _of_run(list(rows_of(frames.select("epochs", "run_id", [run]).sort_values("epoch"))))
        for run in frames.select("runs", "entry_id", [name])["run_id"]
    ]
    return tuple(
        (mean_of([t for t, _ in together]).value, mean_of([value for _, value in together]))
        for together in zip(*runs, strict=False)
    )


def _of_run(epochs: list[Row]) -> list[tuple[float, float]]:
    time_s, points = 0.0, []
    for epoch in epochs:
        if not known(epoch["end_to_end_s"]):
            break
        time_s += float(epoch["end_to_end_s"])
        if known(epoch["eval_accuracy"]):
            points.append((time_s, PERCENT * float(epoch["eval_accuracy"])))
    return points
