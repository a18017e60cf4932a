"""Time of an epoch by part, and the stall of first epochs: Figures 2a, 2b, 3a, 3b and 9a of the
Jetson study."""

from collections.abc import Callable, Mapping, Sequence

from reporter.data.frames import Frames
from reporter.data.values import entries_of, why_missing
from reporter.figures.entries import estimates, first, later, of_epochs
from reporter.figures.model import Estimate, Missing, PaperFigure
from reporter.papers.entries import (
    MAX_ROWS,
    Varied,
    flat_rows,
    rows_of_groups,
    rows_panel,
    varied,
)

PARTS = ("fetch stall", "compute", "overhead")
STALL = ("fetch_stall_s", "copy_s")
COLUMNS = (STALL, ("compute_s",))
"""Of all parts but the last, which is the rest of the epoch."""

LATER, FIRST = "epochs 2 to last", "epoch 1"
DECADE = 10.0
NEEDED = {
    "workers": "two numbers of workers",
    "storage_medium": "two storage media",
    "power_mode": "two power modes",
}
"""What runs differ in, by the property that a figure varies."""


def by(frames: Frames, varies: str) -> PaperFigure | Missing:
    """Parts of an epoch after the first, s, by a property of NEEDED."""
    return _stacked(frames, varies, later, NEEDED[varies])


def first_by_storage(frames: Frames) -> PaperFigure | Missing:
    """Parts of epoch 1, s, by storage medium, without data-loading processes."""
    alone = frames.of_entries(frames.entries[frames.entries["workers"] == 0])
    needed = f"{NEEDED['storage_medium']} and no loading worker"
    return _stacked(alone, "storage_medium", first, needed)


def first_stall(frames: Frames) -> PaperFigure | Missing:
    """Stall of epoch 1 and of later epochs, s, by data-loading processes; copy included."""
    at_first, at_last = of_epochs(frames, STALL, first), of_epochs(frames, STALL)
    ids = [name for name in entries_of(frames) if name in at_first and name in at_last]
    if not ids:
        return Missing("no run finished two epochs")
    rows, note = rows_of_groups(
        frames,
        varied(frames, ids, ("workers",), 1),
        lambda entry: (at_first[entry["entry_id"]], at_last[entry["entry_id"]]),
        ("workers",),
    )
    about = (
        "Time that training waits for mini-batches, host-to-device copy included, in epoch 1 (cold"
        " page cache if it was emptied) and later ones."
    )
    panel = rows_panel("stall, s per epoch", rows, (FIRST, LATER))
    error_bars = "± one standard deviation over runs"
    return PaperFigure((panel,), tuple(ids), about, error_bars, (note,) if note else ())


def time_to_target(frames: Frames) -> PaperFigure | Missing:
    """Time to target, s, a row per entry."""
    found = estimates(frames, "time_to_target_s")
    if not found:
        return Missing(f"time to target is unknown: {why_missing(frames, 'time_to_target_s')}")
    rows, note = flat_rows(frames, {name: (one,) for name, one in found.items()})
    about = (
        "Time from run_start to the evaluation that reaches the target accuracy, without what is"
        " not counted."
    )
    panel, error_bars = rows_panel("time to target, s", rows), "± one standard deviation over runs"
    return PaperFigure((panel,), tuple(found), about, error_bars, (note,) if note else ())


def _stacked(
    frames: Frames, varies: str, is_wanted: Callable[[int], bool], needed: str
) -> PaperFigure | Missing:
    parts = _parts(frames, is_wanted)
    groups = varied(frames, parts, (varies,))
    if not groups:
        return Missing(f"no training was run with {needed} and all else equal")
    when, axis = (
        (LATER, "time per epoch, s") if is_wanted is later else (FIRST, f"time of {FIRST}, s")
    )
    panels, notes = [], list[str]()
    for some in _of_one_scale(groups, parts):
        rows, note = rows_of_groups(
            frames, some, lambda entry: parts[entry["entry_id"]], (varies,), is_stacked=True
        )
        panels.append(rows_panel(axis, rows, PARTS, is_stacked=True))
        notes += [note] if note else []
    ids = tuple(entry["entry_id"] for group in groups for entry in group.entries)
    about = (
        f"Mean over {when}. Fetch stall includes the host-to-device copy; overhead is the rest of"
        " the epoch, exposed communication included."
    )
    error_bars = "± one standard deviation of the total, over runs"
    return PaperFigure(tuple(panels), ids, about, error_bars, tuple(dict.fromkeys(notes)))


def _parts(frames: Frames, is_wanted: Callable[[int], bool]) -> dict[str, tuple[Estimate, ...]]:
    """Each part's mean by entry; the error bar is that of the total and stands at the last part."""
    means = [of_epochs(frames, columns, is_wanted) for columns in COLUMNS]
    totals = of_epochs(frames, ("end_to_end_s",), is_wanted)
    found = {}
    for name, total in totals.items():
        if all(name in of_part for of_part in means):
            values = [max(of_part[name].value, 0.0) for of_part in means]
            rest = Estimate(max(total.value - sum(values), 0.0), total.low, total.high)
            found[name] = (*map(Estimate, values), rest)
    return found


def _of_one_scale(
    groups: Sequence[Varied], parts: Mapping[str, tuple[Estimate, ...]]
) -> list[list[Varied]]:
    """Groups whose totals lie within a decade share a panel: stacked bars cannot be drawn on a
    logarithmic axis."""
    total = {
        group.heading: max(
            sum(one.value for one in parts[entry["entry_id"]]) for entry in group.entries
        )
        for group in groups
    }
    panels: list[list[Varied]] = []
    for group in sorted(groups, key=lambda one: (-total[one.heading], one.heading)):
        if panels and (
            total[panels[-1][0].heading] <= DECADE * total[group.heading]
            or len(panels) == MAX_ROWS // 6
        ):
            panels[-1].append(group)
        else:
            panels.append([group])
    return [sorted(panel, key=lambda one: one.heading) for panel in panels]
