"""Accuracy against training time."""

from reporter.data.frames import Frames, known, rows_of
from reporter.data.selection import ascending, choose
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Figure, Missing, Plane, Point, dot, through
from reporter.figures.scales import UNITS, close, in_units

MAX_RUNS = 60


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """One line per run: accuracy (%) after each epoch against the cumulated epoch time (s),
    evaluations excluded."""
    entries = entries_of(frames)
    curves, labels, styles = dict[str, list[Point]](), dict[str, str](), dict[str, int]()
    for run in rows_of(frames.runs):
        name, entry = run["run_id"], entries[run["entry_id"]]
        epochs = frames.select("epochs", "run_id", [name]).sort_values("epoch")
        times = epochs["end_to_end_s"].astype(float).cumsum(skipna=False)
        curves[name] = [
            (float(t), 100 * float(value))
            for t, value in zip(times, epochs["eval_accuracy"], strict=True)
            if known(value) and known(t)
        ]
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
