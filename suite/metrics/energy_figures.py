"""Energy figures: of the run, per epoch, and the baseload (the idle machine's share)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.channels import Channels
from suite.bundle.layout import BASELOAD, READINGS
from suite.catalog.power import PowerTotal
from suite.metrics.energy import energy_of
from suite.metrics.figure import Figure, mean_figure, sensor_of, unknown
from suite.metrics.uncounted import UncountedInterval, counted_energy, counted_s

NO_SENSOR = "no power sensor was read"
MIN_READINGS = 2
NOT_FINISHED = "the run was not finished"


def epoch_energy_j(channels: Channels, total: PowerTotal, start_ns: int, stop_ns: int) -> float | None:
    """Energy of an epoch, J; None with fewer than two readings in it, which would give its neighbours' energy."""
    energy = energy_of(channels, total, start_ns, stop_ns)
    return energy.energy_j if energy.count >= MIN_READINGS else None


def energy_figures(
    channels: Channels,
    total: PowerTotal | None,
    run: Window | None,
    epochs_j: Sequence[float | None],
    uncounted: Sequence[UncountedInterval] = (),
) -> dict[str, Figure]:
    """Energy of the run (run_start to run_stop, without what is not counted), and the mean of ``epochs_j``, the energies of epochs 2..k."""
    if total is None or run is None:
        return {name: unknown("J", READINGS, NO_SENSOR if total is None else NOT_FINISHED) for name in ("energy_j", "energy_per_epoch_j")}
    energy, sensor = counted_energy(partial(energy_of, channels, total), run, uncounted), sensor_of([total])
    values = [value for value in epochs_j if value is not None]
    reason = "no epoch after the first has an energy (fewer than two readings)"
    per_epoch = mean_figure(values, "J", READINGS, reason, energy.achieved_period_s)
    whole = Figure(energy.energy_j, "J", READINGS, energy.count, energy.achieved_period_s, energy.coverage, reason=energy.reason)
    return {"energy_j": replace(whole, sensor=sensor), "energy_per_epoch_j": replace(per_epoch, sensor=sensor)}


def baseload_figures(
    power: Figure, run: Window | None, energy: Figure, epoch: Figure, uncounted: Sequence[UncountedInterval] = ()
) -> dict[str, Figure]:
    """Baseload: ``power`` of the idle machine, that power times ``epoch`` (time to epoch), and its share of the run's ``energy``.

    Source: Prashanthi et al. (POMACS 2022), baseload studies.
    """
    units = {"baseload_power_w": "W", "baseload_per_epoch_j": "J", "baseload_share": "ratio"}
    if power.value is None:
        return {name: unknown(unit, BASELOAD, str(power.reason)) for name, unit in units.items()}
    share = None if run is None else _share(counted_s(run, uncounted), energy)
    return {
        "baseload_power_w": power,
        "baseload_per_epoch_j": _times(power, "J", epoch.value, str(epoch.reason)),
        "baseload_share": _times(power, "ratio", share, str(energy.reason or NOT_FINISHED)),
    }


def idle_power(idle: Channels, total: PowerTotal | None) -> Figure:
    """Mean power in ``idle``, the readings before the run, of the run's total."""
    if total is None or not idle:
        return unknown("W", BASELOAD, NO_SENSOR if total is None else "the idle machine was not measured before the run")
    of_total = [idle.get(total.source, name) for name in total.channels]
    if not all(of_total):
        return unknown("W", BASELOAD, f"{total.source} was not read on every channel of its total before the run")
    start_ns, stop_ns = max(int(one.t_ns.min()) for one in of_total), min(int(one.t_ns.max()) for one in of_total)  # where every channel has readings
    measured = energy_of(idle, total, start_ns, stop_ns)
    if measured.energy_j is None:
        return unknown("W", BASELOAD, f"before the run: {measured.reason}")
    idle_s, load = (stop_ns - start_ns) * SECONDS_PER_NS, idle.get("cpu", "utilisation.total")
    method = f"idle for {idle_s:.3g} s before the run" + (f", processor at {load.mean:.0f} %" if load else "")
    return Figure(
        measured.energy_j / idle_s,
        "W",
        BASELOAD,
        measured.count,
        measured.achieved_period_s,
        measured.coverage,
        method=method,
        sensor=sensor_of([total]),
    )


def _times(power: Figure, unit: str, factor: float | None, reason: str) -> Figure:
    if factor is None or power.value is None:
        return unknown(unit, BASELOAD, reason)
    return replace(power, value=power.value * factor, unit=unit)


def _share(run_s: float, energy: Figure) -> float | None:
    return run_s / energy.value if energy.value else None
