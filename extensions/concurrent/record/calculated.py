"""The figures of a measurement, computed from its raw records alone, and what two sides lose by
running beside each other."""

import math
from dataclasses import dataclass

import numpy as np

from suite.extensions.concurrent.record import intervals
from suite.extensions.concurrent.record.arrivals import NS_PER_S, ArrivalKind, Times
from suite.extensions.concurrent.record.intervals import Values
from suite.extensions.concurrent.record.queueing import Load, Prediction, gap_variation, predict
from suite.extensions.concurrent.record.records import Recording
from suite.extensions.concurrent.record.stability import Stability, stability
from suite.metrics.linear_fit import FittedValue

LEVELS = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class InferenceFigures:
    """Of one measurement's images, s. Latency is from an image's *intended* arrival to the end of
    its batch; queueing from there to the batch's start, execution from its start to its end:
    latency = queueing + execution.

    None, with the reason in ``notes``, is what cannot be said. ``queueing_s`` is that of finished
    images alone, and no mean where others are left. ``lateness_s`` is by how much the
    generator noticed images later than intended: mean, 99th percentile, maximum. ``arrival_gap_s``
    is the sawtooth's slope (:func:`arrival_gap_s`).
    """

    images: int
    unfinished: int
    batches: int
    latency_s: FittedValue | None
    p50_s: FittedValue | None
    p90_s: FittedValue | None
    p99_s: FittedValue | None
    max_s: float | None
    queueing_s: FittedValue | None
    execution_s: FittedValue | None
    lateness_s: tuple[float, float, float]
    arrival_gap_s: float | None
    stability: Stability
    utilisation: float | None
    prediction: Prediction | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TrainingFigures:
    """Of the training steps that ended while images arrived: ``samples_per_s`` and ``steps_per_s``
    from the first step's end to the last one's."""

    steps: int
    samples_per_s: FittedValue | None
    steps_per_s: FittedValue | None


@dataclass(frozen=True)
class Interference:
    """What running beside each other costs: ``training`` is throughput beside / alone,
    ``execution`` a batch's execution time beside / alone.

    The intervals are of values within each measurement; what differs between measurements is not in
    them.
    """

    training: FittedValue | None
    execution: FittedValue | None


def latencies_s(found: Recording) -> Values:
    """The latency of every image, in the order of arrival; infinite for those that were not
    finished."""
    ends = np.full(len(found.intended_ns), math.inf)
    finished = _per_image(found, "end_ns")
    ends[: len(finished)] = finished
    return (ends - found.intended_ns) / NS_PER_S


def inference_figures(found: Recording) -> InferenceFigures:
    """The figures of the inference; of a measurement in which no batch ended, all that remains is
    the count and the queue."""
    setting, size = found.setting, found.setting.batch
    all_s = latencies_s(found)
    done = int(np.isfinite(all_s).sum())
    starts, ends = _per_image(found, "start_ns"), _per_image(found, "end_ns")
    queueing_s = (starts - found.intended_ns[:done]) / NS_PER_S
    levels = intervals.quantiles(all_s, LEVELS, size) if done else None
    p50, p90, p99 = (
        each if each and math.isfinite(each.high) else None for each in levels or (None, None, None)
    )
    load, notes = _load(found), list(_notes(found, done))
    is_plain = load is not None and setting.deadline_s is None
    return InferenceFigures(
        images=len(all_s),
        unfinished=len(all_s) - done,
        batches=len(found.batches),
        latency_s=intervals.mean(all_s, size) if done == len(all_s) else None,
        p50_s=p50,
        p90_s=p90,
        p99_s=p99,
        max_s=float(all_s.max()) if 0 < done == len(all_s) else None,
        queueing_s=intervals.mean(queueing_s, size),
        execution_s=intervals.mean((ends - starts) / NS_PER_S, size),
        lateness_s=_lateness_s(found),
        arrival_gap_s=arrival_gap_s(found),
        stability=stability(found.intended_ns, ends, len(found.batches), setting.window_ns),
        utilisation=load.utilisation if load is not None else None,
        prediction=predict(load) if load is not None and is_plain else None,
        notes=tuple(notes),
    )


