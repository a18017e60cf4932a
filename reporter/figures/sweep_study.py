"""Charts of a sweep: throughput by value, or scaling charts if it varies nodes."""

from collections.abc import Callable
from functools import partial

from reporter.data.frames import Frames
from reporter.data.text import digits
from reporter.figures import sweep_scaling
from reporter.figures.chart import (
    LEFT,
    RIGHT,
    WIDTH,
    Chart,
    Context,
    Drawing,
    NotDrawn,
    StudyCharts,
    rows_chart,
)
from reporter.figures.svg import linear
from suite.metrics.study import Study, read_study

ABOUT = (
    "Samples per second, mean over the runs of a value; line: ± one standard deviation. Warm-up"
    " steps are excluded."
)


def charts(study: Study) -> tuple[Chart, ...]:
    """The charts of one sweep."""
    if study.plan.scaling is None:
        return (
            _chart(
                1,
                "sweep-throughput",
                f"Throughput over {_varied(study)}",
                ABOUT,
                partial(draw, study),
            ),
        )
    scaling = study.plan.scaling.value
    return tuple(
        _chart(
            position,
            quantity.name,
            f"{quantity.title} ({scaling} scaling)",
            quantity.about,
            partial(sweep_scaling.draw, study, quantity),
        )
        for position, quantity in enumerate(sweep_scaling.QUANTITIES, start=1)
    )


def _chart(
    position: int,
    name: str,
    title: str,
    about: str,
    draw_it: Callable[[Context], Drawing | NotDrawn],
) -> Chart:
    def on_page(_: Frames, context: Context) -> Drawing | NotDrawn:
        return draw_it(context)

    return Chart(name, title, about, frozenset({"sweep"}), on_page, position)


def draw(study: Study, context: Context) -> Drawing | NotDrawn:
    """A bar per value, samples per second, in the study's order."""
    found = [
        (point, value, value.value)
        for point in study.points
        if (value := point.figures.samples_per_s).value is not None
    ]
    if not found:
        return NotDrawn("no run has a known throughput")
    scale = linear(
        [number + (value.spread or 0.0) for _, value, number in found], LEFT, WIDTH - RIGHT
    )
    chart = rows_chart(
        f"Throughput over {_varied(study)}", ABOUT, len(found), scale, "samples per second"
    )
    rows = []
    for index, (point, value, number) in enumerate(found):
        y, spread = chart.y(index), value.spread or 0.0
        label = digits(number) + (f" ± {digits(spread, 2)}" if spread else "")
        chart.name(index, f"{_varied(study)} {point.value}", sweep_scaling.evidence(point, context))
        chart.canvas.rect(
            scale.at(0),
            y - 9,
            scale.at(number) - scale.at(0),
            18,
            "p2",
            f"{point.value}: {label} samples/s",
        )
        chart.canvas.line(
            scale.at(max(0.0, number - spread)), y, scale.at(number + spread), y, "join"
        )
        chart.canvas.text(scale.at(number + spread) + 8, y + 4.5, label, "tick")
        rows.append(
            (
                point.value,
                digits(number),
                digits(spread, 2) if spread else "unknown",
                str(value.count),
            )
        )
    return Drawing(
        chart.canvas,
        (_varied(study), "samples per second", "standard deviation", "runs"),
        tuple(rows),
    )


def _varied(study: Study) -> str:
    return study.plan.varied


STUDY_CHART = StudyCharts(
    "sweep", lambda study: charts(read_study(study.record.parent)), with_entries=True
)
