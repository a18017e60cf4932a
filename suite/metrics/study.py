"""A study: runs that differ in one setting, and what that setting changes. Everything in ``study.json`` is computed from the bundles beside it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.bundle.layout import MANIFEST, SCHEMA, STEPS
from suite.bundle.reader import Bundle
from suite.catalog.studies import Variable
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_json, write_json
from suite.files.toml_file import from_plain
from suite.metrics.figure import Figure, mean_figure, unknown
from suite.metrics.scaling_model import Observation, Scaling, ScalingModel, fit_scaling

if TYPE_CHECKING:
    import pandas

STUDY = "study.json"
VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Of what is varied: part of a folder's name."""

PARTS = ["fetch_stall_s", "copy_s", "compute_s", "communication_s"]
GRADIENT_BYTES = 4
"""Of a parameter: gradients are summed in float32."""

NO_MODEL = "only numbers of nodes are modelled"
TOO_SHORT = "the run has no more steps than are left out to warm up"
ONE_MACHINE = "All ranks shared one machine's cores and memory: the efficiency is that of sharing, and projections say nothing of a cluster."


@dataclass(frozen=True)
class StudyPlan:
    """What was asked. ``scaling`` is None unless nodes are varied; ``hosts`` is how many other machines were named, 0 for this one alone."""

    name: str
    title: str
    variable: Variable
    scaling: Scaling | None
    values: tuple[str, ...]
    repetitions: int
    warm_up_steps: int
    workload: str
    framework: str
    data: str
    hosts: int


@dataclass(frozen=True)
class StudyRun:
    """One bundle of a study, by its folder's name within the study's, and its seal."""

    folder: str
    run_id: str
    manifest_sha256: str


@dataclass(frozen=True)
class PointFigures:
    """Means over the runs of one value, each run's own a mean over its counted steps; spreads are over the runs.

    ``step_s`` is rank 0's fetch, copy, compute and communication. ``communication_s`` is the least that any rank spent in the exchange of a step:
    the others also waited for the slowest there, on average for ``waiting_s``. ``busy_s`` is the step without its communication.
    ``efficiency`` is T(1) / (n T(n)) in strong scaling, T(1) / T(n) in weak, of mean times; its spread is that of the single runs' T(n).
    """

    step_s: Figure
    samples_per_s: Figure
    busy_s: Figure
    communication_s: Figure
    communication_share: Figure
    waiting_s: Figure
    efficiency: Figure


@dataclass(frozen=True)
class StudyPoint:
    """The runs of one value."""

    value: str
    ranks: int
    runs: tuple[StudyRun, ...]
    figures: PointFigures


@dataclass(frozen=True)
class Study:
    """``study.json``. ``model`` is None where there is none, and then ``model_reason`` says why."""

    schema: int
    plan: StudyPlan
    points: tuple[StudyPoint, ...]
    model: ScalingModel | None
    model_reason: str | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class RunTimes:
    """A run's mean step in seconds, and what the model needs to know of the run."""

    ranks: int
    samples_per_step: float
    gradient_bytes: int | None
    step_s: float
    communication_s: float
    waiting_s: float


def folder_name(value: str, repetition: int) -> str:
    """Where a study keeps a run; repetitions count from 1."""
    return f"{value}-r{repetition}"


def analyse(directory: Path, plan: StudyPlan) -> Study:
    """Compute the study from its sealed bundles; raises SuiteError where one is missing or not finished."""
    bundles = {value: [Bundle(directory / folder_name(value, k)) for k in range(1, plan.repetitions + 1)] for value in plan.values}
    times = {value: [run_times(bundle, plan.warm_up_steps) for bundle in of_value] for value, of_value in bundles.items()}
    alone_s = [run.step_s for runs in times.values() for run in runs if run.ranks == 1]
    points = []
    for value, of_value in bundles.items():
        runs = tuple(StudyRun(bundle.path.name, bundle.run().run_id, sha256(bundle.path / MANIFEST)) for bundle in of_value)
        points.append(StudyPoint(value, times[value][0].ranks, runs, _figures(times[value], plan.scaling, alone_s)))
    every = [run for runs in times.values() for run in runs]
    model, reason = _model(every, plan.scaling)
    return Study(SCHEMA, plan, tuple(points), model, reason, _notes(every, plan))


