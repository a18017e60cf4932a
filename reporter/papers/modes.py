"""Time against energy or power, a point per power mode: Figures 8, 11, 12 and 13 to 16 of the
Jetson study."""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reporter.data.frames import Frames, known
from reporter.data.frames import Row as Entry
from reporter.data.machines import machines_of
from reporter.data.values import entries_of, why_missing
from reporter.figures.entries import estimates
from reporter.figures.model import (
    Dot,
    Estimate,
    Keys,
    Line,
    Missing,
    Named,
    Panel,
    PaperFigure,
    Plane,
    through,
)
from reporter.figures.scales import fitting_closely
from reporter.figures.time_energy import pareto_front, staircase
from reporter.papers.energy import ENERGY, kinds_of, with_instrument
from reporter.papers.entries import OVER_RUNS, labels_of, model_title

TIME = "time_to_epoch_s"
AXES = {ENERGY: "energy per epoch, J", "mean_power_w": "mean power, W"}
MAX_KEYS = 14
MAX_FILLS = 4
MAX_STYLES = 8
KEYS = string.ascii_lowercase


@dataclass(frozen=True)
class Highlight:
    """A property of the machine that the fill of marks shows: its name, its unit with a space
    before it (empty for a count), and the machine's field that has it."""

    name: str
    unit: str
    field: str


HIGHLIGHTS = {
    "cores": Highlight("cores", "", "cores"),
    "cpu": Highlight("CPU clock", " MHz", "cpu_mhz"),
    "gpu": Highlight("GPU clock", " MHz", "gpu_mhz"),
    "memory": Highlight("memory clock", " MHz", "memory_mhz"),
}
"""Numbers of cores online, and upper limits of clocks."""


@dataclass(frozen=True)
class Values:
    """Time per epoch and the figure against it, by entry id, and the levels of a highlighted
    property."""

    times: Mapping[str, Estimate]
    figures: Mapping[str, Estimate]
    levels: Mapping[str, float]


def against_time(frames: Frames, figure: str, highlighted: str = "") -> PaperFigure | Missing:
    """Time per epoch, s, against a figure of AXES; an energy has the Pareto front of each model or
    framework. The fill of a mark is a property of HIGHLIGHTS."""
    axis, highlight = AXES[figure], HIGHLIGHTS.get(highlighted)
    found, times = estimates(frames, figure), estimates(frames, TIME)
    ids = [
        name for name in found if name in times and min(found[name].value, times[name].value) > 0
    ]
    if not ids:
        return Missing(
            f"no entry has a known time and {axis.partition(',')[0]}: {why_missing(frames, figure)}"
        )
    levels = _levels(frames, ids, highlight) if highlight else {}
    if highlight is not None and len(set(levels.values())) < 2:
        return Missing(
            f"no two entries with a known {axis.partition(',')[0]} have different known values of"
            f" the {highlight.name}"
        )
    ids = [name for name in ids if highlight is None or name in levels]
    entries = entries_of(frames)
    values, keys = Values(times, found, levels), _keys([entries[name] for name in ids])
    fills = _fills(levels, highlight) if highlight else ()
    panels: list[Panel] = []
    for kind, names in kinds_of(frames, figure, ids).items():
        panel = _plane([entries[name] for name in names], values, keys, figure == ENERGY)
        panels.append(
            replace(panel, y_axis=with_instrument(axis, kind), legend=(*panel.legend, *fills))
        )
    if keys:
        panels.append(
            Keys(tuple((key, mode.replace(" up to ", " ")) for mode, key in keys.items()))
        )
    front = (
        " Stepped line: Pareto front, of the points that no other one beats in both."
        if figure == ENERGY
        else ""
    )
    about = f"Mean over epochs 2 to last; lower left is better.{front}"
    return PaperFigure(tuple(panels), tuple(ids), about, OVER_RUNS, sensor_of=figure)