def training_figures(found: Recording) -> TrainingFigures:
    """The figures of the training."""
    inside = found.steps[(found.steps[:, 1] >= 0) & (found.steps[:, 1] <= found.setting.window_ns)]
    ends_s, samples = inside[:, 1] / NS_PER_S, inside[:, 2].astype(np.float64)
    return TrainingFigures(
        len(inside), intervals.rate(samples, ends_s), intervals.rate(np.ones(len(inside)), ends_s)
    )


def interference(
    beside: Recording, trained_alone: Recording, inferred_alone: Recording
) -> Interference:
    """Both sides of a measurement against their baselines."""
    of_training = (
        training_figures(beside).samples_per_s,
        training_figures(trained_alone).samples_per_s,
    )
    of_execution = (_batch_execution_s(beside), _batch_execution_s(inferred_alone))
    return Interference(_ratio(*of_training), _ratio(*of_execution))


def arrival_gap_s(found: Recording) -> float | None:
    """The slope of the sawtooth: by how much latency falls from one image of a batch to the next,
    least squares over all batches.

    Latency is counted here from when the image was *noticed*: that the intended arrivals have equal
    gaps is no measurement. None for batches of one.
    """
    counts = found.column("images")
    noticed_s = found.noticed_ns[: int(counts.sum())] / NS_PER_S
    if not (counts > 1).any():
        return None
    batch = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(noticed_s)) - np.repeat(found.column("first"), counts)
    centred = place - np.repeat((counts - 1) / 2, counts)
    means = np.bincount(batch, noticed_s) / counts
    return float((centred * (noticed_s - means[batch])).sum() / (centred**2).sum())


def share_of_windows(
    values_s: Values, limit_s: float, level: float = 0.99, window: int = 1000
) -> float | None:
    """The share of windows of ``window`` consecutive images whose quantile at ``level`` is within
    the limit; None without a whole window."""
    whole = len(values_s) // window
    if not whole:
        return None
    of_windows = np.quantile(
        values_s[: whole * window].reshape(whole, window), level, axis=1, method="inverted_cdf"
    )
    return float((of_windows <= limit_s).mean())


def _per_image(found: Recording, name: str) -> Times:
    """A column of the batches for each of their images."""
    return np.repeat(found.column(name), found.column("images"))


def _lateness_s(found: Recording) -> tuple[float, float, float]:
    late_s = (found.noticed_ns - found.intended_ns[: len(found.noticed_ns)]) / NS_PER_S
    if not len(late_s):
        return 0.0, 0.0, 0.0
    return (
        float(late_s.mean()),
        float(np.quantile(late_s, 0.99, method="inverted_cdf")),
        float(late_s.max()),
    )


def _batch_execution_s(found: Recording) -> FittedValue | None:
    return intervals.mean((found.column("end_ns") - found.column("start_ns")) / NS_PER_S)


def _ratio(of: FittedValue | None, to: FittedValue | None) -> FittedValue | None:
    return None if of is None or to is None else intervals.ratio(of, to)


def _load(found: Recording) -> Load | None:
    """What the queueing model is given: the full batches' service times."""
    setting, full = found.setting, found.column("images") == found.setting.batch
    service_s = (found.column("end_ns") - found.column("asked_ns"))[full] / NS_PER_S
    if not len(service_s):
        return None
    rate_per_s = len(found.intended_ns) * NS_PER_S / setting.window_ns
    kind = ArrivalKind(setting.kind)
    mean_s = float(service_s.mean())
    variation = gap_variation(kind, found.intended_ns, setting.batch)
    return Load(rate_per_s, setting.batch, mean_s, float(service_s.var()) / mean_s**2, variation)


def _notes(found: Recording, done: int) -> list[str]:
    notes, missing = [], len(found.intended_ns) - done
    if missing:
        notes.append(
            f"{missing} of {len(found.intended_ns)} images were not finished when the measurement"
            " ended: latencies have no mean or maximum"
        )
    if found.setting.deadline_s is not None:
        notes.append("the queueing model has no closed form for batches with a deadline")
    return notes
