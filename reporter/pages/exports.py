"""A leaderboard as CSV, JSON and Parquet, with the columns and units of its page."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet

from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.data.entry_scores import OF_ENTRIES
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.words import property_name
from reporter.pages.shared import Page
from suite.files.spreadsheet import safe_frame


def board_files(board: Leaderboard) -> Iterator[Page]:
    """data/<board>.csv, .json and .parquet: all accepted, refused and withdrawn rows with all
    columns."""
    frame = board_frame(board)
    text = safe_frame(frame).to_csv(index=False, lineterminator="\n")
    yield Page(f"data/{board.slug}.csv", text)
    rows = [
        {key: None if value is None or value != value else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]
    yield Page(f"data/{board.slug}.json", json.dumps(rows, indent=1) + "\n")
    sink = io.BytesIO()
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    yield Page(f"data/{board.slug}.parquet", sink.getvalue())


WHOLE_NUMBERS = ("rank", "not_distinguishable_from")
WITH_INTERVALS = (*OF_ENTRIES, TIME_TO_TARGET)
ENERGY = "energy"
"""The property that says what measured the energies: in the file also where all rows share it."""


def _epochs(row: LeaderboardRow) -> dict[str, Any]:
    """The epochs at which an entry is scored, and whether they are its own."""
    epochs = row.scores.epochs
    return {
        "scored_epochs": None if epochs is None else epochs.epochs,
        "own_epochs": None if epochs is None else epochs.is_own,
    }


def board_frame(board: Leaderboard) -> pandas.DataFrame:
    """One row per row of the page. Columns are named after their figures, with the unit added where
    the page shows another one."""
    measured_by = dict(board.same).get(property_name(ENERGY))
    rows: list[dict[str, Any]] = []
    for row in board.rows:
        values: dict[str, Any] = {
            "entry_id": row.entry_id,
            "state": row.entry["state"],
            "status": row.scores.status.value,
            "rank": row.rank.place,
            "not_distinguishable_from": row.rank.alike,
            "reason": row.rank.reason,
        }
        values |= _epochs(row) | {"runs": row.entry["runs"], "reached": row.entry["reached"]}
        values |= {facet.name: value for facet, value in zip(board.facets, row.facets, strict=True)}
        if measured_by is not None:
            values[ENERGY] = measured_by
        for column, cell in zip(board.columns, row.cells, strict=True):
            name = column.exported
            values[name] = float(cell.raw) if cell.raw else None
            values[f"{name}_spread"] = float(cell.raw_spread) if cell.raw_spread else None
            if column.figure in WITH_INTERVALS:
                values |= {
                    f"{name}_{end}": float(raw) if raw else None
                    for end, raw in zip(("low", "high"), cell.raw_interval, strict=True)
                }
        rows.append(values)
    frame = pandas.DataFrame(rows)
    return frame.astype(
        {
            **dict.fromkeys(WHOLE_NUMBERS, "Int64"),
            **{
                name: "float64"
                for name in frame.columns
                if frame[name].dtype == object and _is_number(frame[name])
            },
        }
    )


def _is_number(column: pandas.Series) -> bool:
    return all(value is None or isinstance(value, float) for value in column)
