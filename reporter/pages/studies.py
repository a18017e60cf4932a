"""A page per study, with its figures and links to the evidence of its runs, and a page that lists
the studies."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jinja2

from reporter.board.columns import NOT_DEFINED, RUN_COLUMNS, Column, make_cell, name_of_figure
from reporter.data.frames import Frames, Row, grouped, records, rows_of
from reporter.data.machine_names import machine_title
from reporter.data.quantities import SCALES, quantity_with_spread
from reporter.data.studies import WHOLE, StudyRecord, frames_of_study, study_kinds
from reporter.figures import charts_for, study_charts
from reporter.figures.chart import Chart
from reporter.pages.shared import (
    Page,
    PageKind,
    SiteContents,
    place_drawings,
    render_page,
    with_enough_rows,
)

STUDY_COLUMNS = (Column("step_s", "step", "s", "mean of the steps after warm-up"), *RUN_COLUMNS)


def study_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """studies/index.html, and studies/<name>.html with the study's sealed record as
    studies/<name>.json."""
    kinds = study_kinds()
    titles = {name: kind.title for name, kind in kinds.items()}
    facts = {study.name: _facts(study, contents.frames) for study in contents.studies}
    ranges = {study.name: _range(study) for study in contents.studies}
    listed = {"studies": contents.studies, "kinds": titles, "facts": facts, "ranges": ranges}
    yield render_page(environment, "studies.html", "studies/index.html", "studies", **listed)
    for study in contents.studies:
        frames, figure_names, rows = (
            frames_of_study(contents.frames, study),
            kinds[study.kind].figure_names,
            _run_rows(contents.frames, study),
        )
        described = [(chart, partial(with_enough_rows, chart, frames)) for chart in _charts(study)]
        charts = place_drawings(described, contents.context("../"), f"figures/{study.name}-")
        yield render_page(
            environment,
            "study.html",
            f"studies/{study.name}.html",
            "studies",
            study=study,
            facts=facts[study.name],
            range=ranges[study.name],
            kind=titles[study.kind],
            charts=charts,
            name_of=lambda figure, names=figure_names: names.get(figure) or name_of_figure(figure),
            shown=_shown,
            unit_of=_unit_of,
            of_parts=_parts(study),
            unknown_of_parts=_unknown_of_parts(study, figure_names),
            figures=list(records(study.figures[study.figures["part"] == WHOLE])),
            rows=rows.rows,
            columns=rows.columns,
            unknown_of_runs=rows.unknown,
            record=f"{study.name}.json",
        )
        yield Page(f"studies/{study.name}.json", study.record)
        yield from charts.files


def _facts(study: StudyRecord, frames: Frames) -> tuple[tuple[str, str], ...]:
    """The study's facts, with the machine's own name where its runs could be read."""
    run = next(rows_of(frames.select("runs", "run_id", [run for _, run in study.runs])), None)
    return tuple(
        (name, machine_title(run) if name == "device" and run is not None else value)
        for name, value in study.facts
    )


def _charts(study: StudyRecord) -> list[Chart]:
    of_kind = study_charts()[study.kind]
    charts = (*of_kind.make(study), *(charts_for("study") if of_kind.with_entries else ()))
    return sorted(charts, key=lambda chart: chart.position)


def _range(study: StudyRecord) -> str:
    """The figure that the study compares its parts by, from the least to the greatest; empty where
    fewer than two parts have it."""
    kind = study_kinds()[study.kind]
    compared = _figures_by(study, "figure").get(kind.compared, [])
    found = sorted(
        (one for one in compared if one["value"] is not None), key=lambda one: one["value"]
    )
    if len(found) < 2:
        return ""
    name = kind.figure_names.get(kind.compared) or name_of_figure(kind.compared)
    ends = (
        " ".join((*_shown(one), _unit_of(one["unit"]), f"({one['part']})"))
        for one in (found[0], found[-1])
    )
    return f"{name} {' to '.join(ends)}"


def _unit_of(unit: str) -> str:
    """The unit beside a figure's name or value, unless the value carries it."""
    return "" if unit in (*SCALES, *UNWRITTEN, BYTES) else unit


