"""Matrices: folders that ``suite sweep --vary`` writes."""

from dataclasses import asdict
from pathlib import Path

import pandas

from reporter.data.studies import ROWS, StudyKind, StudyRecord, figure_row, recompute
from reporter.data.text import plain
from reporter.data.words import model_title
from suite.metrics.matrix import MATRIX, analyse_matrix, read_matrix


def read(record: Path, place: str) -> StudyRecord:
    """The matrix of a record; raises SuiteError unless its bundles give the same figures."""
    matrix = read_matrix(record.parent)
    plan = matrix.plan
    recomputed = recompute(record, lambda: analyse_matrix(record.parent, plan).to_dict())
    labels = {point.name: plain(point.label) for point in plan.points}
    values = {name: dict.fromkeys(point.settings[index].value for point in plan.points) for index, name in enumerate(plan.variables)}
    facts = {"workload": plan.workload, "data": plan.data, **{name: ", ".join(listed) for name, listed in values.items()}}
    facts |= {"points": str(len(plan.points)), "runs of each": str(plan.seeds), "order": plan.order}
    rows = [figure_row(labels[point.name], name, figure) for point in matrix.points for name, figure in asdict(point.figures).items()]
    return StudyRecord(
        name=f"matrix-{plain(matrix.points[0].runs[0].run_id, 120)}",
        kind=STUDY_KIND.name,
        title=f"{plain(plan.title)}: {plain(model_title(plan.workload))}",
        place=place,
        record=record,
        facts=tuple((plain(name).replace("_", " "), plain(value)) for name, value in facts.items()),
        runs=tuple((labels[point.name], plain(run.run_id)) for point in matrix.points for run in point.runs),
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=tuple(plain(note, 400) for note in recomputed["notes"]),
    )


STUDY_KIND = StudyKind(
    name="matrix",
    title="matrix",
    record=MATRIX,
    read=read,
    figure_names={
        "step_s": "step",
        "samples_per_s": "throughput",
        "time_to_epoch_s": "time of an epoch",
        "fetch_stall_s": "fetch stall of an epoch",
        "energy_j": "energy of the run",
        "energy_per_epoch_j": "energy of an epoch",
        "mean_power_w": "mean power",
        "temperature_max_degc": "highest temperature",
    },
)
