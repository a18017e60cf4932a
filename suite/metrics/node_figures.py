"""Figures of a run on several nodes: energy summed over the nodes, bytes sent over the network, and
each node's own figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.bundle.arrays import Window
from suite.bundle.layout import BASELOAD, READINGS
from suite.catalog.power import PowerRule
from suite.metrics.counted_time import UncountedInterval
from suite.metrics.energy import Energy
from suite.metrics.energy_figures import (
    baseload_figures,
    energy_figures,
    energy_rows,
    epoch_energy,
    idle_power,
    mean_energy,
)
from suite.metrics.figure import NOT_FINISHED, Figure, sensor_of, unknown_figure
from suite.metrics.machine_figures import machine_figures, recorded_disturbances
from suite.metrics.node_readings import NodeReadings
from suite.metrics.power_totals import combined_coverage
from suite.metrics.uncertainty import uncertainty_of_ends, uncertainty_of_sum
from suite.metrics.window import CounterChannel

# up to one period is interpolated at each end of the run, where traffic begins and ends
MIN_PERIODS = 10


@dataclass(frozen=True)
class RunWindows:
    """Windows of a run on rank 0's clock, each None or empty where it was not finished, and what is
    not counted.

    ``run`` is run_start to run_stop, ``epochs`` are epochs 2..k, and ``epoch`` is the time to
    epoch.
    """

    run: Window | None
    epochs: Sequence[Window]
    epoch: Figure
    uncounted: Sequence[UncountedInterval]


def node_rows(
    nodes: Sequence[NodeReadings],
    rules: Sequence[PowerRule],
    times: RunWindows,
    steps: int,
    *,
    is_before_v03: bool,
) -> list[dict[str, Any]]:
    """One row per node as plain values: identity, figures, disturbances."""
    return [
        {
            "node": node.node,
            "ranks": list(node.ranks),
            "interface": node.interface,
            "reason": node.reason,
            "figures": {
                name: figure.to_dict()
                for name, figure in _node_figures(node, times, steps, is_before_v03).items()
            },
            "energies": energy_rows(node.channels, rules, times.run, times.uncounted),
            "disturbances": recorded_disturbances(node.channels, times.run, is_one_of_several=True),
        }
        for node in nodes
    ]


def joint_figures(nodes: Sequence[NodeReadings], times: RunWindows) -> dict[str, Figure]:
    """Energy and baseload summed over all nodes; unknown unless every node has them."""
    whole = _summed(
        {node.node: _energies(node, times)["energy_j"] for node in nodes}, nodes, "an energy"
    )
    idle = _summed({node.node: _idle_power(node) for node in nodes}, nodes, "a baseload")
    sums = [joint_epoch_energy(nodes, *window) for window in times.epochs]
    per_epoch = mean_energy(
        [energy for energy in sums if energy is not None],
        whole.reason or "no epoch after the first has a known energy on every node",
        whole.period_s,
    )
    is_known = whole.value is not None or per_epoch.value is not None
    return {
        "energy_j": whole,
        "energy_per_epoch_j": replace(per_epoch, **_instrument(nodes)) if is_known else per_epoch,
        **baseload_figures(idle, times.run, whole, times.epoch, times.uncounted),
    }


def joint_epoch_energy(nodes: Sequence[NodeReadings], start_ns: int, stop_ns: int) -> Energy | None:
    """Energy of an epoch summed over all nodes; None unless every node has one and all sensors
    cover the same."""
    parts = [epoch_energy(node.channels, node.totals, start_ns, stop_ns) for node in nodes]
    known = [part for part in parts if part is not None]
    if len(known) < len(nodes) or not _one_coverage(nodes):
        return None
    uncertainties = [part.uncertainty for part in known if part.uncertainty is not None]
    energy_j = float(np.sum([part.energy_j for part in known]))
    return replace(
        known[0], value=energy_j, uncertainty=uncertainty_of_sum(uncertainties, of_one_sensor=True)
    )


def energy_and_baseload(node: NodeReadings, times: RunWindows) -> dict[str, Figure]:
    """Energies of a node, and what it draws when it is idle."""
    energies = _energies(node, times)
    return energies | baseload_figures(
        _idle_power(node), times.run, energies["energy_j"], times.epoch, times.uncounted
    )


def _node_figures(
    node: NodeReadings, times: RunWindows, steps: int, is_before_v03: bool
) -> dict[str, Figure]:
    wire = {
        f"{direction}_bytes_per_step": _per_step(node, direction, times.run, steps)
        for direction in ("sent", "received")
    }
    return {
        **energy_and_baseload(node, times),
        **machine_figures(node.channels, times.run, is_before_v03=is_before_v03),
        **wire,
    }


def _energies(node: NodeReadings, times: RunWindows) -> dict[str, Figure]:
    figures = energy_figures(
        node.channels,
        node.totals,
        times.run,
        [epoch_energy(node.channels, node.totals, *window) for window in times.epochs],
        has_idle=_idle_power(node).value is not None,
        uncounted=times.uncounted,
    )
    if node.reason is None:
        return figures
    return {name: unknown_figure("J", READINGS, node.reason) for name in figures}


def _idle_power(node: NodeReadings) -> Figure:
    if node.reason is not None:
        return unknown_figure("W", BASELOAD, node.reason)
    return idle_power(node.idle, node.totals)


def _summed(figures: Mapping[str, Figure], nodes: Sequence[NodeReadings], what: str) -> Figure:
    """Sum of the nodes' figures, if all sensors cover the same; tier and coverage are those of the
    worst sensor."""
    found = list(figures.values())
    unit, source = found[0].unit, found[0].source
    missing = {node: figure.reason for node, figure in figures.items() if figure.value is None}
    if missing:
        which = "; ".join(f"{node}: {reason}" for node, reason in missing.items())
        measured = ", ".join(node for node in figures if node not in missing) or "none"
        reason = f"not every node has {what} ({which}); measured on: {measured}"
        return unknown_figure(unit, source, reason[:1000])
    if not _one_coverage(nodes):
        which = ", ".join(f"{node.node}: {combined_coverage(node.totals).value}" for node in nodes)
        return unknown_figure(
            unit, source, f"the nodes' sensors cover different parts ({which})"[:1000]
        )
    uncertainties = _of_all(found, "uncertainty")
    levels = {figure.level for figure in found}
    return Figure(
        value=float(np.sum([figure.value for figure in found])),
        unit=unit,
        source=source,
        count=sum(figure.count for figure in found),
        period_s=max(_values_of_figure(found, "period_s"), default=None),
        coverage=min(_values_of_figure(found, "coverage"), default=None),
        uncertainty=(
            None if uncertainties is None else uncertainty_of_sum(uncertainties, of_one_sensor=True)
        ),
        level=levels.pop() if len(levels) == 1 else None,
        **_instrument(nodes),
    )


def _instrument(nodes: Sequence[NodeReadings]) -> dict[str, Any]:
    """What measured a sum over the nodes, whose sensors cover the same."""
    totals = [total for node in nodes for total in node.totals]
    return {
        "method": f"sum over {len(nodes)} nodes",
        "sensor": sensor_of(totals, combined_coverage(nodes[0].totals)),
    }


def _values_of_figure(figures: Sequence[Figure], name: str) -> list[Any]:
    """What the figures have under a name."""
    return [value for figure in figures if (value := getattr(figure, name)) is not None]


def _of_all(figures: Sequence[Figure], name: str) -> list[Any] | None:
    """The same; None unless every figure has it."""
    known = _values_of_figure(figures, name)
    return known if len(known) == len(figures) else None


def _one_coverage(nodes: Sequence[NodeReadings]) -> bool:
    return len({combined_coverage(node.totals) for node in nodes if node.totals}) == 1


def bytes_sent_per_step(nodes: Sequence[NodeReadings], run: Window | None, steps: int) -> Figure:
    """Bytes per step sent by all nodes, as their interfaces count them: including headers and the
    harness's messages.

    The interval is that of the run's ends, between two readings each, where all nodes begin and
    stop to send together.
    """
    sent = {
        f"{node.interface} of {node.node}": _per_step(node, "sent", run, steps) for node in nodes
    }
    for name, figure in sent.items():
        if figure.value is None:
            return unknown_figure("B", READINGS, f"{name}: {figure.reason}"[:1000])
    figures = list(sent.values())
    widths = _of_all(figures, "uncertainty")
    return Figure(
        value=float(np.sum([figure.value for figure in figures])),
        unit="B",
        source=READINGS,
        count=steps,
        period_s=max(_values_of_figure(figures, "period_s"), default=None),
        method=f"sent by {', '.join(sent)}"[:1000],
        uncertainty=None
        if widths is None
        else uncertainty_of_ends(sum(each.time for each in widths)),
    )


def _per_step(node: NodeReadings, direction: str, run: Window | None, steps: int) -> Figure:
    """Bytes per step, counted by the node's interface to the other nodes from run_start to
    run_stop."""
    if node.reason is not None or run is None or not steps:
        return unknown_figure("B", READINGS, node.reason or NOT_FINISHED)
    if node.interface is None:
        return unknown_figure("B", READINGS, "its interface to the other nodes is not known")
    channel = node.channels.get("network", f"{node.interface}.{direction}")
    if channel.period_s is None:
        return unknown_figure("B", READINGS, f"{channel.name} was not read")
    counter = CounterChannel(channel.in_time.without_wraps)
    measured = counter.increase(run, MIN_PERIODS)
    if measured.value is None:
        return unknown_figure("B", READINGS, str(measured.reason))
    ends = counter.edge(run).uncertainty
    return Figure(
        value=measured.value / steps,
        unit="B",
        source=READINGS,
        count=steps,
        period_s=channel.period_s,
        coverage=measured.coverage,
        method=f"{node.interface}, headers included",
        uncertainty=None if ends is None else uncertainty_of_ends(ends / steps),
    )
