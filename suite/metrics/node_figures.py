"""Figures of a run on several nodes: energy summed over them, bytes that crossed the wire, and what each node's own readings say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suite.bundle.channels import Window
from suite.bundle.layout import BASELOAD, READINGS
from suite.catalog.power import PowerTotal, Tier
from suite.metrics.energy_figures import energy_figures, epoch_energy_j, idle_power, of_idle_power
from suite.metrics.figure import Figure, mean_figure, unknown
from suite.metrics.machine_figures import disturbances, reading_figures
from suite.metrics.node_readings import NodeReadings

NOT_FINISHED = "the run was not finished"
SHORTEST_PERIODS = 10  # at each end of the run up to one is interpolated, and traffic begins and ends there
TIERS = list(Tier)


def node_rows(nodes: Sequence[NodeReadings], run: Window | None, epochs: Sequence[Window], steps: int, epoch: Figure) -> list[dict[str, Any]]:
    """A row per node as plain values: what it is, its own figures and what disturbed it; times are rank 0's, ``epoch`` that of an epoch."""
    return [
        {
            "node": node.node,
            "ranks": list(node.ranks),
            "interface": node.interface,
            "reason": node.reason,
            "figures": {name: figure.to_dict() for name, figure in _own_figures(node, run, epochs, steps, epoch).items()},
            "disturbances": disturbances(node.channels, run),
        }
        for node in nodes
    ]


def joint_figures(nodes: Sequence[NodeReadings], run: Window | None, epochs: Sequence[Window], steps: int, epoch: Figure) -> dict[str, Figure]:
    """Of all nodes together: energy and baseload, None unless every node has them, and the bytes that all of them sent per step."""
    whole = _summed({node.node: _own_energy(node, run, epochs)["energy_j"] for node in nodes}, nodes, "an energy")
    idle = _summed({node.node: _own_idle_power(node) for node in nodes}, nodes, "a baseload")
    sums_j = [value for window in epochs if (value := joint_epoch_energy_j(nodes, *window)) is not None]
    per_epoch = mean_figure(sums_j, "J", READINGS, whole.reason or "no epoch after the first has an energy of every node", whole.period_s)
    return {
        "energy_j": whole,
        "energy_per_epoch_j": replace(per_epoch, method=whole.method),
        **of_idle_power(idle, run, whole, epoch),
        "wire_bytes_per_step": _wire(nodes, run, steps),
    }


def joint_epoch_energy_j(nodes: Sequence[NodeReadings], start_ns: int, stop_ns: int) -> float | None:
    """Energy of an epoch on all nodes; None unless every one has it."""
    parts = []
    for node in nodes:
        total = node.channels.power_total
        parts.append(None if total is None else epoch_energy_j(node.channels, total, start_ns, stop_ns))
    known = [part for part in parts if part is not None]
    return float(np.sum(known)) if len(known) == len(nodes) and _one_coverage(nodes) else None


def _own_figures(node: NodeReadings, run: Window | None, epochs: Sequence[Window], steps: int, epoch: Figure) -> dict[str, Figure]:
    wire = {f"{direction}_bytes_per_step": _per_step(node, direction, run, steps) for direction in ("sent", "received")}
    energies = _own_energy(node, run, epochs)
    baseload = of_idle_power(_own_idle_power(node), run, energies["energy_j"], epoch)
    return {**energies, **baseload, **reading_figures(node.channels, run), **wire}


def _own_energy(node: NodeReadings, run: Window | None, epochs: Sequence[Window]) -> dict[str, Figure]:
    total = node.channels.power_total
    values = [] if total is None else [epoch_energy_j(node.channels, total, *window) for window in epochs]
    figures = energy_figures(node.channels, run, values)
    return figures if node.reason is None else {name: unknown("J", READINGS, node.reason) for name in figures}


def _own_idle_power(node: NodeReadings) -> Figure:
    return idle_power(node.channels, node.idle) if node.reason is None else unknown("W", BASELOAD, node.reason)


def _summed(figures: Mapping[str, Figure], nodes: Sequence[NodeReadings], what: str) -> Figure:
    """The nodes' figures added up; what the sensors cover must be the same, and the sum is as good as the worst of them."""
    found = list(figures.values())
    unit, source = found[0].unit, found[0].source
    missing = {node: figure.reason for node, figure in figures.items() if figure.value is None}
    with_sensor = [node for node in figures if node not in missing]
    if missing:
        which = "; ".join(f"{node}: {reason}" for node, reason in missing.items())
        return unknown(unit, source, f"not every node has {what} ({which}); measured on: {', '.join(with_sensor) or 'none'}"[:1000])
    totals = _totals(nodes)
    if not _one_coverage(nodes):
        which = ", ".join(f"{node.node}: {total.rule.coverage.value}" for node, total in zip(nodes, totals, strict=True))
        return unknown(unit, source, f"the nodes' sensors do not cover the same ({which})"[:1000])
    rules = dict.fromkeys(f"{total.source}: {total.rule.name}" for total in totals)
    worst = max((total.rule.tier for total in totals), key=TIERS.index)
    return Figure(
        value=float(np.sum([figure.value for figure in found])),
        unit=unit,
        source=source,
        count=sum(figure.count for figure in found),
        period_s=max((figure.period_s for figure in found if figure.period_s is not None), default=None),
        coverage=min((figure.coverage for figure in found if figure.coverage is not None), default=None),
        method=f"sum over {len(found)} nodes: {', '.join(rules)} ({totals[0].rule.coverage.value}, {worst.value})",
    )


def _totals(nodes: Sequence[NodeReadings]) -> list[PowerTotal]:
    return [total for node in nodes if (total := node.channels.power_total) is not None]


def _one_coverage(nodes: Sequence[NodeReadings]) -> bool:
    return len({total.rule.coverage for total in _totals(nodes)}) == 1


def _wire(nodes: Sequence[NodeReadings], run: Window | None, steps: int) -> Figure:
    """What all nodes sent towards one another; as the interfaces count it, with the headers, the harness's own words included."""
    sent = {f"{node.interface} of {node.node}": _per_step(node, "sent", run, steps) for node in nodes}
    missing = next(((name, figure.reason) for name, figure in sent.items() if figure.value is None), None)
    if missing is not None:
        return unknown("B", READINGS, f"{missing[0]}: {missing[1]}"[:1000])
    periods = [figure.period_s for figure in sent.values() if figure.period_s is not None]
    total = float(np.sum([figure.value for figure in sent.values()]))
    return Figure(total, "B", READINGS, steps, max(periods, default=None), method=f"sent by {', '.join(sent)}"[:1000])


def _per_step(node: NodeReadings, direction: str, run: Window | None, steps: int) -> Figure:
    """What a node's interface towards the others counted between run_start and run_stop, by the run's steps."""
    if node.reason is not None or run is None or not steps:
        return unknown("B", READINGS, node.reason or NOT_FINISHED)
    if node.interface is None:
        return unknown("B", READINGS, "its interface towards the other nodes is not known")
    channel = node.channels.get("network", f"{node.interface}.{direction}")
    if channel.period_s is None:
        return unknown("B", READINGS, f"{channel.name} was not read")
    measured = channel.increase(run, SHORTEST_PERIODS, "the run was")
    if measured.value is None:
        return unknown("B", READINGS, str(measured.reason))
    return Figure(measured.value / steps, "B", READINGS, steps, channel.period_s, measured.coverage, method=f"{node.interface}, headers included")
