"""Distributions over epochs by device instance: Figures 5a and 5b of the Jetson study."""

import statistics
from collections.abc import Iterable, Iterator

from reporter.data.frames import Frames, Row, known, rows_of
from reporter.data.machine_names import machine_name
from reporter.data.machines import differing_software, machines_of
from reporter.data.selection import choose
from reporter.data.values import entries_of
from reporter.papers.energy import ENERGY, kinds_of, with_instrument
from reporter.papers.entries import MAX_ROWS, estimates, names_of, property_text, styles_of
from reporter.papers.model import Box, Boxes, Missing, PaperFigure

MIN_EPOCHS = 2
MAX_NAMES = 4
"""Of software that differs, in a caption."""
INSTANCES = (
    "Boards of a kind are distinguished by the first six digits of a digest of their serial number."
)


def times(frames: Frames) -> PaperFigure | Missing:
    """End-to-end time of every epoch after the first, s; a row per entry and board."""
    return _draw(frames, "end_to_end_s", "time per epoch, s", None)


def energies(frames: Frames) -> PaperFigure | Missing:
    """Energy of every epoch after the first, J; a row per entry and board, a panel per kind of
    instrument."""
    return _draw(frames, "energy_j", "energy per epoch, J", ENERGY)


def _draw(frames: Frames, column: str, axis: str, sensor_of: str | None) -> PaperFigure | Missing:
    values = _values(frames, column)
    if not values:
        return Missing(
            f"no entry has {MIN_EPOCHS} epochs after the first with a known"
            f" {axis.partition(',')[0]}"
        )
    entries = [
        {**entries_of(frames)[name], "entry_id": f"{name} {board}"} for name, board in values
    ]
    names = names_of(entries)
    named = {
        key: names[f"{key[0]} {key[1]}"] or property_text(entries_of(frames)[key[0]], "framework")
        for key in values
    }
    kinds: dict[str, list[str]] = {"": sorted({name for name, _ in values})}
    if sensor_of is not None:
        kinds = kinds_of(
            frames, sensor_of, [name for name in kinds[""] if name in estimates(frames, sensor_of)]
        )
    panels, notes = [], set[str]()
    for kind, ids in kinds.items():
        chosen = {key: of_key for key, of_key in values.items() if key[0] in ids}
        if chosen:
            panel, note = _boxes(frames, chosen, named, with_instrument(axis, kind))
            panels.append(panel)
            notes |= {note} if note else set()
    notes |= set(_software_notes(frames, values))
    about = (
        f"Every epoch after the first of every run: mark; box: quartiles; line: median. {INSTANCES}"
    )
    return PaperFigure(
        tuple(panels),
        tuple(kinds_id for ids in kinds.values() for kinds_id in ids),
        about,
        "",
        tuple(sorted(notes)),
        sensor_of,
    )


def _software_notes(frames: Frames, values: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A warning for each entry whose boards differ in software, which varies times more than boards
    do (Section 5.4.4 of the study)."""
    machines, boards = (
        machines_of(frames),
        {entry: {board for other, board in values if other == entry} for entry, _ in values},
    )
    for entry, of_entry in sorted(boards.items()):
        runs = [str(run["run_id"]) for run in rows_of(frames.runs) if run["entry_id"] == entry]
        differing = differing_software(machines[run] for run in runs) if len(of_entry) > 1 else ()
        if differing:
            more = f" and {len(differing) - MAX_NAMES} more" if len(differing) > MAX_NAMES else ""
            yield (
                f"Software differs between boards ({machine_name(entries_of(frames)[entry])}:"
                f" {', '.join(differing[:MAX_NAMES])}{more})."
            )


def _values(frames: Frames, column: str) -> dict[tuple[str, str], list[float]]:
    """Values by entry id and board; a board is empty where all runs of an entry are of one, or its
    digest is unknown."""
    run_of, machines = {row["run_id"]: row for row in rows_of(frames.runs)}, machines_of(frames)
    boards = {name: machine.board or "" for name, machine in machines.items()}
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows_of(frames.epochs.sort_values(["run_id", "epoch"])):
        run: Row = run_of[row["run_id"]]
        if row["epoch"] > 1 and known(row[column]):
            found.setdefault((run["entry_id"], boards[row["run_id"]]), []).append(
                float(row[column])
            )
    return {key: values for key, values in sorted(found.items()) if len(values) >= MIN_EPOCHS}


def _boxes(
    frames: Frames,
    values: dict[tuple[str, str], list[float]],
    named: dict[tuple[str, str], str],
    axis: str,
) -> tuple[Boxes, str]:
    entries, styles = entries_of(frames), styles_of(frames)
    keys = {f"{entry} {board}": (entry, board) for entry, board in values}
    chosen = choose(
        {text: statistics.median(values[key]) for text, key in keys.items()},
        lambda text: str(entries[keys[text][0]]["framework"]),
        MAX_ROWS,
    )
    groups: dict[str, list[Box]] = {}
    for text in chosen.ids:
        key = keys[text]
        entry = entries[key[0]]
        label = " · ".join(
            part for part in (named[key], f"board {key[1]}" if key[1] else "") if part
        )
        groups.setdefault(
            (
                machine_name(entry)
                if len({machine_name(entries[one]) for one, _ in values}) > 1
                else ""
            ),
            [],
        ).append(Box(label, styles[str(entry["framework"])], tuple(values[key])))
    for group in chosen.groups:
        shared = tuple(value for text in group.ids for value in values[keys[text]])
        groups.setdefault("others", []).append(Box(group.label, styles.get(group.name, 7), shared))
    return (
        Boxes(axis, tuple((heading, tuple(boxes)) for heading, boxes in groups.items())),
        chosen.note,
    )
