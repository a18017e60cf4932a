"""Frameworks along several axes, and training against LINPACK: Figure 1d and the text of the
Raspberry Pi study."""

from reporter.data.frames import Frames
from reporter.data.framework_names import framework_name
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of
from reporter.figures.chart import Context
from reporter.figures.linpack import lines_of
from reporter.figures.model import Estimate, Missing, Named, PaperFigure, Polygon, Radar, Row
from reporter.figures.radar import AXES, MIN_AXES, series, shares_of
from reporter.papers.entries import MAX_ROWS, context_of, labels_of, rows_panel

LINPACK_STYLE = "c7"


def radar(frames: Frames) -> PaperFigure | Missing:
    """The fastest entry of each framework on axes from 0 to the best drawn value."""
    ids = series(frames)
    if len(ids) < 2:
        return Missing("fewer than two frameworks finished two epochs")
    entries, context = entries_of(frames), context_of(frames)
    axes, shares = shares_of(frames, ids)
    if len(axes) < MIN_AXES:
        return Missing(f"fewer than {MIN_AXES} figures are known for all of the frameworks")
    names = tuple(f"{axis.title}\u00a0{'↑' if axis.better > 0 else '↓'}" for axis in axes)
    polygons = tuple(
        Polygon(
            framework_name(str(entries[name]["framework"])),
            context.colour(entries[name]["framework"]),
            tuple(shares[name]),
            ("",) * len(axes),
        )
        for name in ids
    )
    legend = tuple(Named(f"c{one.style}", one.label, is_mark=True) for one in polygons)
    left_out = [axis.title for axis in AXES if axis not in axes]
    note = (
        (f"No axis, because unknown or not comparable for some: {', '.join(left_out)}.",)
        if left_out
        else ()
    )
    about = (
        "The fastest entry of each framework. On each axis, value over the best drawn one, or the"
        " best over the value where less is better. ↑: more is better, ↓: less is better. Areas"
        " have no meaning."
    )
    return PaperFigure((Radar(names, polygons, legend),), tuple(ids), about, "", note)


def linpack(frames: Frames) -> PaperFigure | Missing:
    """10⁹ floating-point operations per second of LINPACK and of training, by machine."""
    lines = lines_of(frames, Context(""))
    if not lines:
        return Missing("there is no LINPACK record of these machines")
    entries, context = entries_of(frames), context_of(frames)
    trained = {line.entry: line for line in lines if line.entry}
    chosen = choose(
        {name: -line.gflops for name, line in trained.items()},
        lambda name: str(entries[name]["framework"]),
        MAX_ROWS,
    )
    rows = [
        Row(line.name, (Estimate(line.gflops),), LINPACK_STYLE) for line in lines if not line.entry
    ]
    labels = labels_of([entries[name] for name in trained])
    for name in chosen.ids:
        line, style = trained[name], f"c{context.colour(entries[name]['framework'])}"
        text = f"{digits(line.gflops)} ({line.percent} %)"
        rows.append(Row(labels[name], (Estimate(line.gflops),), style, texts=(text,)))
    for group in chosen.groups:
        values = sorted(trained[name].gflops for name in group.ids)
        middle = Estimate(values[len(values) // 2], values[0], values[-1])
        rows.append(Row(group.label, (middle,), f"c{context.colour(group.name)}", is_group=True))
    about = (
        "A training sample counts as 3 × 2 × forward multiply-adds. Percentage: share of the"
        " LINPACK rate of the same machine."
    )
    notes = (chosen.note,) if chosen.note else ()
    panel = rows_panel("10⁹ operations per second", rows)
    return PaperFigure((panel,), tuple(trained), about, "", notes)
