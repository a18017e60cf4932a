"""Targets by a procedure: what nearly every run of the reference reaches well before its schedule
ends.

A target is at most the one-sided normal tolerance bound of the best accuracies of reference runs
(Natrella, "Experimental Statistics", NBS Handbook 91, 1963, section 2-5): mean less k standard
deviations, k from the noncentral t distribution. The accuracies are the best before a share of the
schedule has passed, since runs that all pass near the end of the schedule differ in throughput
alone. The numbers are in rules/scoring.toml.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference_impls.contract import EQUAL, EXACT, FLOAT32
from suite.bundle.data_record import read_data_record
from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog.accuracies import ReferenceAccuracies, RunAccuracies
from suite.catalog.data_sets import load_data_set
from suite.catalog.scoring import TargetProcedure, load_scoring
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.files.digest import sha256
from suite.files.schema import Share, problem_of
from suite.metrics.summary import resumption_of


@dataclass(frozen=True)
class FollowingTarget:
    """What the runs of one setting allow as a target. Accuracies are shares of the evaluation set.

    ``best`` are the highest accuracies of the runs in the first ``until_epoch`` epochs.
    ``deviations`` is k; it, ``bound`` and ``highest_target`` (the bound rounded down) are None with
    fewer than two runs. ``missing`` says what the procedure lacks, empty if nothing.
    """

    batch_size: int
    base_learning_rate: float
    until_epoch: int
    best: tuple[float, ...]
    deviations: float | None
    bound: float | None
    highest_target: float | None
    missing: str


def tolerance_factor(runs: int, procedure: TargetProcedure) -> float:
    """k: standard deviations below the mean of ``runs`` values, beyond which a share ``coverage``
    of a normal distribution lies with the given confidence."""
    from scipy import stats  # type: ignore[import-untyped]  # start-up: SciPy

    shift = stats.norm.ppf(procedure.coverage) * math.sqrt(runs)
    return float(stats.nct.ppf(procedure.confidence, runs - 1, shift) / math.sqrt(runs))


def target_from_runs(setting: ReferenceAccuracies) -> FollowingTarget:
    """The target that follows from the runs of a setting."""
    procedure = load_scoring().targets
    until_epoch = math.floor(procedure.share_of_schedule * setting.epochs)
    best = tuple(max(run.accuracies[:until_epoch]) for run in setting.runs)
    known = (setting.batch_size, setting.base_learning_rate, until_epoch, best)
    missing = _missing(setting.runs, procedure)
    if len(best) < 2:
        return FollowingTarget(*known, None, None, None, missing)
    factor = tolerance_factor(len(best), procedure)
    bound = float(np.mean(best) - factor * np.std(best, ddof=1))
    steps = math.floor(bound / procedure.step + 1e-9)  # 0.99 is 198 steps of 0.005, not 197.99…
    return FollowingTarget(*known, factor, bound, steps * procedure.step, missing)


def _missing(runs: Sequence[RunAccuracies], procedure: TargetProcedure) -> str:
    frameworks = {run.framework for run in runs}
    lacks = []
    if len(runs) < procedure.min_runs:
        lacks.append(counted(procedure.min_runs - len(runs), "more run"))
    if len(frameworks) < procedure.min_frameworks:
        lacks.append(f"runs of {procedure.min_frameworks} frameworks (seen: {len(frameworks)})")
    return ", ".join(lacks)


def accuracies_of(bundles: Sequence[Path], workload: Workload) -> tuple[ReferenceAccuracies, ...]:
    """The accuracies of sealed runs of the workload's recipe that no target ended.

    A resumed run has the epochs before it from the run that it continues, which must be among the
    bundles. Raises SuiteError for a run of another recipe or without all of these epochs.
    """
    by_id = {bundle.run().run_id: bundle for bundle in map(Bundle, bundles)}
    continued = continued_runs(by_id.values())
    found: dict[tuple[int, float, int], list[RunAccuracies]] = {}
    for run_id, bundle in by_id.items():
        if run_id not in continued:
            setting, run = _of_run(bundle, by_id, workload)
            found.setdefault(setting, []).append(run)
    return tuple(ReferenceAccuracies(*key, tuple(runs)) for key, runs in sorted(found.items()))


def continued_runs(bundles: Iterable[Bundle]) -> set[str]:
    """The ids of the runs that one of these continues."""
    resumptions = map(resumption_of, bundles)
    return {resumed.run_id for resumed in resumptions if resumed is not None}


def refuse_other_settings(found: Sequence[ReferenceAccuracies], workload: Workload) -> None:
    """Raise SuiteError for runs at a setting that carries no target: neither the workload's own nor
    an end of its tunable batch sizes."""
    own = workload.batch_size, workload.optimizer.base_learning_rate
    ends, rates = workload.tunable.batch_size, workload.tunable.base_learning_rate
    for each in found:
        size, rate = each.batch_size, each.base_learning_rate
        is_end = size in ends and size != own[0] and rates[0] <= rate <= rates[1]
        if (size, rate) != own and not is_end:
            raise SuiteError(
                f"{each.runs[0].run_id} trained {workload.name} at batch size {size} and learning"
                f" rate {rate:g}. A target comes from batch size {own[0]} at {own[1]:g} and from"
                " the ends of the tunable range; leave it out."
            )


def _refuse_other_recipe(bundle: Bundle, workload: Workload) -> None:
    request, any_rate = bundle.run().request, {"base_learning_rate": None}
    part, parallel = workload.requested_part, request["parallel"]
    compared = {
        "workload": (request["workload"], workload.name),
        f"data (all of the published {workload.data})": (_is_published(bundle, workload), True),
        "epochs": (request["epochs"], workload.epochs),
        "optimizer": (request["optimizer"] | any_rate, vars(workload.optimizer) | any_rate),
        "trained part": (request.get("trains"), None if part is None else part._asdict()),
        "mini-batches per update": (request.get("accumulation", 1), 1),
        "rounding of sent gradients": (parallel.get("wire", EXACT), EXACT),
        "shares of the ranks": (parallel.get("shares", EQUAL), EQUAL),
    }
    if different := [name for name, (found, defined) in compared.items() if found != defined]:
        raise SuiteError(
            f"{bundle.path} differs from the workload {workload.name} in: {', '.join(different)};"
            " leave it out."
        )


def _is_published(bundle: Bundle, workload: Workload) -> bool:
    """Whether the run read all of the workload's own data, by the digests of their files; pictures
    are not listed, and the harness has verified them."""
    data, own = bundle.run().request["data"], load_data_set(workload.data)
    if any(data[name] != getattr(own, name) for name in ("name", "train_samples", "eval_samples")):
        return False
    if not own.files:
        return bool(data["verified"])
    read = {file.name: file.sha256 for file in read_data_record(bundle).files}
    return read == {file.name: file.sha256 for file in own.files}


def _of_run(
    bundle: Bundle, by_id: dict[str, Bundle], workload: Workload
) -> tuple[tuple[int, float, int], RunAccuracies]:
    _refuse_other_recipe(bundle, workload)
    run = bundle.run()
    request = run.request
    rate = float(request["optimizer"]["base_learning_rate"])
    accuracies, epochs = _accuracies(bundle, by_id), workload.epochs
    needed = math.floor(load_scoring().targets.share_of_schedule * epochs)
    target = request["target_accuracy"]
    is_ended = target is not None and max(accuracies, default=0.0) >= target
    if is_ended or not bundle.is_sealed or len(accuracies) < needed:
        raise SuiteError(
            f"{bundle.path} is not a sealed run of at least {needed} of {epochs} epochs that no"
            " target ended; train it with --no-target. If it continues an interrupted run, name"
            " that run too."
        )
    return (int(request["global_batch_size"]), rate, epochs), RunAccuracies(
        run.run_id,
        request["framework"],
        int(request["seed"]),
        request.get("precision", FLOAT32),
        request.get("accelerator", "cpu"),
        sha256(bundle.file(MANIFEST)),
        accuracies,
    )


def _accuracies(bundle: Bundle, by_id: dict[str, Bundle]) -> tuple[float, ...]:
    resumed = resumption_of(bundle)
    before: tuple[float, ...] = ()
    if resumed is not None:
        others = {run_id: each for run_id, each in by_id.items() if each is not bundle}
        if resumed.run_id not in others:
            raise SuiteError(
                f"{bundle.path} continues the run {resumed.run_id}; name that run, too."
            )
        others[resumed.run_id].expect_sealed("seal it with `suite finish`")
        # the restored state is evaluated first: that accuracy is this run's
        before = _accuracies(others[resumed.run_id], others)[: resumed.epoch - 1]
    own = [event.value for event in bundle.log().all("eval_accuracy")]
    if problem := problem_of(own, tuple[Share, ...]):
        raise SuiteError(
            f"{bundle.path} logged an accuracy that is not a fraction of the evaluation set "
            f"({problem}); leave it out."
        )
    return (*before, *map(float, own))
