"""Accuracy against training time."""

from reporter.data.frames import Frames, known, rows_of
from reporter.data.selection import ascending, choose
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import Chart, Context
from reporter.figures.entries import mean_of
from reporter.figures.for_papers import Curve, Points, labels_of, lines_of, lines_panel
from reporter.figures.model import Figure, Missing, PaperFigure, Plane, Point, dot, through
from reporter.figures.scales import UNITS, close, in_units

MAX_RUNS, PERCENT = 60, 100.0


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One line per run: accuracy (%) after each epoch against the cumulated epoch time (s),
    evaluations excluded."""
    entries = entries_of(frames)
    curves, labels, styles = dict[str, list[Point]](), dict[str, str](), dict[str, int]()
    for run in rows_of(frames.runs):
        name, entry = run["run_id"], entries[run["entry_id"]]
        curves[name] = _curve(frames, name)
        labels[name] = f"{entry['label']}, seed {run['seed']}"
        styles[name] = context.colour(run["framework"])
    ends = {name: points[-1] for name, points in curves.items() if points}
    if not ends:
        return Missing("no evaluation was finished")
    order = {name: time_s for name, (time_s, _) in ends.items()}
    frameworks = dict(zip(frames.runs["run_id"], frames.runs["framework"], strict=True))
    chosen = choose(order, lambda name: str(frameworks[name]), MAX_RUNS)
    others = {style: list[Point]() for style in sorted(set(styles.values()))}
    for name in (name for group in chosen.groups for name in group.ids):
        others[styles[name]].append(ends[name])
    every = [point for points in curves.values() for point in points]
    x = in_units([t for t, _ in every], "s")
    panel = Plane(
        f"training time in {UNITS[x.unit]} (without evaluations)",
        "accuracy, %",
        x,
        close([value for _, value in every]),
        tuple(
            through(curves[name], f"l{styles[name]} curve", f"{labels[name]} ({name})")
            for name in chosen.ids
        ),
        tuple(
            dot(
                ends[name],
                f"c{styles[name]}",
                f"{labels[name]}: {ends[name][1]:.2f} % after {digits(ends[name][0])} s of"
                " training",
            )
            for name in chosen.ids
        ),
        context.frameworks([{"framework": frameworks[name]} for name in ends]),
        tuple((f"l{style}", tuple(points)) for style, points in others.items() if points),
    )
    rows = tuple(
        (
            labels[name],
            str(len(curves[name])),
            digits(ends[name][0]),
            f"{ends[name][1]:.2f}",
            f"{max(value for _, value in curves[name]):.2f}",
        )
        for name in ascending(order)
    )
    without, faint = len(curves) - len(ends), len(ends) - len(chosen.ids)
    notes = [f"{without} runs without a finished evaluation are not drawn."] if without else []
    if faint:
        notes.append(
            f"{faint} of {len(ends)} runs have a faint dot at their last evaluation; lines"
            " are the quickest of each framework in turn."
        )
    headings = (
        "run",
        "evaluations",
        "training time until the last, s",
        "last accuracy, %",
        "best accuracy, %",
    )
    return Figure((panel,), headings, rows, " ".join(notes))


def for_paper(frames: Frames) -> PaperFigure | Missing:
    """A line per entry: accuracy, %, after each epoch against the mean training time until then, s,
    evaluations excluded."""
    entries = entries_of(frames)
    points = {name: found for name in entries if (found := _means(frames, name))}
    if not points:
        return Missing("no evaluation was finished")
    order = {name: found[-1][0] for name, found in points.items()}
    labels = labels_of([entries[name] for name in points])
    curves = {
        name: Curve(labels[name], str(entries[name]["framework"]), points[name])
        for name in ascending(order)
    }
    middle = "lowest to highest value, with a mark at the median"
    lines, notes = lines_of(frames, curves, order, lambda some: some[len(some) // 2].points)
    about = (
        "Accuracy after each epoch against the sum of the times of the epochs, without evaluations;"
        " mean over runs, as far as all runs went."
    )
    panel = lines_panel(("training time, s", "accuracy, %"), lines, close, is_from_zero=False)
    notes = tuple(note.replace(middle, "that of the median") for note in notes)
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
    epochs = frames.select("epochs", "run_id", [run]).sort_values("epoch")
    times_s = epochs["end_to_end_s"].astype(float).cumsum(skipna=False)
    return [
        (float(time_s), PERCENT * float(value))
        for time_s, value in zip(times_s, epochs["eval_accuracy"], strict=True)
        if known(value) and known(time_s)
    ]


CHART = Chart(
    "accuracy",
    "Accuracy against training time",
    "One line per run, one point per evaluation; horizontal: sum of epoch times, without"
    " evaluations.",
    describe,
    frozenset({"board", "comparison", "figures", "study"}),
    position=30,
    min_rows=1,
)
