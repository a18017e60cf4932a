"""Time against energy or power, a point per power mode: Figures 8, 11, 12 and 13 to 16 of the Jetson study."""

import string
from collections.abc import Callable, Mapping

from reporter.data.frames import Frames, Row, known
from reporter.data.machines import Machine, machines_of
from reporter.data.values import entries_of, why_missing
from reporter.papers.energy import ENERGY, kinds_of
from reporter.papers.entries import OVER_RUNS, estimates, framework_title, model_title, names_of
from reporter.papers.model import Dot, Estimate, Missing, PaperFigure, Panel, Scatter

TIME, POWER = "time_to_epoch_s", "mean_power_w"
MAX_KEYS = 14
MAX_FILLS = 4
MAX_STYLES = 8
KEYS = string.ascii_lowercase

Level = Callable[[Machine], float | None]


def time_energy(frames: Frames) -> PaperFigure | Missing:
    """Time, s, against energy, J, per epoch, with the Pareto front of each model or framework."""
    return _draw(frames, ENERGY, "energy per epoch, J")


def time_power(frames: Frames) -> PaperFigure | Missing:
    """Time per epoch, s, against mean power, W."""
    return _draw(frames, POWER, "mean power, W", has_front=False)


def by_cores(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the number of cores online."""
    return _draw(frames, ENERGY, "energy per epoch, J", ("cores", "", lambda machine: machine.cores))


def by_cpu_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the CPU clock."""
    return _draw(frames, ENERGY, "energy per epoch, J", ("CPU clock", " MHz", lambda machine: machine.cpu_mhz))


def by_gpu_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the GPU clock."""
    return _draw(frames, ENERGY, "energy per epoch, J", ("GPU clock", " MHz", lambda machine: machine.gpu_mhz))


def by_memory_clock(frames: Frames) -> PaperFigure | Missing:
    """Time against energy per epoch; the fill of a mark is the upper limit of the memory clock."""
    return _draw(frames, ENERGY, "energy per epoch, J", ("memory clock", " MHz", lambda machine: machine.memory_mhz))


def _draw(frames: Frames, figure: str, axis: str, level: tuple[str, str, Level] | None = None, has_front: bool = True) -> PaperFigure | Missing:
    values, times = estimates(frames, figure), estimates(frames, TIME)
    ids = [name for name in values if name in times and min(values[name].value, times[name].value) > 0]
    if not ids:
        return Missing(f"no entry has a known time and {axis.partition(',')[0]}: {why_missing(frames, figure)}")
    levels = _levels(frames, ids, level[2]) if level else {}
    if level is not None and len(set(levels.values())) < 2:
        return Missing(f"no two entries with a known {axis.partition(',')[0]} have different known values of the {level[0]}")
    ids = [name for name in ids if level is None or name in levels]
    panels = tuple((kind, _scatter(frames, names, (values, times), axis, levels, level, has_front)) for kind, names in
                   kinds_of(frames, figure, ids).items())  # fmt: skip
    front = " Stepped line: Pareto front, of the points that no other one beats in both." if has_front else ""
    about = f"Mean over epochs 2 to last; lower left is better.{front}"
    return PaperFigure(panels, tuple(ids), about, OVER_RUNS, (), figure)


def _levels(frames: Frames, ids: list[str], level: Level) -> dict[str, float]:
    """The level of each entry's machine, where all its runs agree."""
    machines, found = machines_of(frames), dict[str, set[float | None]]()
    for run, entry in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        found.setdefault(entry, set()).add(level(machines[run]))
    return {name: value for name in ids for value in found[name] if len(found[name]) == 1 and value is not None}


def _scatter(frames: Frames, ids: list[str], values: tuple[Mapping[str, Estimate], Mapping[str, Estimate]], axis: str, levels: Mapping[str, float],
             level: tuple[str, str, Level] | None, has_front: bool) -> Panel:  # fmt: skip
    entries = {name: entries_of(frames)[name] for name in ids}
    names = _styles(list(entries.values()))
    order = sorted(set(names.values()))
    keys = _keys(list(entries.values()))
    ranks = {value: index for index, value in enumerate(sorted(set(levels.values()), reverse=True)[:MAX_FILLS])}
    lowest = len(ranks) - 1
    dots = tuple(
        Dot(values[1][name], values[0][name], min(order.index(names[name]), MAX_STYLES - 1), keys.get(_mode(entries[name]), ""),
            ranks.get(levels[name], lowest) if name in levels else 0)
        for name in sorted(ids, key=lambda one: (values[1][one].value, one))
    )  # fmt: skip
    legend = tuple((index, name) for index, name in enumerate(order[:MAX_STYLES])) if len(order) > 1 else ()
    fills = tuple((index, _fill_text(value, level, lowest == index and len(set(levels.values())) > MAX_FILLS)) for value, index in ranks.items())
    meanings = tuple((key, mode) for mode, key in keys.items())
    return Scatter("time per epoch, s", axis, dots, legend, fills if level else (), meanings, has_front)


def _fill_text(value: float, level: tuple[str, str, Level] | None, is_last: bool) -> str:
    if level is None:
        return ""
    number = f"{value:.0f}{level[1]}{' and less' if is_last else ''}"
    return number if level[1] else f"{number} {level[0]}"


def _mode(entry: Row) -> str:
    return str(entry["power_mode"]) if known(entry["power_mode"]) else "unknown power mode"


def _keys(entries: list[Row]) -> dict[str, str]:
    """A letter for each power mode, if there are several and at most MAX_KEYS."""
    modes = sorted({_mode(entry) for entry in entries})
    return dict(zip(modes, KEYS, strict=False)) if 1 < len(modes) <= MAX_KEYS else {}


def _styles(entries: list[Row]) -> dict[str, str]:
    """What an entry's mark stands for: the model where there are several, else device and framework where they differ."""
    if len({entry["workload"] for entry in entries}) > 1:
        return {entry["entry_id"]: model_title(str(entry["workload"])) for entry in entries}
    names = names_of(entries, ("power_mode", *_LESS))
    return {name: text or framework_title(str(entries[0]["framework"])) for name, text in names.items()}


_LESS = (
    "framework_version", "organization", "round", "suite_version", "epoch_budget", "learning_rate", "availability", "storage_medium", "cpu_model",
    "threads", "workers", "batch_size",
)  # fmt: skip
"""Properties that a mark does not tell apart."""

