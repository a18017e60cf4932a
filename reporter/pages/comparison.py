"""Framework comparisons with all other settings equal."""

from collections.abc import Iterator, Mapping
from typing import Any

import jinja2

from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell
from reporter.data.frames import IDENTITY, Frames, records, rows_of
from reporter.data.machine_names import machine_title
from reporter.data.values import entries_of
from reporter.data.words import in_words
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, place_charts, title_of

ALIKE = [name for name in IDENTITY if name not in ("framework", "framework_version", "organization")]


def frameworks_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """frameworks.html: one comparison per setting that was run in at least two frameworks."""
    accepted = contents.frames.accepted()
    comparisons = []
    for index, (setting, frames) in enumerate(_comparable(accepted)):
        charts = place_charts("comparison", frames, contents, "", f"comparison-{index + 1}")
        yield from charts.files
        comparisons.append(
            {"name": f"comparison-{index + 1}", "setting": _facts(setting), "title": _title(setting), "table": _table(frames), "charts": charts}
        )
    page = environment.get_template("frameworks.html")
    yield Page("frameworks.html", page.render(root="", here="frameworks", comparisons=comparisons, columns=FIGURE_COLUMNS))


def _comparable(frames: Frames) -> Iterator[tuple[dict[str, Any], Frames]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, entry in enumerate(rows_of(frames.entries[ALIKE])):
        groups.setdefault(tuple(str(value) for value in entry.values()), []).append(index)
    for _, indices in sorted(groups.items()):
        entries = frames.entries.iloc[indices]
        if entries["framework"].nunique() > 1:
            yield next(records(entries[ALIKE])), frames.of_entries(entries)


def _title(setting: Mapping[str, Any]) -> str:
    return f"{title_of(str(setting['workload']), str(setting['data']), bool(setting['own_data']))} · {machine_title(setting)}"


def _facts(setting: Mapping[str, Any]) -> list[tuple[str, str]]:
    left_out = ("workload", "own_data", "device")
    return [(name.replace("_", " "), in_words(setting, name)) for name in setting if name not in left_out]


def _table(frames: Frames) -> list[dict[str, Any]]:
    """One row per entry, sorted by time per epoch, with a cell per column."""
    figures: dict[str, dict[str, Any]] = {}
    for row in rows_of(frames.select("entry_figures", "figure", [column.figure for column in FIGURE_COLUMNS])):
        figures.setdefault(row["entry_id"], {})[row["figure"]] = row
    rows = []
    for name, entry in entries_of(frames).items():
        cells: list[Cell] = [make_cell(column, figures.get(name, {}).get(column.figure)) for column in FIGURE_COLUMNS]
        order = figures.get(name, {}).get("time_to_epoch_s", {}).get("value")
        rows.append({"entry": entry, "cells": cells, "order": (order is None or order != order, order or 0.0, name)})
    return sorted(rows, key=lambda row: row["order"])


PAGE_KIND = PageKind(frameworks_page, 20, MenuItem("frameworks", "frameworks.html", "Frameworks"))
