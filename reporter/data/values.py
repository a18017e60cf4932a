"""Look-ups by entry id: entries with labels, their figures, the values of their runs."""

from collections import Counter
from collections.abc import Iterable, Mapping

from reporter.data.entries import make_labels
from reporter.data.frames import Frames, Row, is_known, rows_of
from reporter.data.missed import (
    TIME_TO_TARGET,
    is_short,
    missed_runs,
    times_with_shares,
    why_unsettled,
)


def entries_of(frames: Frames) -> dict[str, Row]:
    """The entries by id, each with a ``label``."""
    return add_labels(frames, {})


def add_labels(frames: Frames, labels: Mapping[str, str]) -> dict[str, Row]:
    """The same, with these labels, by entry id, where the frames have no others yet; an entry
    without one is named by what tells it apart."""

    def labelled() -> dict[str, Row]:
        rows = list(rows_of(frames.entries))
        given = {**make_labels(rows), **labels}
        return {row["entry_id"]: {**row, "label": given[row["entry_id"]]} for row in rows}

    return frames.cached("labelled entries", labelled)


def figures_of(frames: Frames, name: str) -> dict[str, Row]:
    """A figure of all entries with a known value, by entry id."""
    found = frames.cached(
        f"entries' {name}", lambda: list(rows_of(frames.select("entry_figures", "figure", [name])))
    )
    return {row["entry_id"]: row for row in found if is_known(row["value"])}


def values_of(frames: Frames, name: str) -> dict[str, float]:
    """The known values of a figure, by entry id, in the order of the entries."""
    found = figures_of(frames, name)
    return {entry: float(found[entry]["value"]) for entry in entries_of(frames) if entry in found}


def figures_by_entry(frames: Frames, names: Iterable[str]) -> dict[str, dict[str, Row]]:
    """The rows of these figures, those of unknown values included, by entry id and name."""
    found: dict[str, dict[str, Row]] = {name: {} for name in frames.entries["entry_id"]}
    for row in rows_of(frames.select("entry_figures", "figure", names)):
        found[row["entry_id"]][row["figure"]] = row
    return found


def values_of_runs(frames: Frames, name: str) -> dict[str, list[float]]:
    """A figure's values in the runs of each entry, by entry id, ordered by run id.

    Of entries with runs that did not reach the target, times to target are known only where
    ``why_unsettled`` has no reason, each with its share of the missed runs' time.
    """
    values = _known_values(frames, name)
    if name == TIME_TO_TARGET:
        for entry in rows_of(frames.entries):
            if missed_runs(entry) or is_short(entry):
                values[entry["entry_id"]] = _times_of_settled(frames, entry)
    return values


def _times_of_settled(frames: Frames, entry: Row) -> list[float]:
    if why_unsettled(entry) is not None:
        return []
    runs = frames.rows_by("runs", "entry_id")(entry["entry_id"])
    figures = frames.rows_by("figures", "run_id")
    known_s = {
        run["run_id"]: row["value"]
        for run in runs
        for row in figures(run["run_id"])
        if row["figure"] == TIME_TO_TARGET
    }
    return (
        times_with_shares(
            runs, {run: float(value) for run, value in known_s.items() if value is not None}
        )
        or []
    )


def _known_values(frames: Frames, name: str) -> dict[str, list[float]]:
    entry_of, chosen = frames.entry_of, frames.select("figures", "figure", [name])
    values: dict[str, list[float]] = {}
    for run, value in sorted(
        zip(chosen["run_id"], chosen["value"], strict=True), key=lambda pair: str(pair[0])
    ):
        if is_known(value) and run in entry_of:
            values.setdefault(entry_of[run], []).append(float(value))
    return values


def why_missing(frames: Frames, name: str) -> str:
    """The most frequent reason for an unknown figure."""
    reasons = Counter(
        str(reason)
        for reason in frames.select("entry_figures", "figure", [name])["reason"]
        if is_known(reason)
    )
    return max(sorted(reasons), key=reasons.__getitem__) if reasons else "no run has this figure"
