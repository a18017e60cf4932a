"""Time against energy or power, a point per power mode: Figures 8, 11, 12 and 13 to 16 of the
Jetson study."""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reporter.data.frames import Frames, Row, known
from reporter.data.framework_names import framework_name
from reporter.data.machines import Machine, machines_of
from reporter.data.values import entries_of, why_missing
from reporter.papers.energy import ENERGY, kinds_of, with_instrument
from reporter.papers.entries import OVER_RUNS, estimates, model_title, names_of
from reporter.papers.model import Dot, Estimate, Keys, Missing, Panel, PaperFigure, Scatter

TIME, POWER = "time_to_epoch_s", "mean_power_w"
ENERGY_AXIS = "energy per epoch, J"
MAX_KEYS = 14
MAX_FILLS = 4
MAX_STYLES = 8
KEYS = string.ascii_lowercase


@dataclass(frozen=True)
class Highlight:
    """A property of the machine that the fill of marks shows: its name, its unit with a space
    before it (empty for a count), and where it is read."""

    name: str
    unit: str
    level_of: Callable[[Machine], float | None]


@dataclass(frozen=True)
class Values:
    """Time per epoch and the figure against it, by entry id, and the levels of a highlighted
    property."""

    times: Mapping[str, Estimate]
    figures: Mapping[str, Estimate]
    levels: Mapping[str, float]


def time_energy(frames: Frames) -> PaperFigure | Missing:
    """Time, s, against energy, J, per epoch, with the Pareto front of each model or framework."""
    return _draw(frames, ENERGY, ENERGY_AXIS)


def time_power(frames: Frames) -> PaperFigure | Missing:
    """Time per epoch, s, against mean power, W."""
    return _draw(frames, POWER, "mean power, W")


def by_cores(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the number of cores online."""
    return _draw(frames, ENERGY, ENERGY_AXIS, Highlight("cores", "", lambda machine: machine.cores))


def by_cpu_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the CPU clock."""
    return _draw(
        frames, ENERGY, ENERGY_AXIS, Highlight("CPU clock", " MHz", lambda machine: machine.cpu_mhz)
    )


def by_gpu_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the GPU clock."""
    return _draw(
        frames, ENERGY, ENERGY_AXIS, Highlight("GPU clock", " MHz", lambda machine: machine.gpu_mhz)
    )


def by_memory_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the memory clock."""
    return _draw(
        frames,
        ENERGY,
        ENERGY_AXIS,
        Highlight("memory clock", " MHz", lambda machine: machine.memory_mhz),
    )


def _draw(
    frames: Frames, figure: str, axis: str, highlight: Highlight | None = None
) -> PaperFigure | Missing:
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
    values, keys = Values(times, found, levels), _keys([entries_of(frames)[name] for name in ids])
    panels: list[Panel] = [
        _scatter(
            [entries_of(frames)[name] for name in names],
            values,
            with_instrument(axis, kind),
            highlight,
            keys,
        )
        for kind, names in kinds_of(frames, figure, ids).items()
    ]
    if keys:
        panels.append(
            Keys(tuple((key, mode.replace(" up to ", " ")) for mode, key in keys.items()))
        )
    front = (
        " Stepped line: Pareto front, of the points that no other one beats in both."
        if figure == ENERGY
        else ""
    )
    return PaperFigure(
        tuple(panels),
        tuple(ids),
        f"Mean over epochs 2 to last; lower left is better.{front}",
        OVER_RUNS,
        (),
        figure,
    )


def _levels(frames: Frames, ids: list[str], highlight: Highlight) -> dict[str, float]:
    """The level of each entry's machine, where all its runs agree."""
    machines, found = machines_of(frames), dict[str, set[float | None]]()
    for run, entry in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        found.setdefault(entry, set()).add(highlight.level_of(machines[run]))
    return {
        name: value
        for name in ids
        for value in found[name]
        if len(found[name]) == 1 and value is not None
    }


def _scatter(
    entries: list[Row],
    values: Values,
    axis: str,
    highlight: Highlight | None,
    keys: Mapping[str, str],
) -> Panel:
    names = _styles(entries)
    order = sorted(set(names.values()))
    last = MAX_STYLES - 1 if len(order) > MAX_STYLES else len(order) - 1
    others = order[last] if last == len(order) - 1 else f"{len(order) - last} others"
    legend = [*enumerate(order[:last]), (last, others)]
    levels = sorted(set(values.levels.values()), reverse=True)
    fills = _fills(levels, highlight) if highlight else ()
    dots = []
    for entry in sorted(
        entries, key=lambda one: (values.times[one["entry_id"]].value, one["entry_id"])
    ):
        name = entry["entry_id"]
        fill = min(levels.index(values.levels[name]), MAX_FILLS - 1) if name in values.levels else 0
        key = keys.get(str(entry["power_mode"]), "")
        dots.append(
            Dot(
                values.times[name],
                values.figures[name],
                min(order.index(names[name]), last),
                key,
                fill,
            )
        )
    return Scatter(
        "time per epoch, s",
        axis,
        tuple(dots),
        tuple(legend) if len(order) > 1 else (),
        fills,
        axis.startswith(ENERGY_AXIS),
    )


def _fills(levels: list[float], highlight: Highlight) -> tuple[tuple[int, str], ...]:
    """The names of the fills, the highest level first; the last one stands for all lower levels,
    too."""
    found = []
    for place, value in enumerate(levels[:MAX_FILLS]):
        lower = " and less" if place == MAX_FILLS - 1 and len(levels) > MAX_FILLS else ""
        found.append((place, f"{value:.0f}{highlight.unit or f' {highlight.name}'}{lower}"))
    return tuple(found)


def _keys(entries: list[Row]) -> dict[str, str]:
    """A letter for each known power mode, if there are several and at most MAX_KEYS."""
    modes = sorted({str(entry["power_mode"]) for entry in entries if known(entry["power_mode"])})
    return dict(zip(modes, KEYS, strict=False)) if 1 < len(modes) <= MAX_KEYS else {}


def _styles(entries: list[Row]) -> dict[str, str]:
    """What an entry's mark stands for: the model where there are several, else device and framework
    where they differ."""
    if len({entry["workload"] for entry in entries}) > 1:
        return {entry["entry_id"]: model_title(entry) for entry in entries}
    names = names_of(entries, ("power_mode", *_LESS))
    return {
        name: text or framework_name(str(entries[0]["framework"])) for name, text in names.items()
    }


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
