"""Hardware counters by framework: Figures 2a to 2h of the Raspberry Pi study."""

from reporter.data.frames import Frames
from reporter.data.values import entries_of
from reporter.figures.counters import COUNTERS, Counter, values_of_runs, why
from reporter.papers.entries import flat_rows, mean_of
from reporter.papers.model import BarGroup, Bars, Missing, Panel, PaperFigure

BY_FIGURE = {counter.figure: counter for counter in COUNTERS}


def instructions(frames: Frames) -> PaperFigure | Missing:
    """Instructions, 10⁹ per epoch."""
    return _draw(frames, "instructions")


def instruction_rate(frames: Frames) -> PaperFigure | Missing:
    """Instructions, 10⁹ per CPU second."""
    return _draw(frames, "instructions_per_cpu_s")


def accesses(frames: Frames) -> PaperFigure | Missing:
    """L1 data accesses, 10⁹ per epoch."""
    return _draw(frames, "l1d_access")


def ipc(frames: Frames) -> PaperFigure | Missing:
    """Instructions per cycle."""
    return _draw(frames, "ipc")


def misses(frames: Frames) -> PaperFigure | Missing:
    """L1 data misses, 10⁹ per epoch."""
    return _draw(frames, "l1d_refill")


def miss_ratio(frames: Frames) -> PaperFigure | Missing:
    """L1 data miss ratio, %."""
    return _draw(frames, "l1d_miss_ratio")


def branches(frames: Frames) -> PaperFigure | Missing:
    """Branches, 10⁹ per epoch, and mispredictions, 10⁶ per epoch, in panels of their own."""
    return _draw(frames, "branches", "branch_mispredicts")


def mispredict_ratio(frames: Frames) -> PaperFigure | Missing:
    """Branch mispredict ratio, %."""
    return _draw(frames, "branch_mispredict_ratio")


def _draw(frames: Frames, *figures: str) -> PaperFigure | Missing:
    panels, notes, ids = list[Panel](), list[str](), list[str]()
    for counter in map(BY_FIGURE.__getitem__, figures):
        values = values_of_runs(frames, counter)
        found = {name: (mean_of(values[name]),) for name in entries_of(frames) if values.get(name)}
        if found:
            bars, note = flat_rows(frames, found)
            panels.append(Bars(_axis(counter), (BarGroup("", bars),)))
            notes += [note] if note else []
            ids += [name for name in found if name not in ids]
    if not panels:
        return Missing(
            f"no run has this counter: {why(frames, [BY_FIGURE[name] for name in figures])}"
        )
    about = (
        "All threads and processes from run_start to run_stop, evaluations included; counts are per"
        " finished epoch."
    )
    return PaperFigure(
        tuple(panels),
        tuple(ids),
        about,
        "± one standard deviation over runs",
        tuple(dict.fromkeys(notes)),
    )


def _axis(counter: Counter) -> str:
    return counter.title
