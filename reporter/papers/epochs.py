"""Time of an epoch by part, and the stall of first epochs: Figures 2a, 2b, 3a, 3b and 9a of the
Jetson study."""

from collections.abc import Callable, Mapping, Sequence

from reporter.data.frames import Frames
from reporter.data.values import entries_of, why_missing
from reporter.papers.entries import (
    MAX_ROWS,
    Varied,
    estimates,
    flat_rows,
    of_epochs,
    rows_of_groups,
    varied,
)
from reporter.papers.model import BarGroup, Bars, Estimate, Missing, PaperFigure

PARTS = ("fetch stall", "compute", "overhead")
COLUMNS = (("fetch_stall_s", "copy_s"), ("compute_s",))
"""Of all parts but the last, which is the rest of the epoch."""

LATER, FIRST = "epochs 2 to last", "epoch 1"
TOTAL = "of the total, over runs"
DECADE = 10.0


def by_workers(frames: Frames) -> PaperFigure | Missing:
    """Parts of an epoch, s, by data-loading processes."""
    return _stacked(frames, ("workers",), later, "two numbers of workers")


def by_storage(frames: Frames) -> PaperFigure | Missing:
    """Parts of an epoch after the first, s, by storage medium."""
    return _stacked(frames, ("storage_medium",), later, "two storage media")


def first_by_storage(frames: Frames) -> PaperFigure | Missing:
    """Parts of epoch 1, s, by storage medium, without data-loading processes."""
    alone = frames.of_entries(frames.entries[frames.entries["workers"] == 0])
    return _stacked(alone, ("storage_medium",), first, "two storage media and no loading worker")


def by_mode(frames: Frames) -> PaperFigure | Missing:
    """Parts of an epoch after the first, s, by power mode."""
    return _stacked(frames, ("power_mode",), later, "two power modes")


def first_stall(frames: Frames) -> PaperFigure | Missing:
    """Stall of epoch 1 and of later epochs, s, by data-loading processes; copy included."""
    at_first, at_last = of_epochs(frames, COLUMNS[0], first), of_epochs(frames, COLUMNS[0], later)
    ids = [name for name in entries_of(frames) if name in at_first and name in at_last]
    if not ids:
        return Missing("no run finished two epochs")
    pairs = {name: (at_first[name], at_last[name]) for name in ids}
    groups, note = rows_of_groups(
        frames,
        varied(frames, ids, ("workers",), 1),
        lambda entry: pairs[entry["entry_id"]],
        ("workers",),
    )
    about = (
        "Time that training waits for mini-batches, host-to-device copy included, in epoch 1 (cold"
        " page cache if it was emptied) and later ones."
    )
    panel = Bars("stall, s per epoch", groups, (FIRST, LATER))
    return PaperFigure(
        (panel,), tuple(ids), about, "± one standard deviation over runs", _notes(note)
    )


def time_to_target(frames: Frames) -> PaperFigure | Missing:
    """Time to target, s, a row per entry."""
    found = estimates(frames, "time_to_target_s")
    if not found:
        return Missing(f"time to target is unknown: {why_missing(frames, 'time_to_target_s')}")
    bars, note = flat_rows(frames, {name: (one,) for name, one in found.items()})
    panel = Bars("time to target, s", (BarGroup("", bars),))
    about = (
        "Time from run_start to the evaluation that reaches the target accuracy, without what is"
        " not counted."
    )
    return PaperFigure(
        (panel,), tuple(found), about, "± one standard deviation over runs", _notes(note)
    )


def later(epoch: int) -> bool:
    """Whether an epoch is after the first."""
    return epoch > 1


def first(epoch: int) -> bool:
    """Whether an epoch is the first."""
    return epoch == 1


def _stacked(
    frames: Frames, properties: Sequence[str], is_wanted: Callable[[int], bool], needed: str
) -> PaperFigure | Missing:
    parts = _parts(frames, is_wanted)
    groups = varied(frames, parts, properties)
    if not groups:
        return Missing(f"no training was run with {needed} and all else equal")
    when = LATER if is_wanted is later else FIRST
    panels, notes = [], list[str]()
    for some in _of_one_scale(groups, parts):
        rows, note = rows_of_groups(
            frames, some, lambda entry: parts[entry["entry_id"]], properties, is_stacked=True
        )
        panels.append(
            Bars(
                f"time of {when}, s" if when == FIRST else "time per epoch, s",
                rows,
                PARTS,
                is_stacked=True,
            )
        )
        notes += _notes(note)
    ids = tuple(entry["entry_id"] for group in groups for entry in group.entries)
    about = (
        f"Mean over {when}. Fetch stall includes the host-to-device copy; overhead is the rest of"
        " the epoch, exposed communication included."
    )
    return PaperFigure(
        tuple(panels), ids, about, f"± one standard deviation {TOTAL}", tuple(dict.fromkeys(notes))
    )


def _parts(frames: Frames, is_wanted: Callable[[int], bool]) -> dict[str, tuple[Estimate, ...]]:
    """Each part's mean by entry; the error bar is that of the total and stands at the last part."""
    means = [of_epochs(frames, columns, is_wanted) for columns in COLUMNS]
    totals = of_epochs(frames, ("end_to_end_s",), is_wanted)
    found = {}
    for name in entries_of(frames):
        if all(name in of_part for of_part in (*means, totals)):
            values = [max(of_part[name].value, 0.0) for of_part in means]
            total = totals[name]
            found[name] = (
                *map(Estimate, values),
                Estimate(max(total.value - sum(values), 0.0), total.low, total.high),
            )
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


def _notes(note: str) -> tuple[str, ...]:
    return (note,) if note else ()
