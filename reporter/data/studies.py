"""Finds and reads studies: sealed records above the bundles of several runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas

from reporter.data.discovery import declarations
from reporter.data.entries import make_entries, make_entry_figures
from reporter.data.figure_fields import significance
from reporter.data.folders import place_below
from reporter.data.frames import (
    ENTRIES,
    ENTRY_FIGURES,
    FIGURES,
    RUNS,
    Frames,
    Row,
    grouped,
    make_frame,
    records,
)
from reporter.data.text import one_line, plain_or_none, reason_of
from reporter.data.values import add_labels
from suite.catalog.extensions import ExtensionPart
from suite.errors import SuiteError
from suite.files.json_file import plain_values, read_json
from suite.files.tree import files_below
from suite.metrics.json_diff import json_differences
from suite.metrics.sealed_record import SealedRecord

ROWS: Mapping[str, str] = {
    "part": "the run within the study, or the study as a whole",
    "figure": "name of the figure, ending in its unit except for ratios",
    "value": "value of the figure; None if unknown",
    "unit": "unit of value and spread",
    "count": "number of values that the figure is computed from",
    "spread": "sample standard deviation over the values",
    "method": "how the value is computed",
    "significant": (
        "for a difference: whether it is statistically significant; None for other figures, and if"
        " not tested"
    ),
    "reason": "why the value is unknown",
}
WHOLE = "study"
TOLERANCE = 1e-6
NOTES = "notes"
"""Key of the sentences in a record, which may differ between versions of the suite."""


@dataclass(frozen=True)
class WordTable:
    """A table of words: its title, headings, and rows whose first cell names them."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class StudyRecord:
    """A study: its kind, its runs in order as (part, run id), and its figures as a tidy frame with
    the columns of ROWS.

    ``place`` is where it was found, relative to the given path; ``record`` is the sealed file that
    the figures were read from; ``words`` is a table of what no figure says.
    """

    name: str
    kind: str
    title: str
    place: str
    record: Path
    facts: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str, str], ...]
    figures: pandas.DataFrame
    notes: tuple[str, ...]
    words: WordTable | None = None


@dataclass(frozen=True)
class StudyKind:
    """A kind of study: ``record`` is the name of its file, ``read`` takes that file and its place.

    ``title`` names the kind on pages, ``figure_names`` its figures; ``compared`` is the figure that
    the study compares its parts by.
    """

    name: str
    title: str
    record: str
    read: Callable[[Path, str], StudyRecord]
    figure_names: Mapping[str, str]
    compared: str = ""


@cache
def study_kinds() -> dict[str, StudyKind]:
    """Every kind of study that a module of reporter.data.study_kinds or an extension declares, by
    name."""
    return {
        kind.name: kind
        for kind in declarations(
            "reporter.data.study_kinds", ExtensionPart.PAGE, "STUDY_KIND", StudyKind
        )
    }


def find_studies(
    paths: Iterable[Path],
) -> tuple[tuple[StudyRecord, ...], tuple[dict[str, str], ...]]:
    """Every study at or below the paths, by name, and rows of the frame ``broken`` for those that
    cannot be shown; links are not followed."""
    studies: dict[str, StudyRecord] = {}
    broken = []
    for given in paths:
        for kind, record in _records(given):
            folder, place = record.parent, place_below(record.parent, given)
            try:
                study = kind.read(record, one_line(place))
                studies.setdefault(study.name, study)
            except SuiteError as error:
                broken.append({"place": one_line(place), "reason": reason_of(error, folder)})
    return tuple(studies[name] for name in sorted(studies)), tuple(broken)


def _records(given: Path) -> Iterator[tuple[StudyKind, Path]]:
    kinds = grouped(study_kinds().values(), lambda kind: kind.record)
    return ((kind, path) for path in files_below(given, *kinds) for kind in kinds[path.name])


def frames_of_study(frames: Frames, study: StudyRecord) -> Frames:
    """The frames of the study's runs only; entries are made of these runs, without later
    repetitions outside the study.

    Where each part is one entry, the part is its label: two points of a matrix may differ in a
    setting that no other label has.
    """
    names = {run for _, run in study.runs}
    runs, figures = (
        list(records(frames.select(name, "run_id", names))) for name in ("runs", "figures")
    )
    found = replace(
        frames,
        runs=make_frame(runs, RUNS),
        figures=make_frame(figures, FIGURES),
        epochs=frames.select("epochs", "run_id", names),
        entries=make_frame(make_entries(runs), ENTRIES),
        entry_figures=make_frame(make_entry_figures(runs, figures), ENTRY_FIGURES),
    )
    add_labels(found, _parts_of_entries(study, runs))
    return found


def _parts_of_entries(study: StudyRecord, runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The part of each entry as its label; empty where an entry has runs of several parts, or a
    part of several entries."""
    entry_of = {str(run["run_id"]): str(run["entry_id"]) for run in runs}
    pairs = {(entry_of[run], part) for part, run in study.runs if run in entry_of}
    parts = {entry: part.replace(", ", " · ") for entry, part in pairs}
    return parts if len(parts) == len(pairs) == len(set(parts.values())) else {}


def figure_row(part: str, name: str, figure: Mapping[str, Any]) -> Row:
    """A figure of a record as a row with the columns of ROWS."""
    numbers = {
        key: None if figure[key] is None else float(figure[key])
        for key in ("value", "count", "spread")
    }
    texts = {key: plain_or_none(figure[key]) for key in ("unit", "method", "reason")}
    return {"part": part, "figure": name, **numbers, **texts, "significant": significance(figure)}


def recompute(form: SealedRecord, folder: Path) -> dict[str, Any]:
    """A record as computed now from the other files of its folder, or as it is where nothing else
    was kept. Raises SuiteError unless the file agrees and its seal is intact.

    Fitted values may differ in their last digits between machines. Notes may differ between
    versions of the suite; this version's are returned.
    """
    written = read_json(folder / form.file)
    if form.compute is None:
        form.refuse_broken(folder)
        return written
    try:
        computed = plain_values(form.compute(folder))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SuiteError(
            f"a bundle of the study is malformed ({type(error).__name__}: {one_line(error)})"
        ) from error
    found = json_differences(_without_notes(computed), _without_notes(written), tolerance=TOLERANCE)
    if (first := next(found, None)) is not None:
        raise SuiteError(
            f"{form.file} disagrees with its runs in {one_line(first[0])}; {form.again}."
        )
    form.refuse_broken(folder)
    return computed


def _without_notes(value: Any) -> Any:
    """A value of JSON without its notes, at any depth."""
    if isinstance(value, Mapping):
        return {key: _without_notes(one) for key, one in value.items() if key != NOTES}
    return [_without_notes(one) for one in value] if isinstance(value, list) else value