def run_times(bundle: Bundle, warm_up_steps: int) -> RunTimes:
    """A run's mean step, from its records of all ranks; raises SuiteError for a run without a seal, or without counted steps."""
    if not bundle.is_sealed:
        raise SuiteError(f"{bundle.path} is no finished run; run the sweep again, it makes what is missing.")
    steps = bundle.steps_frame()
    counted = steps[steps["step"] > warm_up_steps]
    if counted.empty:
        raise SuiteError(f"{bundle.path}: {TOO_SHORT} ({warm_up_steps}); ask for more --steps.")
    first = counted[counted["rank"] == 0]
    spent = counted.groupby("step")["communication_s"].agg(["min", "mean"])
    parameters = bundle.log().value("parameters")
    return RunTimes(
        ranks=int(steps["rank"].nunique()),
        samples_per_step=float(counted.groupby("step")["samples"].sum().mean()),
        gradient_bytes=GRADIENT_BYTES * parameters if isinstance(parameters, int) else None,
        step_s=_mean_step_s(first),
        communication_s=float(spent["min"].mean()),
        waiting_s=float((spent["mean"] - spent["min"]).mean()),
    )


def _mean_step_s(first: "pandas.DataFrame") -> float:
    return float(first[PARTS].sum(axis=1).mean())


def _figures(runs: Sequence[RunTimes], scaling: Scaling | None, alone_s: Sequence[float]) -> PointFigures:
    def mean(values: Sequence[float], unit: str) -> Figure:
        return mean_figure(values, unit, STEPS, TOO_SHORT)

    efficiency = unknown("ratio", STEPS, NO_MODEL if scaling is None else "nothing was run on one rank")
    if scaling is not None and alone_s:
        base_s, shares = sum(alone_s) / len(alone_s), runs[0].ranks if scaling is Scaling.STRONG else 1
        of_runs = mean([base_s / (shares * run.step_s) for run in runs], "ratio")
        efficiency = replace(of_runs, value=base_s * len(runs) / (shares * sum(run.step_s for run in runs)))
    return PointFigures(
        step_s=mean([run.step_s for run in runs], "s"),
        samples_per_s=mean([run.samples_per_step / run.step_s for run in runs], "samples/s"),
        busy_s=mean([run.step_s - run.communication_s for run in runs], "s"),
        communication_s=mean([run.communication_s for run in runs], "s"),
        communication_share=mean([run.communication_s / run.step_s for run in runs], "ratio"),
        waiting_s=mean([run.waiting_s for run in runs], "s"),
        efficiency=efficiency,
    )


def _model(runs: Sequence[RunTimes], scaling: Scaling | None) -> tuple[ScalingModel | None, str | None]:
    if scaling is None:
        return None, NO_MODEL
    observations = [
        Observation(run.ranks, run.samples_per_step / run.ranks, run.gradient_bytes, run.step_s - run.communication_s, run.communication_s)
        for run in runs
        if run.gradient_bytes is not None
    ]
    if len(observations) < len(runs):
        return None, "a log does not say how many parameters were trained, so the size of the gradients is not known"
    try:
        return fit_scaling(observations, scaling), None
    except SuiteError as error:
        return None, str(error)


def _notes(runs: Sequence[RunTimes], plan: StudyPlan) -> tuple[str, ...]:
    return (ONE_MACHINE,) if plan.hosts == 0 and max(run.ranks for run in runs) > 1 else ()


def write(study: Study, directory: Path) -> Path:
    """Write ``study.json`` and seal it with the runs' manifests; returns its path."""
    path = directory / STUDY
    write_json(path, study.to_dict())
    sealed = [path, *(directory / run.folder / MANIFEST for point in study.points for run in point.runs)]
    lines = "".join(f"{sha256(file)}  {file.relative_to(directory).as_posix()}\n" for file in sealed)
    (directory / MANIFEST).write_text(lines, encoding="utf-8")
    return path


def read_study(directory: Path) -> Study:
    """The study's record; raises FileError where it is missing or not what the suite writes."""
    path = directory / STUDY
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    return _from_dict(read_json(path), path)


def _from_dict(values: Mapping[str, Any], path: Path) -> Study:
    if values.get("schema") != SCHEMA:
        raise FileError(path, f"has schema {values.get('schema')!r}; this version of the suite reads schema {SCHEMA}")
    return _refuse_contradictory(from_plain(dict(values), Study, f"{path}: "), path)


def _refuse_contradictory(study: Study, path: Path) -> Study:
    """The study itself: a stranger's record must not lead out of its folder, nor to runs that it does not name."""
    strange = [value for value in study.plan.values if not VALUE.fullmatch(value)]
    if strange:
        raise FileError(path, f"has the value {strange[0]!r}, which none can be")
    named = [(point.value, len(point.runs)) for point in study.points]
    if not named or named != [(value, study.plan.repetitions) for value in study.plan.values]:
        raise FileError(path, "does not name the runs that its plan asks for")
    return study