def _levels(frames: Frames, ids: list[str], highlight: Highlight) -> dict[str, float]:
    """The level of each entry's machine, where all its runs agree."""
    machines, found = machines_of(frames), dict[str, set[float | None]]()
    for run, entry in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        found.setdefault(entry, set()).add(getattr(machines[run], highlight.field))
    return {
        name: value
        for name in ids
        for value in found[name]
        if len(found[name]) == 1 and value is not None
    }


def _plane(
    entries: list[Entry], values: Values, keys: Mapping[str, str], has_fronts: bool
) -> Plane:
    """A dot per entry, and the front of each style."""
    names = _styles(entries)
    order = sorted(set(names.values()))
    last = MAX_STYLES - 1 if len(order) > MAX_STYLES else len(order) - 1
    others = order[last] if last == len(order) - 1 else f"{len(order) - last} others"
    levels = sorted(set(values.levels.values()), reverse=True)
    dots = []
    for entry in sorted(
        entries, key=lambda one: (values.times[one["entry_id"]].value, one["entry_id"])
    ):
        name, style = entry["entry_id"], min(order.index(names[entry["entry_id"]]), last)
        fill = min(levels.index(values.levels[name]), MAX_FILLS - 1) if levels else 0
        key = keys.get(str(entry["power_mode"]), "")
        dots.append(Dot(values.times[name], values.figures[name], f"c{style} f{fill}", key))
    named = [Named(f"c{style}", name, True) for style, name in enumerate([*order[:last], others])]
    x, y = (
        [end for one in ends for end in one.ends]
        for ends in zip(*((dot.x, dot.y) for dot in dots), strict=True)
    )
    return Plane(
        "time per epoch, s",
        "",
        fitting_closely(x),
        fitting_closely(y),
        tuple(_fronts(dots)) if has_fronts else (),
        tuple(dots),
        tuple(named) if len(order) > 1 else (),
    )


def _fronts(dots: Sequence[Dot]) -> Iterator[Line]:
    """The Pareto front of each style as steps, within what was measured."""
    for style in sorted({dot.style[1] for dot in dots}):
        points = {
            str(index): (dot.x.value, dot.y.value)
            for index, dot in enumerate(dots)
            if dot.style[1] == style
        }
        front = [points[name] for name in pareto_front(points)]
        if len(front) > 1:
            yield through(staircase(front), f"l{style} front")


def _fills(levels: Mapping[str, float], highlight: Highlight) -> tuple[Named, ...]:
    """The names of the fills, the highest level first; the last one stands for all lower levels,
    too."""
    found, ordered = [], sorted(set(levels.values()), reverse=True)
    for place, value in enumerate(ordered[:MAX_FILLS]):
        lower = " and less" if place == MAX_FILLS - 1 and len(ordered) > MAX_FILLS else ""
        name = f"{value:.0f}{highlight.unit or f' {highlight.name}'}{lower}"
        found.append(Named(f"c6 f{place} round", name, True))
    return tuple(found)


def _keys(entries: list[Entry]) -> dict[str, str]:
    """A letter for each known power mode, if there are several and at most MAX_KEYS."""
    modes = sorted({str(entry["power_mode"]) for entry in entries if known(entry["power_mode"])})
    return dict(zip(modes, KEYS, strict=False)) if 1 < len(modes) <= MAX_KEYS else {}


def _styles(entries: list[Entry]) -> dict[str, str]:
    """What an entry's mark stands for: the model where there are several, else device and framework
    where they differ."""
    if len({entry["workload"] for entry in entries}) > 1:
        return {entry["entry_id"]: model_title(str(entry["workload"])) for entry in entries}
    return labels_of(entries, ("power_mode", *_LESS))


_LESS = (
    "framework_version",
    "organization",
    "round",
    "suite_version",
    "epoch_budget",
    "learning_rate",
    "availability",
    "storage_medium",
    "cpu_model",
    "threads",
    "workers",
    "batch_size",
)
"""Properties that a mark does not tell apart."""
