"""``summary.json``: figures derived from a bundle's raw records only, so that the checker can
recompute them.

Definitions: docs/measuring.md. The stalls follow Prashanthi et al. (POMACS 2022), section 4.5.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_impls.contract import log_name
from suite.bundle.arrays import Window, span_s
from suite.bundle.channels import Channels
from suite.bundle.layout import PARTS, RUN, SCHEMA, STEPS, SUMMARY
from suite.bundle.log import Log, run_window
from suite.bundle.reader import Bundle
from suite.bundle.resumption import Resumption, known_resumption
from suite.bundle.steps import StepRecords
from suite.catalog.rounds import judging_round
from suite.metrics import event_counts
from suite.metrics.counted_time import UncountedInterval, counted_s, uncounted_intervals
from suite.metrics.energy_figures import energy_rows
from suite.metrics.figure import NOT_FINISHED, Figure, mean_figure, unknown_figure
from suite.metrics.machine_figures import (
    channel_statistics,
    disk_increase,
    machine_figures,
    recorded_disturbances,
    resident_ratio,
)
from suite.metrics.memory_figures import memory_figures, part_figures
from suite.metrics.node_figures import (
    RunWindows,
    bytes_sent_per_step,
    energy_and_baseload,
    joint_epoch_energy,
    joint_figures,
    node_rows,
)
from suite.metrics.node_readings import NodeReadings, machine_readings, node_readings
from suite.metrics.power_totals import counted_rules, power_totals
from suite.metrics.rank_figures import rank_figures, rank_rows
from suite.metrics.wire_figures import wire_figures

LOG = "log.txt"
EVERY_EPOCH = (("page-cache", "resident"), ("disk", "read_bytes"))
"""Channels with a figure in every epoch."""
NOT_RECORDED = "the run had several nodes, but nodes.json, the record of their readings, is missing"
TOO_FEW = (
    "fewer than two whole epochs were finished; epoch 1 is kept apart because its caches may be"
    " cold"
)
CUT_SHORT = "epoch 1 was cut short: it trained {} of {} samples"
BEFORE = "the run was resumed: epoch 1 is in the interrupted run's records"
RESUMED = (
    "the run was resumed after epoch {}: the energy before that is in the interrupted run's records"
)
OF_THE_WHOLE_RUN = ("energy_j", "baseload_share")
"""Energies of a training from its beginning."""
NOT_SPLIT = (
    "asynchronous timing: the loop did not wait for the device after a copy or a step; only a"
    " run with synchronised timing measures the parts of a step"
)
NOT_REACHED = "the target was not reached"
NO_ACCELERATOR = (
    "the run had no accelerator; see compute_share instead (share of an epoch spent computing)"
)


@dataclass(frozen=True)
class EpochFigures:
    """One finished epoch, times in seconds: end-to-end is first fetch to last step, overhead is
    end-to-end less the parts.

    Copy, compute, communication and overhead are None where the steps have no times of these parts
    (asynchronous timing).

    ``worker_start_s`` is the epoch's first fetch where worker processes load the data: it starts
    them and waits for their first mini-batch. It is not part of ``fetch_stall_s``; without workers
    it is 0. ``is_whole`` is False for an epoch that was cut short.
    """

    epoch: int
    steps: int
    samples: int
    is_whole: bool
    end_to_end_s: float
    worker_start_s: float
    fetch_stall_s: float
    copy_s: float | None
    compute_s: float | None
    communication_s: float | None
    overhead_s: float | None
    mean_loss: float | None
    eval_accuracy: float | None
    energy_j: float | None
    resident_start_ratio: float | None
    resident_end_ratio: float | None
    disk_read_bytes: float | None


@dataclass(frozen=True)
class Summary:
    """``summary.json``: epochs, figures of the run by name, disturbances with their times, and
    statistics of every gauge.

    ``energies`` has one row per power total that was read: those that count, and the others as
    their cross-check.

    In a run on several nodes, machine figures, disturbances and gauges are those of rank 0's node;
    ``nodes`` has one row per node (with its own ``energies``), ``ranks`` one per rank. Each is
    omitted from the file if there is only one, and ``energies`` without a power meter.
    """

    schema: int
    epochs: tuple[EpochFigures, ...]
    figures: Mapping[str, Figure]
    disturbances: Mapping[str, list[dict[str, Any]]]
    channels: list[dict[str, Any]]
    energies: list[dict[str, Any]]
    ranks: list[dict[str, Any]]
    nodes: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {
            **vars(self),
            "epochs": [dict(vars(epoch)) for epoch in self.epochs],
            "figures": {name: figure.to_dict() for name, figure in self.figures.items()},
        }
        optional = ("energies", "ranks", "nodes")
        return {name: value for name, value in plain.items() if value or name not in optional}


def derive_summary(bundle: Bundle) -> Summary:
    """Compute every figure of a bundle, finished or not, from its log, step records and
    readings."""
    log, steps, rules = bundle.log(), bundle.steps(), counted_rules(bundle)
    is_before_v03 = judging_round(bundle.run().round).is_before_v03
    run, uncounted = run_window(log), uncounted_intervals(log)
    channels, nodes = bundle.channels(), node_readings(bundle, log, rules)
    machine = machine_readings(bundle, "", (), power_totals(channels, rules, run))
    machine = machine.with_totals_kept(*EVERY_EPOCH)
    is_lost = _lacks_nodes(log, nodes)
    held = [node.with_totals_kept() for node in nodes] or ([] if is_lost else [machine])
    epochs = derive_epochs(log, steps, machine.channels, held, workers_of(bundle))
    resumed = resumption_of(bundle)
    begun_before = 0 if resumed is None else resumed.epoch
    later = [epoch for epoch in epochs if epoch.epoch > begun_before + 1 and epoch.is_whole]
    phases = event_counts.count_events(bundle)
    later_phases = [phases[f"{event_counts.EPOCH} {epoch.epoch}"] for epoch in later]
    windows = [(phase.start_ns, phase.stop_ns) for phase in later_phases]
    times = time_figures(epochs, log, begun_before)
    run_times = RunWindows(run, windows, times["time_to_epoch_s"], uncounted)
    trained = sum(epoch.steps for epoch in epochs)
    figures = {
        **times,
        **rank_figures(log, steps, _communication_shares(later), TOO_FEW),
        **target_figures(log, resumed),
        **old_task_figures(log),
        **gross_figures(run, uncounted),
        "initialisation_s": initialisation(log),
        **_energies(log, nodes, machine, run_times, resumed),
        **event_counts.counter_figures(phases.get(event_counts.RUN)),
        **event_counts.epoch_figures(later_phases),
        **machine_figures(channels, run, is_before_v03=is_before_v03),
        **part_figures(log),
        **memory_figures(bundle, log),
    }
    if nodes:
        figures["wire_bytes_per_step"] = bytes_sent_per_step(nodes, run, trained)
        figures |= wire_figures(_logs_of_ranks(bundle, steps), wire_of(bundle))
    return Summary(
        schema=SCHEMA,
        epochs=epochs,
        figures=figures,
        disturbances=recorded_disturbances(channels, run, is_one_of_several=bool(nodes)),
        channels=channel_statistics(channels, run),
        energies=[] if nodes or is_lost else energy_rows(channels, rules, run, uncounted),
        ranks=rank_rows(log, steps),
        nodes=node_rows(nodes, rules, run_times, trained, is_before_v03=is_before_v03),
    )


def _lacks_nodes(log: Log, nodes: Sequence[NodeReadings]) -> bool:
    """Whether the run had several nodes whose record is missing."""
    return not nodes and len(set(log.value("nodes_of_ranks") or [])) > 1


def _energies(
    log: Log,
    nodes: Sequence[NodeReadings],
    machine: NodeReadings,
    times: RunWindows,
    resumed: Resumption | None,
) -> dict[str, Figure]:
    """Energies and baseload of the run, of all its nodes."""
    figures = joint_figures(nodes, times) if nodes else energy_and_baseload(machine, times)
    if _lacks_nodes(log, nodes):
        figures = _unknown(figures, figures, NOT_RECORDED)
    if resumed is None:
        return figures
    return figures | _unknown(figures, OF_THE_WHOLE_RUN, RESUMED.format(resumed.epoch))


def _unknown(figures: Mapping[str, Figure], names: Iterable[str], reason: str) -> dict[str, Figure]:
    return {
        name: unknown_figure(figures[name].unit, figures[name].source, reason) for name in names
    }


def _communication_shares(epochs: Sequence[EpochFigures]) -> list[float]:
    return [
        epoch.communication_s / epoch.end_to_end_s
        for epoch in epochs
        if epoch.communication_s is not None
    ]


def _logs_of_ranks(bundle: Bundle, steps: StepRecords) -> list[Log]:
    """The logs that are there, rank 0's first."""
    others = [rank for rank in steps.ranks if rank and (bundle.path / log_name(rank)).is_file()]
    return [bundle.log(rank) for rank in (0, *others)]


