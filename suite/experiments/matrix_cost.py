"""What the runs of a matrix will take, from finished runs like them on this machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from reference_impls.contract import NS_PER_S, Request
from reference_impls.updates import steps_per_epoch
from suite.bundle.layout import MANIFEST, STEPS
from suite.bundle.lifetime import read_lifetime
from suite.bundle.log import Log
from suite.bundle.reader import Bundle, RunRecord
from suite.bundle.request import read_request
from suite.catalog.timings import EVALUATION_OF_STEP
from suite.errors import SuiteError
from suite.execution.events import CostEstimated
from suite.execution.request import RunRequest
from suite.files.counted import counted
from suite.metrics.counted_time import counted_power_w
from suite.metrics.epoch_from_steps import MIN_STEPS
from suite.metrics.summary import read_summary

MAX_READ = 50
_DEPTH = 3
ALIKE = ("workload", "framework", "global_batch_size", "accelerator", "precision")
"""Keys of the request in which runs that take as long per sample are the same; so are their
data."""


@dataclass(frozen=True)
class Pace:
    """How fast a finished run was, s: once (start, first step, closing), per sample of its other
    steps, and per evaluation (None: it made none); and its mean power in counted time (None: not
    measured). ``settings`` are its data set and its values of ALIKE."""

    settings: tuple[object, ...]
    once_s: float
    sample_s: float
    evaluation_s: float | None
    power_w: float | None


def estimate_matrix_cost(requests: Sequence[RunRequest], folder: Path) -> CostEstimated:
    """Time and energy of the requests, from finished runs in ``folder`` and beside it. Unknown
    where none of the finished runs is like one of them.

    A run is taken to need as long per sample and evaluation as the median of those like it; other
    settings make it differ, so it is an estimate.
    """
    wanted = {_settings(request.training) for request in requests}
    paces = [pace for pace in _paces(folder) if pace.settings in wanted]
    costs = [_cost(request.training, request.baseload_s, paces) for request in requests]
    if not costs or None in costs:
        return CostEstimated(
            len(requests),
            None,
            None,
            "for some of these runs, neither the output folder nor a folder next to it has a"
            " finished run with the same workload, data, framework, batch size, accelerator and"
            " precision",
        )
    known = [cost for cost in costs if cost is not None]
    powers = [power for _, power in known]
    energy_j = None if None in powers else sum(time_s * (power or 0.0) for time_s, power in known)
    return CostEstimated(
        len(requests),
        sum(time_s for time_s, _ in known),
        energy_j,
        f"estimated from the steps and evaluations of {counted(len(paces), 'finished run')},"
        " without pauses for cooling",
    )


def _settings(training: Request) -> tuple[object, ...]:
    return (training.data.name, *(getattr(training, name) for name in ALIKE))


def _cost(
    training: Request, baseload_s: float, paces: Sequence[Pace]
) -> tuple[float, float | None] | None:
    """Seconds, and watts where known, of one request."""
    like = [pace for pace in paces if pace.settings == _settings(training)]
    if not like:
        return None
    samples, epochs = training.data.train_samples * training.epochs, training.epochs
    if training.steps is not None:
        samples = min(samples, training.steps * training.global_batch_size)
        epochs = min(epochs, training.steps // steps_per_epoch(training))
    sample_s = median(pace.sample_s for pace in like)
    known_s = [pace.evaluation_s for pace in like if pace.evaluation_s is not None]
    evaluation_s = (
        median(known_s) if known_s else EVALUATION_OF_STEP * training.data.eval_samples * sample_s
    )
    powers_w = [pace.power_w for pace in like if pace.power_w is not None]
    time_s = (
        baseload_s
        + median(pace.once_s for pace in like)
        + samples * sample_s
        + epochs // training.eval_every_epochs * evaluation_s
    )
    return time_s, median(powers_w) if powers_w else None


def _paces(folder: Path) -> Iterator[Pace]:
    """The paces of the last finished runs in the folder, and of those in the folders beside it."""
    place = folder if folder.is_dir() else folder.parent
    found = {
        path
        for root in (place, folder.parent)
        if root.is_dir()
        for depth in range(1, _DEPTH)
        for path in root.glob("*/" * depth + STEPS)
    }
    finished = [path.parent for path in found if (path.parent / MANIFEST).is_file()]
    for path in sorted(finished, key=lambda each: (each / MANIFEST).stat().st_mtime, reverse=True)[
        :MAX_READ
    ]:
        try:
            yield _pace(Bundle(path))
        except (SuiteError, KeyError, TypeError, ValueError, ZeroDivisionError):
            continue  # a damaged run tells nothing about the cost


def _pace(bundle: Bundle) -> Pace:
    """The pace of a run, its first step apart: caches and compilers warm up in it. Raises
    ValueError for too few steps."""
    training, summary = read_request(bundle.run(), str(bundle.path)), read_summary(bundle)
    figures, epochs, starts_ns = (
        summary["figures"],
        summary["epochs"],
        bundle.steps().first_rank.start_ns,
    )
    if len(starts_ns) < MIN_STEPS:
        raise ValueError("too few steps")
    run_s = float(figures["gross_time_s"]["value"])
    first_s = float(starts_ns[1] - starts_ns[0]) / NS_PER_S
    steps_s = sum(epoch["end_to_end_s"] for epoch in epochs) - first_s
    samples = sum(epoch["samples"] for epoch in epochs) - training.global_batch_size
    evaluations_s = list(_evaluations_s(bundle.log()))
    started_s = max(float(figures["initialisation_s"]["value"]), _around_s(bundle.run(), run_s))
    return Pace(
        settings=_settings(training),
        once_s=started_s + max(0.0, run_s - steps_s - sum(evaluations_s)),
        sample_s=steps_s / samples,
        evaluation_s=sum(evaluations_s) / len(evaluations_s) if evaluations_s else None,
        power_w=counted_power_w(figures),
    )


def _evaluations_s(log: Log) -> Iterator[float]:
    for begun, ended in zip(log.all("eval_start"), log.all("eval_stop"), strict=False):
        if begun.mono_ns is not None and ended.mono_ns is not None:
            yield (ended.mono_ns - begun.mono_ns) / NS_PER_S


def _around_s(record: RunRecord, run_s: float) -> float:
    """Seconds of the run's lifetime before and after its ``run_s``, without the baseload; 0 where
    they are unknown, or it was closed later."""
    lifetime = read_lifetime(record.lifetime)
    if lifetime is None or lifetime.closed_ns is None or record.closed_later is not None:
        return 0.0
    idle_ns = sum(stop - start for start, stop in lifetime.idle_ns)
    return (lifetime.closed_ns - lifetime.begin_ns - idle_ns) / NS_PER_S - run_s
