"""LINPACK studies: folders that ``suite sweep --study linpack`` writes."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import pandas

from reporter.data.machine_names import short_title
from reporter.data.studies import ROWS, StudyKind, StudyRecord, figure_row, recompute
from reporter.data.text import one_line
from suite.bundle.layout import LINPACK_STUDY_RECORD
from suite.metrics.linpack_record import Problem
from suite.metrics.linpack_study_record import LINPACK_STUDY, read_linpack_study

FIGURES = ("gflops", "efficiency", "peak_share", "energy_j", "gflops_per_watt", "triad_gb_s")


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record; raises SuiteError unless its LINPACK records give the same figures."""
    study = read_linpack_study(record.parent)
    recompute(LINPACK_STUDY, record.parent)
    parts = [(f"{point.nodes} node{'s' * (point.nodes > 1)}", point) for point in study.points]
    rows = [
        figure_row(part, name, asdict(getattr(point, name)))
        for part, point in parts
        for name in FIGURES
    ]
    return StudyRecord(
        name=f"linpack-{hashlib.sha256(record.read_bytes()).hexdigest()[:10]}",
        kind=STUDY_KIND.name,
        title=(
            f"{one_line(study.title)}:"
            f" {one_line(short_title({'device': study.device, 'cpu_model': study.cpu_model}), 60)}"
        ),
        place=place,
        record=record,
        facts=(
            ("processor", one_line(study.cpu_model or "unknown")),
            ("runs for each number of nodes", str(len(study.points[0].records))),
            *((f"problem on {part}", _problem(point.problem)) for part, point in parts),
        ),
        runs=(),
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=(one_line(f"{study.sentence}.", 400), *(one_line(note, 400) for note in study.notes)),
    )


def _problem(problem: Problem) -> str:
    return f"order {problem.size}, block {problem.block}, grid {problem.rows} x {problem.columns}"


STUDY_KIND = StudyKind(
    name="linpack",
    title="LINPACK",
    record=LINPACK_STUDY_RECORD,
    read=read,
    figure_names={
        "gflops": "rate of all nodes",
        "efficiency": "efficiency, R(n) / (n R(1))",
        "peak_share": "share of the double-precision peak",
        "energy_j": "energy of all nodes while solving",
        "gflops_per_watt": "rate per watt of all nodes",
        "triad_gb_s": "memory bandwidth of a node (STREAM triad)",
    },
)