def initialisation(log: Log) -> Figure:
    """The time from init_start to run_start: building, compiling and tuning, which belong to no
    other figure."""
    window = log.window("init_start", "run_start")
    if window is None:
        return unknown_figure("s", LOG, "init_start or run_start was not logged")
    return Figure(span_s(window), "s", LOG, 1)


def read_summary(bundle: Bundle) -> dict[str, Any]:
    """Read ``summary.json``; recomputed for a bundle of schema 1, whose file has older names.
    Raises FileError when it is malformed."""
    return (
        bundle.json(SUMMARY) if bundle.run().schema == SCHEMA else derive_summary(bundle).to_dict()
    )


def derive_epochs(
    log: Log,
    steps: StepRecords,
    channels: Channels,
    nodes: Sequence[NodeReadings],
    workers: int = 0,
) -> tuple[EpochFigures, ...]:
    """One row per finished epoch with steps: times of rank 0, samples and loss over all ranks,
    energy over all nodes. ``channels`` are those of rank 0's machine.

    With ``workers``, the data-loading processes of a rank, an epoch's first fetch starts them.
    """
    stops = {event.epoch: event.mono_ns for event in log.all("epoch_stop")}
    accuracy = {event.epoch: event.value for event in log.all("eval_accuracy")}
    all_ranks = dict(steps.by_epoch())
    rows = []
    for epoch, first_rank in steps.first_rank.by_epoch():
        stop_ns = stops.get(epoch)
        if stop_ns is None:
            continue
        window, whole = (int(first_rank.start_ns[0]), stop_ns), all_ranks[epoch]
        times = _epoch_times(first_rank, window, workers)
        energy, samples = joint_epoch_energy(nodes, *window), int(whole.samples.sum())
        rows.append(
            EpochFigures(
                epoch=epoch,
                steps=len(first_rank),
                samples=samples,
                is_whole=_is_whole(log, samples),
                **times,
                mean_loss=_mean_loss(whole),
                eval_accuracy=accuracy.get(epoch),
                energy_j=None if energy is None else energy.energy_j,
                resident_start_ratio=resident_ratio(channels, window[0], times["end_to_end_s"]),
                resident_end_ratio=resident_ratio(channels, window[1], times["end_to_end_s"]),
                disk_read_bytes=disk_increase(channels, "read_bytes", window)[0],
            )
        )
    return tuple(rows)


