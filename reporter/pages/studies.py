"""A page per study, with its own figures and links to the evidence of each of its runs, and a page that lists them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jinja2

from reporter.board.columns import FIGURE_COLUMNS, make_cell, name_of_figure
from reporter.data.frames import Frames, records, rows_of
from reporter.data.studies import WHOLE, StudyRecord, frames_of_study
from reporter.data.text import digits
from reporter.figures import charts_for, stall_analysis, sweep_study
from reporter.figures.chart import Chart
from reporter.pages.shared import Page, SiteContents, place_drawings
from suite.metrics.study import read_study

NAMES = {
    "read_stall_s": "reading, of the stall",
    "preprocessing_stall_s": "preprocessing, of the stall",
    "read_epoch_s": "reading, of the whole epoch",
    "preprocessing_epoch_s": "preprocessing, of the whole epoch",
    "read_stall_share": "reading, share of the cold epoch",
    "preprocessing_stall_share": "preprocessing, share of the cold epoch",
    "step_s": "step",
    "samples_per_s": "throughput",
    "computing_s": "computing",
    "communication_s": "communication",
    "communication_share": "communication, share of the step",
    "waiting_s": "waiting for the slowest rank",
    "efficiency": "efficiency",
    "ring_fixed_s": "computing of a step, whatever its size (ring)",
    "ring_per_sample_s": "computing of a sample (ring)",
    "ring_computing_s": "computing of a step (ring)",
    "ring_latency_s": "latency of a ring's message",
    "ring_per_byte_s": "time of a byte around the ring",
    "tree_fixed_s": "computing of a step, whatever its size (tree)",
    "tree_per_sample_s": "computing of a sample (tree)",
    "tree_computing_s": "computing of a step (tree)",
    "tree_round_s": "a round of the tree",
}
KINDS: Mapping[str, str] = {"stalls": "analysis of stalls", "sweep": "sweep"}


def study_pages(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """studies/index.html and studies/<name>.html, with the study's own record beside it."""
    listing = environment.get_template("studies.html").render(root="../", here="studies", studies=contents.studies, kinds=KINDS)
    yield Page("studies/index.html", listing)
    template = environment.get_template("study.html")
    for study in contents.studies:
        frames = frames_of_study(contents.frames, study)
        drawers = [(chart, partial(chart.draw, frames)) for chart in CHARTS[study.kind](study)]
        charts = place_drawings(drawers, contents.context("../"), f"figures/{study.name}-")
        page = template.render(
            root="../", here="studies", study=study, kind=KINDS[study.kind], charts=charts, name_of=_name_of, digits=digits,
            of_parts=_parts(study),
            figures=list(records(study.figures[study.figures["part"] == WHOLE])), rows=_rows(frames, study), columns=FIGURE_COLUMNS,
            record=f"{study.name}.json",
        )  # fmt: skip
        yield Page(f"studies/{study.name}.html", page)
        yield Page(f"studies/{study.name}.json", study.record.read_bytes())
        yield from charts.files


CHARTS: Mapping[str, Callable[[StudyRecord], tuple[Chart, ...]]] = {
    "stalls": lambda study: stall_analysis.charts(study.figures, dict(study.runs)),
    "sweep": lambda study: (*sweep_study.charts(read_study(study.record.parent)), *charts_for("study")),
}


@dataclass(frozen=True)
class Parts:
    """The figures of a study's parts as a table: headings of name and unit, and for each part, in order, a figure for each of them."""

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[dict[str, Any], ...]], ...]


def _parts(study: StudyRecord) -> Parts:
    """All parts have the same figures."""
    found: dict[str, list[dict[str, Any]]] = {}
    for figure in records(study.figures[study.figures["part"] != WHOLE]):
        found.setdefault(figure["part"], []).append(figure)
    first = next(iter(found.values()))
    return Parts(tuple((figure["figure"], figure["unit"]) for figure in first), tuple((part, tuple(figures)) for part, figures in found.items()))


def _rows(frames: Frames, study: StudyRecord) -> list[dict[str, Any]]:
    """A row per run of the study, in its order; a run that could not be loaded has no cells."""
    figures: dict[str, dict[str, Any]] = {}
    for figure in rows_of(frames.figures):
        figures.setdefault(figure["run_id"], {})[figure["figure"]] = figure
    return [
        {
            "part": part,
            "run_id": run,
            "cells": [make_cell(column, figures[run].get(column.figure)) for column in FIGURE_COLUMNS] if run in figures else [],
        }
        for part, run in study.runs
    ]


def _name_of(figure: str) -> str:
    return NAMES.get(figure, name_of_figure(figure))
