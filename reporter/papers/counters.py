"""Hardware counters by framework: Figures 2a to 2h of the Raspberry Pi study."""

from reporter.data.frames import Frames
from reporter.data.values import entries_of
from reporter.figures.counters import COUNTERS, values_of_runs, why
from reporter.figures.entries import mean_of
from reporter.figures.model import Missing, Panel, PaperFigure
from reporter.papers.entries import flat_rows, rows_panel


def bars(frames: Frames, *figures: str) -> PaperFigure | Missing:
    """A panel per counter with a bar per entry."""
    panels, notes, ids = list[Panel](), list[str](), list[str]()
    drawn = [counter for name in figures for counter in COUNTERS if counter.figure == name]
    for counter in drawn:
        values = values_of_runs(frames, counter)
        found = {name: (mean_of(values[name]),) for name in entries_of(frames) if name in values}
        if found:
            rows, note = flat_rows(frames, found)
            panels.append(rows_panel(counter.title, rows))
            notes += [note] if note else []
            ids += found
    if not panels:
        return Missing(f"no run has this counter: {why(frames, drawn)}")
    about = (
        "All threads and processes from run_start to run_stop, evaluations included; counts are per"
        " finished epoch."
    )
    error_bars = "± one standard deviation over runs"
    return PaperFigure(tuple(panels), tuple(ids), about, error_bars, tuple(dict.fromkeys(notes)))
