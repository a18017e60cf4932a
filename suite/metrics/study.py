"""A study: runs that differ in one setting. Everything in ``study.json`` is computed from the
bundles in its folder."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.bundle.layout import MANIFEST, PARTS, SCHEMA, STEPS, STUDY
from suite.bundle.reader import Bundle
from suite.catalog.study_definitions import Variable
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_as
from suite.metrics.figure import Figure, mean_figure, unknown_figure
from suite.metrics.rank_figures import IN_COMPUTE
from suite.metrics.scaling_model import Observation, Scaling, ScalingModel, fit_scaling
from suite.metrics.sealed_record import SealedRecord
from suite.metrics.summary import NOT_SPLIT, wire_of
from suite.metrics.wire_figures import gradient_bytes

VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Pattern of a study's values, which are parts of folder names."""

NO_MODEL = "only a study over the number of nodes has a scaling model"
TOO_SHORT = "the run has no steps after the warm-up steps"
ACCUMULATED = "gradients of several mini-batches are summed: ranks do not exchange in every step"
NO_PARAMETERS = (
    "a log does not state the number of parameters, so the size of the gradients is unknown"
)
ONE_MACHINE = (
    "All ranks shared one machine's cores and memory: the efficiency describes this sharing, and"
    " the projections do not apply to a cluster."
)


@dataclass(frozen=True)
class StudyPlan:
    """The requested study. ``scaling`` is None unless nodes are varied; ``hosts`` is the number of
    hosts in the hostfile, 0 without one."""

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

    @property
    def varied(self) -> str:
        """What the values are, in words: ranks where a study of nodes had no hostfile, since ranks
        on one machine are no nodes."""
        return "ranks" if self._is_on_one_machine else self.variable.value.replace("_", " ")

    @property
    def heading(self) -> str:
        """The title, with ranks in place of nodes where the ranks shared one machine."""
        return self.title.replace("nodes", "ranks") if self._is_on_one_machine else self.title

    @property
    def _is_on_one_machine(self) -> bool:
        return self.variable is Variable.NODES and self.hosts == 0


@dataclass(frozen=True)
class StudyRun:
    """One bundle of a study: the name of its folder within the study's, its run id and the digest
    of its manifest."""

    folder: str
    run_id: str
    manifest_sha256: str


@dataclass(frozen=True)
class PointFigures:
    """Figures of one value: means and spreads over its runs of each run's mean over the steps after
    warm-up.

    ``step_s`` is rank 0's fetch stall, copy, compute and communication. ``exchange_s`` is the
    minimum over the ranks of the time in a step's exchange; ``waiting_s`` is the mean over the
    ranks beyond it, the wait for the slowest rank. ``busy_s`` is ``step_s`` minus ``exchange_s``.
    These three and ``exchange_share`` are unknown with the framework's collectives, which exchange
    in the backward pass.
    ``efficiency`` of mean times is T(1) / (n T(n)) in strong scaling, T(1) / T(n) in weak; its
    spread is that of T(n).
    """

    step_s: Figure
    samples_per_s: Figure
    busy_s: Figure
    exchange_s: Figure
    exchange_share: Figure
    waiting_s: Figure
    efficiency: Figure


@dataclass(frozen=True)
class StudyPoint:
    """One value: its runs and figures."""

    value: str
    ranks: int
    runs: tuple[StudyRun, ...]
    figures: PointFigures


@dataclass(frozen=True)
class Study:
    """``study.json``. ``model_reason`` is the reason if ``model`` is None."""

    schema: int
    plan: StudyPlan
    points: tuple[StudyPoint, ...]
    model: ScalingModel | None
    model_reason: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class StudyRunTimes:
    """A run's mean step and its parts, in seconds, over ``counted_steps``, and the model's inputs.
    With the framework's collectives the exchange is part of compute, and not timed."""

    ranks: int
    counted_steps: int
    samples_per_step: float
    gradient_bytes: int | None
    accumulation: int
    step_s: float
    fetch_stall_s: float
    compute_s: float
    is_exchange_timed: bool
    exchange_s: float
    waiting_s: float


def folder_name(value: str, repetition: int) -> str:
    """The folder of a run within the study; repetitions start at 1."""
    return f"{value}-r{repetition}"


def analyse_study(directory: Path, plan: StudyPlan) -> Study:
    """Compute the study from its sealed bundles; raises SuiteError if one is missing or not
    finished."""
    bundles = {value: repetitions(directory, value, plan.repetitions) for value in plan.values}
    times = {
        value: [run_times(bundle, plan.warm_up_steps) for bundle in runs]
        for value, runs in bundles.items()
    }
    every = [run for runs in times.values() for run in runs]
    single_rank_s = [run.step_s for run in every if run.ranks == 1]
    points = tuple(
        StudyPoint(
            value,
            times[value][0].ranks,
            study_runs(runs),
            _figures(times[value], plan.scaling, single_rank_s),
        )
        for value, runs in bundles.items()
    )
    model, reason = _model(every, plan.scaling)
    on_one_machine = plan.hosts == 0 and max(run.ranks for run in every) > 1
    return Study(SCHEMA, plan, points, model, reason, (ONE_MACHINE,) if on_one_machine else ())


def repetitions(directory: Path, point: str, count: int) -> list[Bundle]:
    """The bundles of a point."""
    return [Bundle(directory / folder_name(point, number)) for number in range(1, count + 1)]


def study_runs(bundles: Sequence[Bundle]) -> tuple[StudyRun, ...]:
    """What the record names of these bundles."""
    return tuple(
        StudyRun(bundle.path.name, bundle.run().run_id, sha256(bundle.path / MANIFEST))
        for bundle in bundles
    )


