"""Energy figures: of the run, per epoch, and the baseload (the idle machine's share)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.channels import Channels
from suite.bundle.layout import BASELOAD, READINGS
from suite.catalog.power import Coverage, PowerRule, PowerTotal, Tier
from suite.metrics.counted_time import UncountedInterval, counted_energy, counted_s
from suite.metrics.energy import Energy, energy_of
from suite.metrics.figure import NOT_FINISHED, Figure, mean_figure, sensor_of, unknown_figure
from suite.metrics.power_totals import (
    MeasuredTotal,
    combined_coverage,
    measure_totals,
    totals_that_count,
    worst_tier,
)
from suite.metrics.uncertainty import uncertainty_of_sum

NO_SENSOR = "no power sensor was read"
MIN_READINGS = 2
MAX_PERIOD_S = 1.05  # one reading per second, of a measurement of level 1


def window_energy(
    channels: Channels, totals: Sequence[PowerTotal], start_ns: int, stop_ns: int
) -> Energy | None:
    """Energy of totals that are added, in a window; None for an empty sum. Its quality is that of
    the total with the lowest coverage."""
    energies = [energy_of(channels, total, start_ns, stop_ns) for total in totals]
    if len(energies) < 2:
        return energies[0] if energies else None
    known = [
        (one.energy_j, one.uncertainty)
        for one in energies
        if one.energy_j is not None and one.uncertainty is not None
    ]
    whole = replace(
        min(energies, key=lambda one: one.coverage), rejected=sum(one.rejected for one in energies)
    )
    if len(known) < len(energies):
        reason = "; ".join(
            f"{total.source}: {one.reason}"
            for total, one in zip(totals, energies, strict=True)
            if one.reason
        )
        return replace(whole, value=None, reason=reason, uncertainty=None)
    return replace(
        whole,
        value=math.fsum(energy_j for energy_j, _ in known),
        reason=None,
        uncertainty=uncertainty_of_sum((each for _, each in known), of_one_sensor=False),
    )


def epoch_energy(
    channels: Channels, totals: Sequence[PowerTotal], start_ns: int, stop_ns: int
) -> Energy | None:
    """Energy of an epoch; None with fewer than two readings in it, which would give its neighbours'
    energy."""
    energy = window_energy(channels, totals, start_ns, stop_ns)
    return (
        energy
        if energy is not None and energy.energy_j is not None and energy.count >= MIN_READINGS
        else None
    )


def energy_figures(
    channels: Channels,
    totals: Sequence[PowerTotal],
    run: Window | None,
    epochs: Sequence[Energy | None],
    *,
    has_idle: bool = False,
    uncounted: Sequence[UncountedInterval] = (),
) -> dict[str, Figure]:
    """Energy of the run (run_start to run_stop, without what is not counted), and the mean of
    ``epochs``, the energies of epochs 2..k.

    ``has_idle``: a baseload was measured.
    """
    energy = (
        None
        if run is None
        else counted_energy(partial(window_energy, channels, totals), run, uncounted)
    )
    if energy is None:
        return {
            name: unknown_figure("J", READINGS, NOT_FINISHED if totals else NO_SENSOR)
            for name in ("energy_j", "energy_per_epoch_j")
        }
    sensor = sensor_of(totals)
    period_s = energy.achieved_period_s
    if run and not any(total.rule.is_before_v03 for total in totals):
        # a window of n periods has n - 1 readings at least, at whatever moments they are made
        period_s = counted_s(run, uncounted) / (energy.count + 1)
    level = measurement_level(totals, period_s, has_idle=has_idle)
    whole = Figure(
        energy.energy_j,
        "J",
        READINGS,
        energy.count,
        energy.achieved_period_s,
        energy.coverage,
        reason=energy.reason,
    )
    reason = "no epoch after the first has an energy from two or more readings"
    per_epoch = mean_energy(
        [epoch for epoch in epochs if epoch is not None], reason, energy.achieved_period_s
    )
    return {
        "energy_j": replace(
            whole,
            sensor=sensor,
            uncertainty=energy.uncertainty,
            level=level if energy.energy_j is not None else None,
        ),
        "energy_per_epoch_j": replace(per_epoch, sensor=sensor),
    }


def measurement_level(
    totals: Sequence[PowerTotal], period_s: float | None, *, has_idle: bool
) -> str:
    """The level of the EE HPC WG's methodology: "Level 1" to "Level 3", or "below Level 1" with
    what is missing. ``period_s`` is the mean time between readings; ``has_idle``: the idle machine
    was measured before the run.

    Source: Scogland et al., A Power-Measurement Methodology for Large-Scale, High-Performance
    Computing (ICPE 2014), table 1. The suite always measures the whole machine over the whole run
    (aspects 1b, 2), so granularity (1a), idle power (1c), subsystems (3) and the point of
    measurement (4) decide.

    Level 1: upstream of power conversion, one reading per second. Level 2: idle power as well.
    Level 3: an energy counter that integrates continuously. A board's own supply is upstream of
    nothing: its adapter's loss is neither measured nor modelled.
    """
    if worst_tier(totals) is Tier.ESTIMATE:
        return "below Level 1: an estimate"
    if combined_coverage(totals) is not Coverage.WALL:
        return (
            f"below Level 1: {combined_coverage(totals).value}, measured downstream of the power"
            " conversion"
        )
    if all(total.rule.unit == "J" for total in totals):
        return "Level 3" if has_idle else "Level 1"
    if period_s is None or period_s > MAX_PERIOD_S:
        return "below Level 1: fewer than one reading per second"
    return "Level 2" if has_idle else "Level 1"


def mean_energy(epochs: Sequence[Energy], reason_if_empty: str, period_s: float | None) -> Figure:
    """Mean of energies that one sensor measured, with the uncertainty of the mean."""
    figure = mean_figure(
        [epoch.energy_j for epoch in epochs if epoch.energy_j is not None],
        "J",
        READINGS,
        reason_if_empty,
        period_s,
    )
    parts = [epoch.uncertainty for epoch in epochs if epoch.uncertainty is not None]
    if figure.value is None or len(parts) < len(epochs):
        return figure
    return replace(
        figure, uncertainty=uncertainty_of_sum(parts, of_one_sensor=True).times(1 / len(parts))
    )


def energy_rows(
    channels: Channels,
    rules: Sequence[PowerRule],
    run: Window | None,
    uncounted: Sequence[UncountedInterval] = (),
) -> list[dict[str, Any]]:
    """Every total that was read, as plain values: its counted energy in the run with its interval,
    or the reason for none, whether it counts, and its difference from the energy that counts where
    both cover the same.
    """
    if run is None:
        return []
    measured = measure_totals(channels, rules, run)
    chosen = totals_that_count(measured)
    counted = counted_energy(partial(window_energy, channels, chosen), run, uncounted)
    counted_j = None if counted is None else counted.energy_j
    return [
        _row(_counted_total(channels, one, run, uncounted), chosen, counted_j) for one in measured
    ]


def _counted_total(
    channels: Channels, one: MeasuredTotal, run: Window, uncounted: Sequence[UncountedInterval]
) -> MeasuredTotal:
    """A total with its counted energy; one that has none keeps its reason."""
    energy = (
        counted_energy(partial(energy_of, channels, one.total), run, uncounted)
        if one.energy.energy_j is not None
        else None
    )
    return one if energy is None else replace(one, energy=energy)


def _row(
    one: MeasuredTotal, chosen: Sequence[PowerTotal], counted_j: float | None
) -> dict[str, Any]:
    energy, total = one.energy, one.total
    low, high = energy.interval_j or (None, None)
    compares = (
        counted_j
        and energy.energy_j is not None
        and total not in chosen
        and total.rule.coverage is combined_coverage(chosen)
    )
    contradicted = {"contradicted_by": total.contradicted_by} if total.contradicted_by else {}
    return {
        **contradicted,
        "source": total.source,
        "rule": total.rule.name,
        "covers": total.rule.coverage.value,
        "tier": total.rule.tier.value,
        "counts": total in chosen and energy.energy_j is not None,
        "energy_j": energy.energy_j,
        "low": low,
        "high": high,
        "uncertainty": None if energy.uncertainty is None else energy.uncertainty.to_dict(),
        "reason": energy.reason,
        "difference_ratio": (
            (energy.energy_j / counted_j - 1)
            if compares and energy.energy_j is not None and counted_j
            else None
        ),
    }


def baseload_figures(
    power: Figure,
    run: Window | None,
    energy: Figure,
    epoch: Figure,
    uncounted: Sequence[UncountedInterval] = (),
) -> dict[str, Figure]:
    """Baseload: ``power`` of the idle machine, that power times ``epoch`` (time to epoch), and its
    share of the run's ``energy``.

    Source: Prashanthi et al. (POMACS 2022), baseload studies.
    """
    units = {"baseload_power_w": "W", "baseload_per_epoch_j": "J", "baseload_share": "ratio"}
    if power.value is None:
        return {
            name: unknown_figure(unit, BASELOAD, str(power.reason)) for name, unit in units.items()
        }
    share = None if run is None else _share(counted_s(run, uncounted), energy)
    return {
        "baseload_power_w": power,
        "baseload_per_epoch_j": _times(power, "J", epoch.value, str(epoch.reason)),
        "baseload_share": _times(power, "ratio", share, str(energy.reason or NOT_FINISHED)),
    }


def idle_power(
    idle: Channels, totals: Sequence[PowerTotal], when: str = "before the run"
) -> Figure:
    """Mean power in ``idle``, the readings from ``when``, of the run's totals."""
    if not totals or not idle:
        return unknown_figure(
            "W",
            BASELOAD,
            "the idle machine was not measured before the run" if totals else NO_SENSOR,
        )
    of_total = [idle.get(total.source, name) for total in totals for name in total.channels]
    if not all(of_total):
        which = " and ".join(dict.fromkeys(total.source for total in totals))
        return unknown_figure(
            "W", BASELOAD, f"before the run, not every channel of {which} was read"
        )
    # where every channel has readings
    start_ns = max(int(one.t_ns.min()) for one in of_total)
    stop_ns = min(int(one.t_ns.max()) for one in of_total)
    measured = window_energy(idle, totals, start_ns, stop_ns)
    assert measured is not None
    if measured.energy_j is None or measured.uncertainty is None:
        return unknown_figure("W", BASELOAD, f"{when}: {measured.reason}")
    idle_s, load = (stop_ns - start_ns) * SECONDS_PER_NS, idle.get("cpu", "utilisation.total")
    method = f"idle for {idle_s:.3g} s {when}" + (
        f", processor at {load.mean:.0f} %" if load else ""
    )
    return Figure(
        measured.energy_j / idle_s,
        "W",
        BASELOAD,
        measured.count,
        measured.achieved_period_s,
        measured.coverage,
        method=method,
        sensor=sensor_of(totals),
        uncertainty=measured.uncertainty.times(1 / idle_s),
    )


def _times(power: Figure, unit: str, factor: float | None, reason: str) -> Figure:
    if factor is None or power.value is None:
        return unknown_figure(unit, BASELOAD, reason)
    uncertainty = (
        None if power.uncertainty is None or unit == "ratio" else power.uncertainty.times(factor)
    )
    return replace(power, value=power.value * factor, unit=unit, uncertainty=uncertainty)


def _share(run_s: float, energy: Figure) -> float | None:
    return run_s / energy.value if energy.value else None
