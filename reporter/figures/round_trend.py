"""The best expected time of each round, one line per workload: what newer software made of a
device."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import Frames, Row, grouped, is_known
from reporter.data.quantities import quantity
from reporter.data.values import entries_of, figures_of
from reporter.data.words import day_of, workload_title
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Estimate, Line, Missing, Plane, Plot
from reporter.figures.scales import (
    UNITS,
    fitting_closely,
    linear_scale_without_zero,
    scale_in_units,
)

DAY_MS = 86_400_000
HEADINGS = ("workload", "round", "last run", "expected time", "95 % interval", "entry")


@dataclass(frozen=True)
class _Best:
    """The fastest entry of a round."""

    title: str
    round: str
    at_ms: float
    time: Estimate
    label: str


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """A line through the best entry of each round, by the day of its last run."""
    found = grouped(_best(frames), lambda one: one.title)
    several = {
        title: sorted(group, key=lambda one: (one.at_ms, one.round))
        for title, group in found.items()
        if len(group) > 1
    }
    if not several:
        return Missing("no workload has expected times in two rounds")
    every = [one for group in several.values() for one in group]
    first_ms = min(one.at_ms for one in every)
    days = [_days(one, first_ms) for one in every]
    y = scale_in_units([end for one in every for end in one.time.ends], "s", fitting_closely)
    lines = (
        Line(
            tuple((_days(one, first_ms), one.time) for one in group),
            f"l{place % 8} curve",
            title,
            f"{title}: {', '.join(one.round for one in group)}",
        )
        for place, (title, group) in enumerate(several.items())
    )
    plane = Plane(
        f"days since {day_of(first_ms)}",
        f"best expected time, {UNITS[y.unit]}",
        linear_scale_without_zero(days),
        y,
        tuple(lines),
    )
    return Plot((plane,), HEADINGS, tuple(map(_cells, every)))


def _best(frames: Frames) -> Iterator[_Best]:
    scores = figures_of(frames, SCORE_S)
    last_ms: dict[str, float] = {}
    for name, started in zip(frames.runs["entry_id"], frames.runs["started_time_ms"], strict=True):
        last_ms[name] = max(last_ms.get(name, 0.0), float(started))
    scored = [entry for name, entry in entries_of(frames).items() if name in scores]
    for (title, judged_by), group in sorted(grouped(scored, _key).items()):
        values = {entry["entry_id"]: float(scores[entry["entry_id"]]["value"]) for entry in group}
        best = min(group, key=lambda entry: (values[entry["entry_id"]], entry["entry_id"]))
        score = scores[best["entry_id"]]
        ends = [score[end] for end in ("interval_low", "interval_high")]
        time = Estimate(
            float(score["value"]), *(map(float, ends) if all(map(is_known, ends)) else ())
        )
        yield _Best(title, judged_by, last_ms[best["entry_id"]], time, str(best["label"]))


def _key(entry: Row) -> tuple[str, str]:
    title = workload_title(str(entry["workload"]), str(entry["round"]))
    shared = (entry["division"], entry["data"], entry["precision"])
    return f"{title}, {', '.join(map(str, shared))}", str(entry["round"])


def _days(one: _Best, first_ms: float) -> float:
    return (one.at_ms - first_ms) / DAY_MS


def _cells(one: _Best) -> tuple[str, ...]:
    ends = (one.time.low, one.time.high) if one.time.low and one.time.high else ()
    value, around = quantity(one.time.value, "s", ends)
    return one.title, one.round, day_of(one.at_ms), value, around, one.label


CHART = Chart(
    "rounds",
    "Best expected time by round",
    "One line per workload. One point per round: the round's best entry, at the date of that"
    " entry's last run. An expected time assumes the number of epochs in its round's reference"
    " point.",
    describe,
    frozenset({"device"}),
    position=5,
)
