"""What the runs of a matrix will take, from finished runs of the same workload and framework on
this machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from reference_impls.contract import NS_PER_S
from suite.bundle.layout import MANIFEST, STEPS
from suite.bundle.lifetime import read_lifetime
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import SuiteError
from suite.execution.events import CostEstimated
from suite.execution.request import RunRequest
from suite.metrics.summary import read_summary

MAX_READ = 50
_DEPTH = 3


@dataclass(frozen=True)
class Pace:
    """How fast a finished run was: seconds around its steps (start, loading, closing) and per
    sample, and its mean power (None: not measured)."""

    workload: str
    framework: str
    start_s: float
    sample_s: float
    power_w: float | None


def estimate_matrix_cost(requests: Sequence[RunRequest], folder: Path) -> CostEstimated:
    """Time and energy of the requests, from finished runs in ``folder`` and beside it. Unknown
    where none of the finished runs is like one of them.

    A run is taken to need as long per sample as the median of the finished ones; other settings
    make it differ, so it is an estimate.
    """
    paces = list(_paces(folder))
    costs = [_cost(request, paces) for request in requests]
    if not costs or None in costs:
        return CostEstimated(
            len(requests),
            None,
            None,
            "no run of this workload and framework was finished in or beside the folder",
        )
    known = [cost for cost in costs if cost is not None]
    powers = [power for _, power in known]
    energy_j = None if None in powers else sum(time_s * (power or 0.0) for time_s, power in known)
    return CostEstimated(
        len(requests),
        sum(time_s for time_s, _ in known),
        energy_j,
        f"from {len(paces)} finished runs, by samples; without cooling",
    )


def _cost(request: RunRequest, paces: Sequence[Pace]) -> tuple[float, float | None] | None:
    """Seconds, and watts where known, of one request."""
    like = [
        pace
        for pace in paces
        if (pace.workload, pace.framework) == (request.workload.name, request.framework.name)
    ]
    if not like:
        return None
    training = request.training
    samples = training.data.train_samples * training.epochs
    if training.steps is not None:
        samples = min(samples, training.steps * training.global_batch_size)
    powers_w = [pace.power_w for pace in like if pace.power_w is not None]
    time_s = (
        request.baseload_s
        + median(pace.start_s for pace in like)
        + samples * median(pace.sample_s for pace in like)
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
    request, summary = bundle.run().request, read_summary(bundle)
    figures, samples = summary["figures"], sum(epoch["samples"] for epoch in summary["epochs"])
    run_s, energy_j = float(figures["gross_time_s"]["value"]), figures["energy_j"]["value"]
    return Pace(
        workload=str(request["workload"]),
        framework=str(request["framework"]),
        start_s=max(float(figures["initialisation_s"]["value"]), _around_s(bundle.run(), run_s)),
        sample_s=run_s / samples,
        power_w=None if energy_j is None else float(energy_j) / run_s,
    )


def _around_s(record: RunRecord, run_s: float) -> float:
    """Seconds of the run's lifetime before and after its ``run_s``, without the baseload; 0 where
    they are unknown, or it was closed later."""
    lifetime = read_lifetime(record.lifetime)
    if lifetime is None or lifetime.closed_ns is None or record.closed_later is not None:
        return 0.0
    idle_ns = sum(stop - start for start, stop in lifetime.idle_ns)
    return (lifetime.closed_ns - lifetime.begin_ns - idle_ns) / NS_PER_S - run_s
