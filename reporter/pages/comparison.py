"""Framework comparisons with all other settings equal, and a page per device."""

from collections.abc import Iterator, Mapping
from typing import Any

import jinja2

from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell
from reporter.data.frames import IDENTITY, Frames, records, rows_of
from reporter.data.machine_names import machine_title
from reporter.data.values import entries_of
from reporter.data.words import in_words
from reporter.pages.shared import MenuItem, Page, PageKind, SiteContents, place_charts, title_of
from suite.catalog.devices import load_devices

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


def device_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """devices/index.html, and devices/<name>.html for every device profile."""
    accepted = contents.frames.accepted()
    counts = accepted.entries["device"].value_counts()
    devices = [(device, int(counts.get(device.name, 0))) for device in load_devices()]
    devices.sort(key=lambda pair: (-pair[1], pair[0].title))
    yield Page("devices/index.html", environment.get_template("devices.html").render(root="../", here="devices", devices=devices))
    for profile, _ in devices:
        frames = accepted.of_entries(accepted.entries[accepted.entries["device"] == profile.name])
        charts = place_charts("device", frames, contents, "../", f"device-{profile.name}") if len(frames.entries) else None
        rows = _table(frames)
        page = environment.get_template("device.html")
        yield Page(
            f"devices/{profile.name}.html",
            page.render(
                root="../", here="devices", device=profile, rows=rows, columns=FIGURE_COLUMNS, charts=charts, boards=_boards(contents, frames)
            ),
        )
        yield from charts.files if charts else ()


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


def _boards(contents: SiteContents, frames: Frames) -> list[Any]:
    here = set(frames.entries["entry_id"])
    return [board for board in contents.boards if any(row.entry["entry_id"] in here for row in board.accepted)]


PAGE_KINDS = (
    PageKind(frameworks_page, 20, MenuItem("frameworks", "frameworks.html", "Frameworks")),
    PageKind(device_pages, 30, MenuItem("devices", "devices/index.html", "Devices")),
)
