"""Accuracy on the new task and accuracy lost on the old one, against the time of the training."""

from reporter.data.frames import Frames
from reporter.data.frames import Row as Entry
from reporter.data.text import significant
from reporter.data.values import entries_of, values_of, why_missing
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Dot, Estimate, Missing, Plane, Plot
from reporter.figures.scales import UNITS, linear_scale_without_zero, scale_in_units

TIME, ACCURACY, LOST = "gross_time_s", "best_accuracy", "old_task_accuracy_lost"
PERCENT = 100.0
AXES = {ACCURACY: "accuracy on the new task, %", LOST: "accuracy lost on the old task, points"}


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """Two planes of a dot per entry, with the same times."""
    entries, times = entries_of(frames), values_of(frames, TIME)
    values = {
        figure: {name: PERCENT * value for name, value in values_of(frames, figure).items()}
        for figure in AXES
    }
    drawn = [name for name in entries if all(name in known for known in (times, *values.values()))]
    if not drawn:
        return Missing(why_missing(frames, LOST))
    x = scale_in_units([times[name] for name in drawn], "s")
    panels = tuple(
        Plane(
            f"{UNITS[x.unit]} from start to stop",
            axis,
            x,
            linear_scale_without_zero([values[figure][name] for name in drawn]),
            dots=tuple(
                _dot(entries[name], times[name], values[figure][name], axis, context)
                for name in drawn
            ),
            legend=context.frameworks([entries[name] for name in drawn]),
        )
        for figure, axis in AXES.items()
    )
    rows = tuple(
        (
            entries[name]["label"],
            *map(significant, (times[name], *(values[each][name] for each in AXES))),
        )
        for name in drawn
    )
    return Plot(panels, ("entry", "start to stop, s", *AXES.values()), rows)


def _dot(entry: Entry, time_s: float, value: float, axis: str, context: Context) -> Dot:
    label = str(entry["label"])
    return Dot(
        Estimate(time_s),
        Estimate(value),
        f"c{context.colour(entry['framework'])}",
        label,
        f"{label}: {significant(time_s)} s, {axis}: {significant(value)}",
        context.entry(entry["entry_id"]),
        label,
    )


def trained_parts_chart() -> Chart:
    """The chart of a study of parts to train: other runs have no old task."""
    return Chart(
        "adaptation",
        "Adaptation time, and accuracy gained and lost",
        "Means over runs. Above: highest accuracy on the new task. Below: accuracy on the old task"
        " before training minus accuracy after it.",
        describe,
    )
