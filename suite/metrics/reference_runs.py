"""Makes reference points from bundles and compares runs with them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reference_impls.contract import FLOAT32
from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog.reference_points import ReferencePoint, ReferenceRun, newest_points, setting_of
from suite.catalog.rounds import judging_round
from suite.catalog.workloads import Workload, load_workload
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.metrics.convergence import EpochsComparison, compare_epochs
from suite.metrics.summary import target_figures
from suite.metrics.targets import accuracies_of, continued_runs


def make_points(bundles: Sequence[Path]) -> tuple[ReferencePoint, ...]:
    """Reference points from sealed closed runs, and runs of the recipe that no target ended, by
    workload, batch size, learning rate, evaluation interval and local batch size.

    Runs that trained all their epochs and missed the target are kept: leaving them out would bias
    the point. Raises SuiteError for any other run, and for two of one setting, framework and seed:
    they are not two samples of the epochs.
    """
    found: dict[tuple[str, int, float, int, int], list[ReferenceRun]] = {}
    paths: dict[tuple[Any, ...], Path] = {}
    without_target = _accuracies(bundles)
    for path in bundles:
        run = Bundle(path).run()
        accuracies = without_target.get(run.run_id)
        if accuracies is None and run.request["target_accuracy"] is None:
            continue  # its epochs are those before the run that continues it
        key, reference = _reference_run(path, accuracies)
        first = paths.setdefault((*key, reference.framework, reference.seed), path)
        if first is not path:
            raise SuiteError(
                f"{first} and {path} have the same setting, framework ({reference.framework}) and"
                f" seed ({reference.seed}); leave one of them out."
            )
        found.setdefault(key, []).append(reference)
    return tuple(
        ReferencePoint(
            *key[:4], tuple(sorted(runs, key=lambda run: (run.framework, run.seed))), key[4] or None
        )
        for key, runs in sorted(found.items())
    )


def without_continued(bundles: Sequence[Path]) -> list[Path]:
    """The bundles without those of interrupted runs that another one continues: they are no
    reference runs themselves."""
    continued = continued_runs(map(Bundle, bundles))
    runs = ((path, Bundle(path).run()) for path in bundles)
    return [path for path, run in runs if run.status == "finished" or run.run_id not in continued]


def refuse_other_precisions(bundles: Sequence[Path]) -> None:
    """Raise SuiteError for a run that did not compute in float32: a point has no precision, so that
    its runs must share one."""
    for path in bundles:
        precision = Bundle(path).run().request.get("precision", FLOAT32)
        if precision != FLOAT32:
            raise SuiteError(
                f"{path} computed in {precision}, and reference runs compute in {FLOAT32}; leave it"
                " out."
            )


def _reference_run(
    path: Path, accuracies: Sequence[float] | None
) -> tuple[tuple[str, int, float, int, int], ReferenceRun]:
    """The run as a reference, and what identifies its point; ``accuracies`` of every epoch where no
    target ended it."""
    bundle = Bundle(path)
    run = bundle.run()
    request = run.request
    to_target: float | None
    if accuracies is not None:
        workload = load_workload(request["workload"])
        trained, to_target = len(accuracies), _reached(accuracies, workload)
        is_whole = trained == workload.epochs
    else:
        log = bundle.log()
        trained = len(log.finished_epochs())
        to_target = target_figures(log)["epochs_to_target"].value
        is_whole = request["division"] == "closed" and (
            to_target is not None or trained == request["epochs"]
        )
    if not bundle.is_sealed or run.status != "finished" or not is_whole:
        raise SuiteError(
            f"{path} cannot be a reference run; leave it out. A reference run is sealed and"
            " finished. A run with --no-target must have trained all epochs of its workload. A run"
            " with a target must be in the closed division, and must have reached the target or"
            " trained all its epochs. Do not leave out a run that meets these conditions."
        )
    batch_size, rate, local = setting_of(request, judging_round(run.round))
    key = (request["workload"], batch_size, rate, request["eval_every_epochs"], local)
    epochs = trained if to_target is None else int(to_target)
    return key, ReferenceRun(
        run.run_id,
        request["framework"],
        request["seed"],
        epochs,
        to_target is not None,
        sha256(bundle.file(MANIFEST)),
    )


def _accuracies(bundles: Sequence[Path]) -> dict[str, tuple[float, ...]]:
    """Of every epoch of the runs that no target ended, by run id."""
    by_workload: dict[str, list[Path]] = {}
    for path in bundles:
        request = Bundle(path).run().request
        if request["target_accuracy"] is None:
            by_workload.setdefault(request["workload"], []).append(path)
    return {
        run.run_id: run.accuracies
        for name, paths in by_workload.items()
        for setting in accuracies_of(paths, load_workload(name))
        for run in setting.runs
    }


def _reached(accuracies: Sequence[float], workload: Workload) -> int | None:
    """The first epoch with the accuracy that is the workload's target now; None: there is none."""
    target = workload.target_accuracy
    if target is None:
        raise SuiteError(f"{workload.name} has no target; set one in its definition first.")
    return next((epoch for epoch, value in enumerate(accuracies, 1) if value >= target), None)


def compare_runs(
    bundles: Sequence[Path], root: Path | None = None
) -> tuple[ReferencePoint, tuple[float, ...], EpochsComparison]:
    """The reference point for the runs, the runs' epochs to target (infinite: missed), and the
    test.

    Raises SuiteError if the runs differ in kind or have no point.
    """
    own = make_points(bundles)
    if len(own) != 1:
        kinds = (
            ", ".join(
                f"{point.workload} at batch size {point.batch_size} and learning rate"
                f" {point.base_learning_rate:g}"
                for point in own
            )
            or "none"
        )
        raise SuiteError(
            f"These runs belong to {len(own)} settings ({kinds}); compare one setting at a time."
        )
    (mine,) = own
    point = next(
        (
            point
            for point in newest_points(mine.workload, root)
            if replace(point, runs=mine.runs) == mine
        ),
        None,
    )
    if point is None:
        raise SuiteError(
            f"{mine.workload} has no reference point at batch size {mine.batch_size} and learning"
            f" rate {mine.base_learning_rate:g}; see `suite reference-points show {mine.workload}`."
        )
    return point, mine.epochs, compare_epochs(point.epochs, mine.epochs)