def _epoch_times(steps: StepRecords, window: Window, workers: int) -> dict[str, Any]:
    """Times of an epoch's steps on rank 0."""
    end_to_end_s = span_s(window)
    worker_start_s = float(steps.fetch_stall_s[0]) if workers else 0.0
    fetch_stall_s = steps.sum_s("fetch_stall_s") - worker_start_s
    others_s = {name: steps.sum_s(name) for name in PARTS[1:]}
    others_s["overhead_s"] = end_to_end_s - worker_start_s - fetch_stall_s - sum(others_s.values())
    return {
        "end_to_end_s": end_to_end_s,
        "worker_start_s": worker_start_s,
        "fetch_stall_s": fetch_stall_s,
        **(others_s if steps.is_split else dict.fromkeys(others_s)),
    }


def _mean_loss(steps: StepRecords) -> float | None:
    """Mean over an epoch's steps, weighted by samples over the ranks of a step; None if a loss is
    not finite."""
    with np.errstate(all="ignore"):
        mean = float(
            (
                steps.sum_over_ranks(steps.loss * steps.samples)
                / steps.sum_over_ranks(steps.samples)
            ).mean()
        )
    return mean if math.isfinite(mean) else None


def workers_of(bundle: Bundle) -> int:
    """Data-loading processes of a rank. Schema 1 counted their start as a fetch stall, and there it
    stays one."""
    workers = _requested(bundle, "loading", "workers")
    return workers if isinstance(workers, int) and not bundle.is_first_schema else 0


def wire_of(bundle: Bundle) -> object:
    """The numbers in which the gradients were to be sent."""
    return _requested(bundle, "parallel", "wire")


def _requested(bundle: Bundle, part: str, name: str) -> Any:
    """A value of a part of the request; None of an implementation without the harness."""
    values = bundle.run().request.get(part) if (bundle.path / RUN).is_file() else None
    return values.get(name) if isinstance(values, Mapping) else None


def _is_whole(log: Log, samples: int) -> bool:
    """Whether an epoch trained every sample; also True where the log does not say how many there
    are."""
    expected = log.value("train_samples")
    return not isinstance(expected, int) or samples >= expected


def resumption_of(bundle: Bundle) -> Resumption | None:
    """What the run says of the run that it continues; None if it continues none."""
    return known_resumption(bundle.run().resumed) if (bundle.path / RUN).is_file() else None