def run_times(bundle: Bundle, warm_up_steps: int) -> StudyRunTimes:
    """A run's mean step, from the records of all ranks; raises SuiteError for an unsealed run or
    one without steps after warm-up."""
    if not bundle.is_sealed:
        raise SuiteError(f"{bundle.path} is not a finished run; run the sweep again to make it.")
    steps = bundle.steps_frame()
    counted = steps[steps["step"] > warm_up_steps]
    if counted.empty:
        raise SuiteError(f"{bundle.path}: {TOO_SHORT} ({warm_up_steps}); use more --steps.")
    first = counted[counted["rank"] == 0]
    exchange = counted.groupby("step")["communication_s"].agg(["min", "mean"])
    log = bundle.log()
    return StudyRunTimes(
        ranks=int(steps["rank"].nunique()),
        counted_steps=len(first),
        samples_per_step=float(counted.groupby("step")["samples"].sum().mean()),
        gradient_bytes=gradient_bytes(log, wire_of(bundle)),
        accumulation=int(bundle.run().request.get("accumulation", 1)),
        step_s=float(first[list(PARTS)].sum(axis=1, skipna=False).mean(skipna=False)),
        fetch_stall_s=float(first["fetch_stall_s"].mean()),
        compute_s=float(first["compute_s"].mean()),
        is_exchange_timed=log.value("collective") != "native",
        exchange_s=float(exchange["min"].mean()),
        waiting_s=float((exchange["mean"] - exchange["min"]).mean()),
    )


def mean_of_steps(values: Sequence[float], unit: str) -> Figure:
    """The mean over runs; unknown with one of which asynchronous timing does not know the value."""
    is_split = not any(map(math.isnan, values))
    return mean_figure(values if is_split else (), unit, STEPS, NOT_SPLIT)


def _figures(
    runs: Sequence[StudyRunTimes], scaling: Scaling | None, single_rank_s: Sequence[float]
) -> PointFigures:
    def of_exchange(values: Sequence[float], unit: str = "s") -> Figure:
        is_timed = all(run.is_exchange_timed for run in runs)
        return mean_of_steps(values, unit) if is_timed else unknown_figure(unit, STEPS, IN_COMPUTE)

    efficiency = unknown_figure(
        "ratio", STEPS, NO_MODEL if scaling is None else "the study has no run on one rank"
    )
    if scaling is not None and single_rank_s:
        base_s = sum(single_rank_s) / len(single_rank_s)
        shares = runs[0].ranks if scaling is Scaling.STRONG else 1
        efficiency = mean_of_steps([base_s / (shares * run.step_s) for run in runs], "ratio")
        if efficiency.value is not None:
            of_means = base_s * len(runs) / (shares * sum(run.step_s for run in runs))
            efficiency = replace(efficiency, value=of_means)
    return PointFigures(
        step_s=mean_of_steps([run.step_s for run in runs], "s"),
        samples_per_s=mean_of_steps(
            [run.samples_per_step / run.step_s for run in runs], "samples/s"
        ),
        busy_s=of_exchange([run.step_s - run.exchange_s for run in runs]),
        exchange_s=of_exchange([run.exchange_s for run in runs]),
        exchange_share=of_exchange([run.exchange_s / run.step_s for run in runs], "ratio"),
        waiting_s=of_exchange([run.waiting_s for run in runs]),
        efficiency=efficiency,
    )


def _model(
    runs: Sequence[StudyRunTimes], scaling: Scaling | None
) -> tuple[ScalingModel | None, str | None]:
    if scaling is None:
        return None, NO_MODEL
    observations = [
        Observation(
            run.ranks,
            run.samples_per_step / run.ranks,
            run.gradient_bytes,
            run.step_s - run.exchange_s,
            run.exchange_s,
        )
        for run in runs
        if run.gradient_bytes is not None
    ]
    if not all(run.is_exchange_timed for run in runs):
        return None, IN_COMPUTE
    if any(run.accumulation > 1 for run in runs):
        return None, ACCUMULATED
    if any(math.isnan(run.step_s) for run in runs):
        return None, NOT_SPLIT
    if len(observations) < len(runs):
        return None, NO_PARAMETERS
    try:
        return fit_scaling(observations, scaling), None
    except SuiteError as error:
        return None, str(error)


def read_study(directory: Path) -> Study:
    """Read ``study.json``, an untrusted file; raises FileError if it is missing or malformed."""
    path = directory / STUDY
    study = read_as(path, Study, SCHEMA)
    refuse_unplanned(
        path,
        [(value, study.plan.repetitions) for value in study.plan.values],
        [(point.value, len(point.runs)) for point in study.points],
    )
    return study


def refuse_unplanned(
    path: Path, planned: Sequence[tuple[str, int]], there: Sequence[tuple[str, int]]
) -> None:
    """Raise FileError for points (name and number of runs) that are not those planned, or whose
    names are no safe names of folders."""
    for name, _ in planned:
        if not VALUE.fullmatch(name):
            raise FileError(
                path,
                f"names a point {name!r}; such names may have only letters, digits, - and _",
            )
    if not there or list(there) != list(planned):
        raise FileError(path, "does not list the runs of its plan")


def sealed_runs(folder: Path, record: str, runs: Iterable[Sequence[StudyRun]]) -> list[Path]:
    """What the manifest of a study lists: its record, and the manifests of all points' runs."""
    manifests = (folder / run.folder / MANIFEST for of_point in runs for run in of_point)
    return [folder / record, *manifests]


SWEEP = SealedRecord(
    STUDY,
    "run the sweep again (`suite sweep`)",
    lambda folder: sealed_runs(folder, STUDY, (one.runs for one in read_study(folder).points)),
    lambda folder: analyse_study(folder, read_study(folder).plan),
)
