"""Accuracy against training time."""

from reporter.data.frames import Frames, known, rows_of
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import UNITS, Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import close, in_units

MAX_RUNS = 60


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """One line per run: accuracy (%) after each epoch against the cumulated epoch time (s),
    evaluations excluded."""
    entries = entries_of(frames)
    all_curves = {}
    for run in rows_of(frames.runs.sort_values("run_id")):
        epochs = frames.select("epochs", "run_id", [run["run_id"]]).sort_values("epoch")
        times = epochs["end_to_end_s"].astype(float).cumsum(skipna=False)
        points = [
            (float(t), 100 * float(value))
            for t, value in zip(times, epochs["eval_accuracy"], strict=True)
            if known(value) and known(t)
        ]
        if points:
            all_curves[run["run_id"]] = (run, points)
    if not all_curves:
        return NotDrawn("no evaluation was finished")
    ends = {name: points[-1][0] for name, (_, points) in all_curves.items()}
    chosen = choose(ends, lambda name: str(all_curves[name][0]["framework"]), MAX_RUNS)
    curves = {name: all_curves[name] for name in chosen.ids}
    every = [point for _, points in all_curves.values() for point in points]
    times_s = [t for t, _ in every]
    x, y = in_units(times_s, "s", *ACROSS), close([value for _, value in every], *UP)
    chart = plane(
        CHART.title,
        CHART.about,
        x,
        y,
        (f"training time in {UNITS[x.unit]} (without evaluations)", "accuracy, %"),
    )
    frameworks_legend(
        chart.canvas, [entries[run["entry_id"]] for run, _ in all_curves.values()], context
    )
    rows = []
    others: dict[int, list[tuple[float, float]]] = {}
    for run, points in (all_curves[name] for group in chosen.groups for name in group.ids):
        others.setdefault(context.colour(run["framework"]), []).append(chart.at(*points[-1]))
    for style, places in sorted(others.items()):
        chart.canvas.dots(places, f"l{style}")
    for run_id, (run, points) in curves.items():
        style, label = (
            context.colour(run["framework"]),
            f"{entries[run['entry_id']]['label']}, seed {run['seed']}",
        )
        placed = [chart.at(*point) for point in points]
        chart.canvas.path(placed, f"l{style} curve", tip=f"{label} ({run_id})")
        chart.canvas.dot(
            *placed[-1],
            f"c{style}",
            f"{label}: {points[-1][1]:.2f} % after {digits(points[-1][0])} s of training",
            3.5,
        )
    for run, points in (
        all_curves[name] for name in sorted(ends, key=lambda name: (ends[name], name))
    ):
        label = f"{entries[run['entry_id']]['label']}, seed {run['seed']}"
        rows.append(
            (
                label,
                str(len(points)),
                digits(points[-1][0]),
                f"{points[-1][1]:.2f}",
                f"{max(value for _, value in points):.2f}",
            )
        )
    without, faint = len(frames.runs) - len(all_curves), len(all_curves) - len(curves)
    notes = [f"{without} runs without a finished evaluation are not drawn."] if without > 0 else []
    if faint:
        notes.append(
            f"{faint} of {len(all_curves)} runs have a faint dot at their last evaluation; lines"
            " are the quickest of each framework in turn."
        )
    return Drawing(
        chart.canvas,
        (
            "run",
            "evaluations",
            "training time until the last, s",
            "last accuracy, %",
            "best accuracy, %",
        ),
        tuple(rows),
        " ".join(notes),
    )


CHART = Chart(
    "accuracy",
    "Accuracy against training time",
    "One line per run, one point per evaluation; horizontal: sum of epoch times, without"
    " evaluations.",
    frozenset({"board", "comparison", "figures", "study"}),
    draw,
    position=30,
    min_rows=1,
)
