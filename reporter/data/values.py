"""Look-ups by entry id: entries with labels, their figures, the values of their runs."""

from collections import Counter

from reporter.data.entries import make_labels
from reporter.data.frames import Frames, Row, known, rows_of


def entries_of(frames: Frames) -> dict[str, Row]:
    """The entries by id, each with a ``label``."""
    return frames.cached("labelled entries", lambda: _labelled(list(rows_of(frames.entries))))


def _labelled(rows: list[Row]) -> dict[str, Row]:
    labels = make_labels(rows)
    return {row["entry_id"]: {**row, "label": labels[row["entry_id"]]} for row in rows}


def figures_of(frames: Frames, name: str) -> dict[str, Row]:
    """A figure of all entries with a known value, by entry id."""
    found = frames.cached(f"entries' {name}", lambda: list(rows_of(frames.select("entry_figures", "figure", [name]))))
    return {row["entry_id"]: row for row in found if known(row["value"])}


def values_of_runs(frames: Frames, name: str) -> dict[str, list[float]]:
    """A figure's values in the runs of each entry, by entry id, ordered by run id."""
    entry_of = dict(zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True))
    chosen = frames.select("figures", "figure", [name])
    values: dict[str, list[float]] = {}
    for run, value in sorted(zip(chosen["run_id"], chosen["value"], strict=True), key=lambda pair: str(pair[0])):
        if known(value) and run in entry_of:
            values.setdefault(entry_of[run], []).append(float(value))
    return values


def why_missing(frames: Frames, name: str) -> str:
    """The most frequent reason for an unknown figure."""
    reasons = Counter(str(reason) for reason in frames.select("entry_figures", "figure", [name])["reason"] if known(reason))
    return max(sorted(reasons), key=reasons.__getitem__) if reasons else "no run has this figure"