UNWRITTEN = ("1", "ratio")
"""Units of figures without one."""
BYTES, MIB = "B", 2**20


def _shown(figure: Row) -> tuple[str, str]:
    """A figure's value in the unit that suits it, with the digits that its spread leaves, and its
    spread; a dash where it is unknown."""
    if figure["value"] is None:
        return "—", ""
    unit, value, spread = str(figure["unit"]), float(figure["value"]), figure["spread"]
    if unit == BYTES:
        unit, value, spread = "MiB", value / MIB, None if spread is None else spread / MIB
    return quantity_with_spread(value, unit if unit in SCALES else "", spread)


@dataclass(frozen=True)
class Parts:
    """The figures of a study's parts as a table: headings of name and unit, and for each part, in
    order, a figure for each heading."""

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Row, ...]], ...]


def _figures_by(study: StudyRecord, column: str) -> dict[str, list[Row]]:
    """The figures of the study's parts."""
    of_parts = records(study.figures[study.figures["part"] != WHOLE])
    return grouped(of_parts, lambda figure: str(figure[column]))


def _parts(study: StudyRecord) -> Parts:
    """All parts have the same figures; those that no part has are left out."""
    found = _figures_by(study, "part")
    columns = [
        column
        for column in zip(*found.values(), strict=True)
        if any(figure["value"] is not None for figure in column)
    ]
    headings = tuple((str(column[0]["figure"]), str(column[0]["unit"])) for column in columns)
    return Parts(
        headings,
        tuple(
            (part, tuple(column[index] for column in columns)) for index, part in enumerate(found)
        ),
    )


def _unknown_of_parts(study: StudyRecord, names: Mapping[str, str]) -> tuple[str, ...]:
    """Figures that no part has, with their reason: ``time of an epoch, energy (no power sensor was
    read)``."""
    missing = [
        figures[0]
        for figures in _figures_by(study, "figure").values()
        if all(figure["value"] is None for figure in figures)
    ]
    return _with_reasons(
        (
            names.get(str(figure["figure"])) or name_of_figure(str(figure["figure"])),
            str(figure["reason"]),
        )
        for figure in missing
    )


def _with_reasons(named: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Names of what is unknown, those of one reason together."""
    by_reason = grouped(named, lambda pair: pair[1])
    return tuple(
        f"{', '.join(name for name, _ in pairs)} ({reason})" for reason, pairs in by_reason.items()
    )


@dataclass(frozen=True)
class RunTable:
    """The runs of a study: a row for each, the columns in which one of them has a value, and the
    other columns with the reason."""

    rows: tuple[dict[str, Any], ...]
    columns: tuple[Column, ...]
    unknown: tuple[str, ...]


def _run_rows(frames: Frames, study: StudyRecord) -> RunTable:
    """A row per run of the study, in its order; a run that could not be loaded has no cells."""
    figures: dict[str, dict[str, Any]] = {}
    for figure in rows_of(frames.figures):
        figures.setdefault(figure["run_id"], {})[figure["figure"]] = figure
    cells = {
        run: [make_cell(column, figures[run].get(column.figure)) for column in STUDY_COLUMNS]
        for _, run in study.runs
        if run in figures
    }
    has_value = [
        any(row[index].raw for row in cells.values()) for index in range(len(STUDY_COLUMNS))
    ]
    reasons = {
        column.heading: row[index].why
        for row in cells.values()
        for index, column in enumerate(STUDY_COLUMNS)
        if not has_value[index]
    }
    return RunTable(
        tuple(
            {
                "part": part,
                "run_id": run,
                "cells": [
                    cell
                    for cell, shown in zip(cells.get(run, []), has_value, strict=False)
                    if shown
                ],
            }
            for part, run in study.runs
        ),
        tuple(column for column, shown in zip(STUDY_COLUMNS, has_value, strict=True) if shown),
        _with_reasons((heading, why) for heading, why in reasons.items() if why != NOT_DEFINED),
    )


PAGE_KIND = PageKind(study_pages, 40)
