"""Frameworks along several axes, and training against LINPACK: Figure 1d and the text of the
Raspberry Pi study."""

from reporter.data.frames import Frames
from reporter.data.framework_names import framework_name
from reporter.data.selection import choose
from reporter.data.values import entries_of
from reporter.figures.chart import Context
from reporter.figures.linpack import lines_of
from reporter.figures.radar import AXES, MIN_AXES, series, shares_of
from reporter.papers.entries import MAX_ROWS, names_of, styles_of
from reporter.papers.model import Bar, BarGroup, Bars, Estimate, Missing, PaperFigure, Radar

LINPACK_STYLE = 7


def radar(frames: Frames) -> PaperFigure | Missing:
    """The fastest entry of each framework on axes from 0 to the best drawn value."""
    ids = series(frames)
    if len(ids) < 2:
        return Missing("fewer than two frameworks finished two epochs")
    entries, styles = entries_of(frames), styles_of(frames)
    axes, shares = shares_of(frames, ids)
    if len(axes) < MIN_AXES:
        return Missing(f"fewer than {MIN_AXES} figures are known for all of the frameworks")
    names = tuple(f"{axis.title}\u00a0{'↑' if axis.better > 0 else '↓'}" for axis in axes)
    polygons = tuple(
        (
            framework_name(str(entries[name]["framework"])),
            styles[str(entries[name]["framework"])],
            tuple(shares[name]),
        )
        for name in ids
    )
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
    return PaperFigure((Radar(names, polygons),), tuple(ids), about, "", note)


def linpack(frames: Frames) -> PaperFigure | Missing:
    """10⁹ floating-point operations per second of LINPACK and of training, by machine."""
    lines = lines_of(frames, Context(""))
    if not lines:
        return Missing("there is no LINPACK record of these machines")
    entries, styles = entries_of(frames), styles_of(frames)
    trained = {line.entry: line for line in lines if line.entry}
    chosen = choose(
        {name: -line.gflops for name, line in trained.items()},
        lambda name: str(entries[name]["framework"]),
        MAX_ROWS,
    )
    bars = [
        Bar(line.name, (Estimate(line.gflops),), LINPACK_STYLE) for line in lines if not line.entry
    ]
    names = names_of([entries[name] for name in trained])
    for name in chosen.ids:
        framework = str(entries[name]["framework"])
        bars.append(
            Bar(
                names[name] or framework_name(framework),
                (Estimate(trained[name].gflops),),
                styles[framework],
                f"{trained[name].percent} %",
            )
        )
    for group in chosen.groups:
        values = sorted(trained[name].gflops for name in group.ids)
        middle = Estimate(values[len(values) // 2], values[0], values[-1])
        bars.append(
            Bar(group.label, (middle,), styles.get(group.name, LINPACK_STYLE), is_group=True)
        )
    about = (
        "A training sample counts as 3 × 2 × forward multiply-adds. Percentage: share of the"
        " LINPACK rate of the same machine."
    )
    notes = (chosen.note,) if chosen.note else ()
    return PaperFigure(
        (Bars("10⁹ operations per second", (BarGroup("", tuple(bars)),)),),
        tuple(trained),
        about,
        "",
        notes,
    )
