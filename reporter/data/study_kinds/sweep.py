"""Sweeps: folders that ``suite sweep`` writes."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pandas

from reporter.data.frames import Row
from reporter.data.framework_names import framework_name
from reporter.data.studies import ROWS, WHOLE, StudyKind, StudyRecord, figure_row, recompute
from reporter.data.text import one_line, plain_run_id
from reporter.data.words import model_title
from suite.bundle.layout import STUDY
from suite.metrics.scaling_model import ScalingModel
from suite.metrics.study import SWEEP, read_study


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record; raises SuiteError unless its bundles give the same figures."""
    study = read_study(record.parent)
    plan, varied = study.plan, study.plan.varied
    recomputed = recompute(SWEEP, record.parent)
    facts = {
        "workload": plan.workload,
        "data": plan.data,
        "framework": plan.framework,
        varied: ", ".join(plan.values),
    }
    if plan.scaling is not None:
        facts |= {
            "scaling": plan.scaling.value,
            "ranks on": f"{plan.hosts} hosts" if plan.hosts else "one machine",
        }
    of_points = [
        figure_row(f"{varied} {point.value}", name, figure)
        for point in study.points
        for name, figure in asdict(point.figures).items()
    ]
    return StudyRecord(
        name=f"sweep-{plain_run_id(study.points[0].runs[0].run_id)}",
        kind=STUDY_KIND.name,
        title=(
            f"{one_line(plan.heading)}: {one_line(model_title(plan.workload))} in"
            f" {one_line(framework_name(plan.framework))}"
        ),
        place=place,
        record=record,
        facts=tuple((name.replace("_", " "), one_line(value)) for name, value in facts.items()),
        runs=tuple(
            (f"{varied} {point.value}", one_line(run.run_id))
            for point in study.points
            for run in point.runs
        ),
        figures=pandas.DataFrame([*of_points, *_model_rows(study.model)], columns=list(ROWS)),
        notes=tuple(
            one_line(note, 400)
            for note in (
                *recomputed["notes"],
                *(recomputed["model"]["notes"] if recomputed["model"] else ()),
            )
        ),
    )


def _model_rows(model: ScalingModel | None) -> Iterator[Row]:
    """The fitted parameters, each with its confidence interval."""
    for fit in model.fits if model else ():
        for one in fit.parameters:
            method = (
                f"{fit.algorithm.value} all-reduce, fitted to {model.points if model else 0} runs;"
                f" 95 % interval {one.low:.3g} to {one.high:.3g}"
            )
            yield {
                "part": WHOLE,
                "figure": f"{fit.algorithm.value}_{one.name}",
                "value": one.value,
                "unit": "s",
                "method": method,
            }


STUDY_KIND = StudyKind(
    name="sweep",
    title="sweep",
    record=STUDY,
    read=read,
    figure_names={
        "step_s": "step",
        "samples_per_s": "throughput",
        "busy_s": "compute",
        "exchange_s": "exchange of gradients",
        "exchange_share": "exchange of gradients, as a share of the step",
        "waiting_s": "waiting for the slowest rank",
        "efficiency": "efficiency",
        "ring_fixed_s": "fixed part of the compute per step (ring)",
        "ring_per_sample_s": "compute per sample (ring)",
        "ring_busy_s": "compute per step (ring)",
        "ring_latency_s": "latency of one message (ring)",
        "ring_per_byte_s": "time per byte (ring)",
        "tree_fixed_s": "fixed part of the compute per step (tree)",
        "tree_per_sample_s": "compute per sample (tree)",
        "tree_busy_s": "compute per step (tree)",
        "tree_round_s": "one round (tree)",
    },
    compared="samples_per_s",
)
