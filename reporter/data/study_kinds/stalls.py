"""Stall analyses: folders that ``suite run --stall-analysis`` writes."""

from pathlib import Path

import pandas

from reporter.data.framework_names import framework_name
from reporter.data.studies import ROWS, WHOLE, StudyKind, StudyRecord, figure_row, recompute
from reporter.data.text import one_line, plain_run_id
from reporter.data.words import model_title
from suite.bundle.layout import SCHEMA
from suite.bundle.stall_folder import RECORD, BatchSource
from suite.files.json_file import read_record
from suite.metrics.stall_analysis import FIGURES, STALLS


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record; raises SuiteError unless its bundles give the same figures."""
    values = read_record(record, SCHEMA)
    recomputed = recompute(STALLS, record.parent)
    parts = [source.value for source in BatchSource]
    rows = [
        figure_row(part, name, values["runs"][part][name]) for part in parts for name in FIGURES
    ]
    rows += [figure_row(WHOLE, name, figure) for name, figure in values["figures"].items()]
    runs = tuple((part, one_line(values["runs"][part]["run_id"])) for part in parts)
    return StudyRecord(
        name=f"stalls-{plain_run_id(runs[0][1]).removesuffix('-cold')}",
        kind=STUDY_KIND.name,
        title=(
            f"Stalls of {one_line(model_title(str(values['workload'])))} in"
            f" {one_line(framework_name(str(values['framework'])))}"
        ),
        place=place,
        record=record,
        facts=tuple(
            (name, one_line(values[name])) for name in ("workload", "data", "framework", "device")
        ),
        runs=runs,
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=tuple(one_line(note, 400) for note in recomputed["notes"]),
    )


STUDY_KIND = StudyKind(
    name="stalls",
    title="stall analysis",
    record=RECORD,
    read=read,
    figure_names={
        "read_stall_s": "reading, by stalls",
        "preprocessing_stall_s": "preprocessing, by stalls",
        "read_epoch_s": "reading, by epoch times",
        "preprocessing_epoch_s": "preprocessing, by epoch times",
        "read_stall_share": "reading, as a share of the cold epoch",
        "preprocessing_stall_share": "preprocessing, as a share of the cold epoch",
    },
    compared="time_to_epoch_s",
)