def time_figures(epochs: Sequence[EpochFigures], log: Log, before: int = 0) -> dict[str, Figure]:
    """Epoch times and their parts: epoch 1 separately, and means over epochs 2..k with their
    spread. Epochs cut short are left out.

    A resumed run has ``before`` epochs less; its first epoch, whose caches are cold, is in no mean
    either.
    """
    later = [epoch for epoch in epochs if epoch.epoch > before + 1 and epoch.is_whole]
    first, reason = [], BEFORE if before else "epoch 1 was not finished"
    for epoch in epochs:
        if epoch.epoch == 1 and epoch.is_whole:
            first = [epoch.end_to_end_s]
        elif epoch.epoch == 1:
            reason = CUT_SHORT.format(epoch.samples, log.value("train_samples"))
    figures = {
        "first_epoch_s": mean_figure(first, "s", STEPS, reason),
        "time_to_epoch_s": mean_figure(
            [epoch.end_to_end_s for epoch in later], "s", STEPS, TOO_FEW
        ),
    }
    why_not = NOT_SPLIT if any(epoch.compute_s is None for epoch in later) else TOO_FEW
    for name in ("worker_start_s", *PARTS, "overhead_s"):
        known = [value for epoch in later if (value := getattr(epoch, name)) is not None]
        figures[name] = mean_figure(known, "s", STEPS, why_not)
    shares = [
        epoch.compute_s / epoch.end_to_end_s for epoch in later if epoch.compute_s is not None
    ]
    figures["compute_share"] = mean_figure(shares, "ratio", STEPS, why_not)
    on_accelerator = log.value("accelerator") not in (None, "cpu")
    figures["accelerator_utilisation"] = (
        figures["compute_share"]
        if on_accelerator
        else unknown_figure("ratio", STEPS, NO_ACCELERATOR)
    )
    rates = [epoch.samples / epoch.end_to_end_s for epoch in later]
    figures["samples_per_s"] = mean_figure(rates, "samples/s", STEPS, TOO_FEW)
    return figures


def gross_figures(run: Window | None, uncounted: Sequence[UncountedInterval]) -> dict[str, Figure]:
    """The time from run_start to run_stop by the clock, and how much of it is not counted into any
    other time or energy of the run."""
    if run is None:
        return {
            name: unknown_figure("s", LOG, NOT_FINISHED) for name in ("gross_time_s", "uncounted_s")
        }
    gross_s = span_s(run)
    return {
        "gross_time_s": Figure(gross_s, "s", LOG, 1),
        "uncounted_s": Figure(gross_s - counted_s(run, uncounted), "s", LOG, len(uncounted)),
    }


def target_figures(log: Log, resumed: Resumption | None = None) -> dict[str, Figure]:
    """Best accuracy, and epochs and counted time from run_start to the evaluation that reached the
    target.

    Of a resumed run from the first run's run_start: time that was lost counts.
    """
    accuracies = log.evaluations()
    best = unknown_figure("ratio", LOG, "no evaluation was finished")
    if accuracies:
        highest = max(float(event.value) for event in accuracies)
        best = Figure(highest, "ratio", LOG, len(accuracies))
    target, start = log.value("target_accuracy"), log.first("run_start")
    least = target if isinstance(target, int | float) else math.inf
    reached = next((event for event in accuracies if event.value >= least), None)
    reason = "the run had no target" if target is None else NOT_REACHED
    if reached is not None:
        reason = "the target was reached, but the log does not say after which time"
    figures = {
        "best_accuracy": best,
        "time_to_target_s": unknown_figure("s", LOG, reason),
        "epochs_to_target": unknown_figure("epochs", LOG, reason),
    }
    if start is None or reached is None or start.mono_ns is None or reached.mono_ns is None:
        return figures
    taken_s = counted_s((start.mono_ns, reached.mono_ns), uncounted_intervals(log))
    taken_s += (resumed.before_s(start) or 0.0) if resumed is not None else 0.0
    return {
        **figures,
        "time_to_target_s": Figure(taken_s, "s", LOG, 1),
        "epochs_to_target": Figure(reached.epoch, "epochs", LOG, 1),
    }


def old_task_figures(log: Log) -> dict[str, Figure]:
    """Of an adaptation, the accuracy on the old task that training cost; nothing of another run."""
    if log.first("started_from") is None:
        return {}
    found = [event.value for event in log.all("old_task_accuracy")]
    if not found:
        reason = "the data set of the old task was not prepared"
    elif len(found) != 2 or not all(isinstance(value, int | float) for value in found):
        reason = NOT_FINISHED
    else:
        lost = float(found[0]) - float(found[1])
        return {"old_task_accuracy_lost": Figure(lost, "ratio", LOG, 1)}
    return {"old_task_accuracy_lost": unknown_figure("ratio", LOG, reason)}
