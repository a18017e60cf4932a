"""Sweeps as `suite sweep` leaves them, made without any training."""

import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas

from suite.bundle import frames, layout, manifest, schemas
from suite.bundle.layout import RUN
from suite.bundle.study_mark import StudyMark
from suite.catalog.study_definitions import Variable
from suite.files.json_file import read_json, write_json
from suite.metrics.matrix_record import (
    MATRICES,
    Matrix,
    MatrixPlan,
    MatrixPointPlan,
    VariedSetting,
    analyse_matrix,
)
from suite.metrics.scaling_model import Scaling
from suite.metrics.study import SWEEP, Study, StudyPlan, analyse_study, folder_name
from tests.builders import Scenario, make_bundle

WARM_UP, BYTES = 2, 4 * 61706


def bundle_of(
    template: Path,
    path: Path,
    ranks: int,
    compute_s: float,
    communication_s: float,
    late_s: float = 0.0,
    samples: int = 64,
) -> Path:
    """A sealed bundle of ten steps, ``template`` with other steps and the names of its folder and
    its study as run id.

    Rank 0 waits ``late_s`` longer in the exchange, for the last rank; the first two steps are slow.
    """
    shutil.copytree(template, path)
    rows = []
    for step in range(1, 11):
        slow = 100.0 if step <= WARM_UP else 1.0
        for rank in range(ranks):
            late = late_s if ranks > 1 and rank < ranks - 1 else 0.0
            fetch_stall_s = 0.0 if late or ranks == 1 else late_s
            rows.append(
                (
                    1,
                    step,
                    rank,
                    samples // ranks,
                    step * 10**9,
                    fetch_stall_s,
                    0.0,
                    compute_s * slow,
                    communication_s + late,
                    2.3,
                )
            )
    frame = pandas.DataFrame(rows, columns=list(schemas.STEP_TYPES)).astype(schemas.STEP_TYPES)
    frames.write_table(frame, path / layout.STEPS)
    write_json(path / RUN, {**read_json(path / RUN), "run_id": f"{path.parent.name}-{path.name}"})
    manifest.seal(path)
    return path


def plan(
    values: tuple[str, ...],
    scaling: Scaling | None = Scaling.STRONG,
    repetitions: int = 2,
    hosts: int = 4,
) -> StudyPlan:
    """Of nodes, unless ``scaling`` is None."""
    variable = Variable.NODES if scaling else Variable.THREADS
    return StudyPlan(
        "scaling",
        "Scaling",
        variable,
        scaling,
        values,
        repetitions,
        WARM_UP,
        "lenet",
        "pytorch",
        "mnist",
        hosts,
    )


def make_sweep(
    folder: Path,
    scaling: Scaling | None,
    values: tuple[str, ...] = ("1", "2", "4", "8"),
    scatter: float = 0.05,
) -> Study:
    """A sealed study whose exchange is a ring's, times scattered by ``scatter``; without
    ``scaling``, of threads."""
    noise = random.Random(1)
    template = make_bundle(folder.parent / f"{folder.name}-template", Scenario(division="open"))
    of_plan = plan(values, scaling)
    for repetition in range(1, of_plan.repetitions + 1):
        for value in values:
            ranks, n = (int(value), int(value)) if scaling else (1, 1)
            share = 1 / n if scaling is Scaling.STRONG else 1.0 if scaling else 1 / int(value)
            exchange_s = (
                0.0
                if n == 1
                else (2 * (n - 1) * 1e-4 + 2 * (n - 1) / n * BYTES * 4e-9)
                * noise.uniform(1 - scatter, 1 + scatter)
            )
            compute_s = (0.001 + 0.0003 * 64 * share) * noise.uniform(1 - scatter, 1 + scatter)
            bundle_of(
                template, folder / folder_name(value, repetition), ranks, compute_s, exchange_s
            )
    shutil.rmtree(template)
    study = analyse_study(folder, of_plan)
    SWEEP.write(folder, study)
    return study


def make_matrix(
    folder: Path,
    times_s: Mapping[tuple[str, str], float],
    names: tuple[str, str] = ("framework", "batch_size"),
    seeds: int = 3,
    scatter: float = 0.02,
) -> Matrix:
    """A sealed matrix over the settings ``names``: ``times_s`` has the step of each point, which
    its runs scatter around."""
    noise = random.Random(2)
    template = make_bundle(folder.parent / f"{folder.name}-template", Scenario(division="open"))
    points = tuple(
        MatrixPointPlan(
            f"{one}_{two}".replace(".", "-"),
            (VariedSetting(names[0], one), VariedSetting(names[1], two)),
        )
        for one, two in times_s
    )
    of_plan = MatrixPlan(
        "Frameworks and batches", "lenet", "mnist", names, points, seeds, 1, WARM_UP, "interleaved"
    )
    for point, step_s in zip(points, times_s.values(), strict=True):
        for seed in range(1, seeds + 1):
            path = bundle_of(
                template,
                folder / folder_name(point.name, seed),
                1,
                step_s * noise.uniform(1 - scatter, 1 + scatter),
                0.0,
            )
            mark = StudyMark(
                of_plan.title,
                tuple((setting.name, setting.value) for setting in point.settings),
                WARM_UP,
            )
            write_json(path / RUN, {**read_json(path / RUN), "study": mark.to_dict()})
            manifest.seal(path)
    shutil.rmtree(template)
    matrix = analyse_matrix(folder, of_plan)
    MATRICES.write(folder, matrix)
    return matrix
