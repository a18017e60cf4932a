"""Derived figures, computed from a bundle's raw records and from nothing else: the checker computes them again.

The definitions are those of docs/architecture.md, "Figures"; the stalls follow Prashanthi et al. (POMACS 2022), section 4.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas

from suite.bundle import SCHEMA, STEPS, Bundle
from suite.figures import Figure, mean_figure, unknown
from suite.log import Log
from suite.measure.power import PowerTotal, totals
from suite.measure.total_energy import energy_of

LOG = "log.txt"
PARTS = ("fetch_s", "h2d_s", "compute_s", "comm_s")
NANO = 1e-9
TOO_FEW = "fewer than two epochs were finished; epoch 1 is kept apart because its caches are cold"


@dataclass(frozen=True)
class EpochFigures:
    """One finished epoch, times in seconds: end-to-end is first fetch to last step, overhead what the four parts leave of it."""

    epoch: int
    steps: int
    samples: int
    end_to_end_s: float
    fetch_s: float
    h2d_s: float
    compute_s: float
    comm_s: float
    overhead_s: float
    mean_loss: float
    eval_accuracy: float | None
    energy_j: float | None


@dataclass(frozen=True)
class Summary:
    """``summary.json``: the epochs, and the run's figures by name."""

    schema: int
    epochs: tuple[EpochFigures, ...]
    figures: Mapping[str, Figure]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema": self.schema,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "figures": {name: asdict(figure) for name, figure in self.figures.items()},
        }


def derive(bundle: Bundle) -> Summary:
    """Compute every figure of a bundle, finished or not, from its log, step records and readings."""
    log, readings = bundle.log(), bundle.readings()
    epochs = derive_epochs(log, bundle.steps(), readings)
    figures = {
        **time_figures(epochs),
        **target_figures(log),
        **energy_figures(log, readings, epochs),
        **reading_figures(log, readings),
    }
    return Summary(SCHEMA, epochs, figures)


def derive_epochs(log: Log, steps: pandas.DataFrame, readings: pandas.DataFrame) -> tuple[EpochFigures, ...]:
    """One row per finished epoch that has steps."""
    total = power_total(readings)
    stops = {event.epoch: event for event in log.all("epoch_stop")}
    accuracy = {event.epoch: event.value for event in log.all("eval_accuracy")}
    rows = []
    for epoch, of_epoch in steps[steps["rank"] == 0].groupby("epoch"):
        stop = stops.get(int(epoch))
        if stop is None or stop.mono_ns is None:
            continue
        start_ns = int(of_epoch["start_ns"].iloc[0])
        end_to_end_s = (stop.mono_ns - start_ns) * NANO
        parts = {name: float(of_epoch[name].sum()) for name in PARTS}
        rows.append(
            EpochFigures(
                epoch=int(epoch),
                steps=len(of_epoch),
                samples=int(of_epoch["samples"].sum()),
                end_to_end_s=end_to_end_s,
                **parts,
                overhead_s=end_to_end_s - sum(parts.values()),
                mean_loss=float(of_epoch["loss"].mean()),
                eval_accuracy=accuracy.get(int(epoch)),
                energy_j=None if total is None else energy_of(readings, total, start_ns, stop.mono_ns).energy_j,
            )
        )
    return tuple(rows)


def time_figures(epochs: Sequence[EpochFigures]) -> dict[str, Figure]:
    """Epoch times and their parts: epoch 1 apart, the mean over epochs 2..k with its spread."""
    later = [epoch for epoch in epochs if epoch.epoch > 1]
    first = [epoch.end_to_end_s for epoch in epochs if epoch.epoch == 1]
    figures = {
        "first_epoch_s": mean_figure(first, "s", STEPS, "epoch 1 was not finished"),
        "time_to_epoch_s": mean_figure([epoch.end_to_end_s for epoch in later], "s", STEPS, TOO_FEW),
    }
    names = {"fetch_s": "fetch_stall_s", "h2d_s": "copy_s", "compute_s": "compute_s", "comm_s": "communication_s", "overhead_s": "overhead_s"}
    for part, name in names.items():
        figures[name] = mean_figure([getattr(epoch, part) for epoch in later], "s", STEPS, TOO_FEW)
    figures["accelerator_utilisation"] = mean_figure([epoch.compute_s / epoch.end_to_end_s for epoch in later], "ratio", STEPS, TOO_FEW)
    figures["throughput"] = mean_figure([epoch.samples / epoch.end_to_end_s for epoch in later], "samples/s", STEPS, TOO_FEW)
    return figures


def target_figures(log: Log) -> dict[str, Figure]:
    """Accuracy reached, and the time from run_start to the evaluation that reached the target."""
    accuracies = [event for event in log.all("eval_accuracy") if isinstance(event.value, int | float)]
    target, start = log.value("target_accuracy"), log.first("run_start")
    best = max((float(event.value) for event in accuracies), default=None)
    reached = next((event for event in accuracies if isinstance(target, int | float) and event.value >= target), None)
    figures = {
        "best_accuracy": unknown("ratio", LOG, "no evaluation was finished") if best is None else Figure(best, "ratio", LOG, len(accuracies)),
        "time_to_target_s": unknown("s", LOG, "the run had no target" if target is None else "the target was not reached"),
        "epochs_to_target": unknown("epochs", LOG, "the run had no target" if target is None else "the target was not reached"),
    }
    if reached is not None and start is not None and reached.mono_ns is not None and start.mono_ns is not None:
        figures["time_to_target_s"] = Figure((reached.mono_ns - start.mono_ns) * NANO, "s", LOG, 1)
        figures["epochs_to_target"] = Figure(reached.epoch, "epochs", LOG, 1)
    return figures


def power_total(readings: pandas.DataFrame) -> PowerTotal | None:
    """The power total to report: the best instrument with the widest coverage among the channels that were read."""
    pairs = readings[["source", "channel"]].drop_duplicates()
    return next(iter(totals(zip(pairs["source"], pairs["channel"], strict=True))), None)


def energy_figures(log: Log, readings: pandas.DataFrame, epochs: Sequence[EpochFigures]) -> dict[str, Figure]:
    """Energy between run_start and run_stop, and per epoch over epochs 2..k; the method names rule, coverage and instrument."""
    start, stop, total = log.first("run_start"), log.first("run_stop"), power_total(readings)
    names = ("energy_j", "energy_per_epoch_j")
    if total is None:
        return {name: unknown("J", "readings.parquet", "no power sensor was read") for name in names}
    if start is None or stop is None or start.mono_ns is None or stop.mono_ns is None:
        return {name: unknown("J", "readings.parquet", "the run was not finished") for name in names}
    method = f"{total.source}: {total.rule.name} ({total.rule.coverage.value}, {total.rule.tier.value})"
    run = energy_of(readings, total, start.mono_ns, stop.mono_ns)
    values = [epoch.energy_j for epoch in epochs if epoch.epoch > 1 and epoch.energy_j is not None]
    reason = "no epoch after the first has an energy: too few readings in it"
    per_epoch = mean_figure(values, "J", "readings.parquet", reason, run.achieved_period_s)
    whole = Figure(run.energy_j, "J", "readings.parquet", run.count, run.achieved_period_s, run.coverage, reason=run.reason)
    return {"energy_j": replace(whole, method=method), "energy_per_epoch_j": replace(per_epoch, method=method)}


def reading_figures(log: Log, readings: pandas.DataFrame) -> dict[str, Figure]:
    """Figures from meters between run_start and run_stop (or the last reading of an unfinished run)."""
    during = _during_run(log, readings)
    return {name: _from_readings(during, *how) for name, how in _FROM_READINGS.items()}


_FROM_READINGS = {
    "peak_rss_bytes": ("memory", "process_tree_rss", "B", "max"),
    "cpu_utilisation": ("cpu", "utilisation.total", "%", "mean"),
}


def _during_run(log: Log, readings: pandas.DataFrame) -> pandas.DataFrame:
    start, stop = log.first("run_start"), log.first("run_stop")
    inside = readings
    if start is not None and start.mono_ns is not None:
        inside = inside[inside["t_ns"] >= start.mono_ns]
    if stop is not None and stop.mono_ns is not None:
        inside = inside[inside["t_ns"] <= stop.mono_ns]
    return inside


def _from_readings(readings: pandas.DataFrame, source: str, channel: str, unit: str, how: str) -> Figure:
    chosen = readings[(readings["source"] == source) & (readings["channel"] == channel)]
    if chosen.empty:
        return unknown(unit, "readings.parquet", f"the meter {source!r} read nothing on {channel!r} during the run")
    values = [float(value) for value in chosen["value"]]
    period_s = float(chosen["t_ns"].diff().median() * NANO) if len(chosen) > 1 else None
    if how == "max":
        return Figure(max(values), unit, "readings.parquet", len(values), period_s)
    return mean_figure(values, unit, "readings.parquet", "", period_s)
