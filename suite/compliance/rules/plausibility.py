"""Plausibility: power, arithmetic, losses and machine within what the device can do."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS, SYSTEM
from suite.catalog.devices import Device
from suite.catalog.divisions import Division
from suite.catalog.power import Coverage, PowerTotal
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import BundleContext, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.channels import Channels
    from suite.bundle.steps import StepRecords

ORDER = 90  # last: figures and readings are sound by now

MIN_POWER_W = 0.1
MIN_ADAPTER_EFFICIENCY = 0.8
LIMIT_TOLERANCE = 1.1
# the mean of ten idle seconds is uncertain by less; boards draw 1.1 to 3 times their idle power
# under load
MIN_SHARE_OF_IDLE = 1.01
# of the power before the run, at the same utilisation: other programs' instructions draw up to half
# as much again
MIN_SHARE_OF_LOAD = 0.6
MAX_IDLE_UTILISATION = 25.0  # %
TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
GIB = 2**30
# times the largest that is listed: no later variant of one chip had more
CORES_OF_ANY_VARIANT, MEMORY_OF_ANY_VARIANT = 2, 4
# Winograd's F(4x4, 3x3) needs a fourth of the multiplications that are counted (Lavin and Gray,
# CVPR 2016)
FAST_CONVOLUTION = 4
FIRST_STEPS, FIRST_LOSS = 10, (0.5, 3.0)  # of ln(classes), the loss of guessing


def _power(context: BundleContext) -> Iterator[Violation]:
    """Check every node's mean power over the run against a minimum and against the limit of the
    board's supply."""
    from suite.metrics.energy_figures import energy_figures  # start-up: loads numpy
    from suite.metrics.power_totals import covers, power_totals  # start-up: loads numpy

    window, fix = context.window, "check the sensor, its unit and what else it measures; run again"
    if window is None or window[1] <= window[0]:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        totals = power_totals(node.channels, context.power_rules, window)
        energy_j = energy_figures(node.channels, totals, window, ())["energy_j"].value
        if not totals:
            continue
        power_w = (
            _mean_reading_w(node.channels, totals[0])
            if energy_j is None
            else energy_j / ((window[1] - window[0]) * SECONDS_PER_NS)
        )
        limit_w, source = (
            _limit_w(context.device, covers(totals)),
            " and ".join(total.source for total in totals),
        )
        if power_w is not None and power_w < MIN_POWER_W:
            yield Violation(
                node.file,
                f"a mean power of {MIN_POWER_W} W or more",
                f"{power_w:.3f} W by {source}",
                fix,
            )
        if power_w is not None and limit_w is not None and power_w > limit_w:
            expected = (
                f"a mean power of {limit_w:.1f} W or less, the limit of {context.request.platform}"
            )
            yield Violation(node.file, expected, f"{power_w:.3f} W by {source}", fix)


def _mean_reading_w(channels: "Channels", total: PowerTotal) -> float | None:
    """The mean of the readings, for readings that give no energy; None for a total of energy
    counters, which may jump."""
    if total.rule.unit != "W":
        return None
    means_w = [channels.get(total.source, name).mean for name in total.channels]
    return sum(mean_w for mean_w in means_w if not math.isnan(mean_w))


def _limit_w(device: Device | None, coverage: Coverage) -> float | None:
    if device is None or device.max_power_w is None:
        return None
    return (
        device.max_power_w
        * LIMIT_TOLERANCE
        / (MIN_ADAPTER_EFFICIENCY if coverage is Coverage.WALL else 1.0)
    )


def _above_idle(context: BundleContext) -> Iterator[Violation]:
    yield from _below_idle(context)
    yield from _below_load(context)


def _below_load(context: BundleContext) -> Iterator[Violation]:
    """Nodes that were busy before the run, and drew much less in it although they were as busy."""
    window = context.window
    if window is None:
        return
    for node in (node for node in context.nodes if node.is_on_clock and is_busy(node)):
        before = node.idle.get("cpu", "utilisation.total").mean
        share = (
            min(1.0, node.channels.get("cpu", "utilisation.total").during(window).mean / before)
            * MIN_SHARE_OF_LOAD
        )
        for channel in (
            channel for channel in node.idle if channel.unit == "W" and channel.mean > 0
        ):
            power_w = node.channels.get(channel.source, channel.name).during(window).mean
            if power_w < share * channel.mean:
                expected = (
                    f"{share:.0%} or more of the {channel.mean:.2f} W that the machine drew before"
                    f" the run, when it was busy to {before:.0f} %"
                )
                observed = (
                    f"{power_w:.2f} W by {channel.source} {channel.name} on average over the run"
                )
                yield Violation(
                    node.file,
                    expected,
                    observed,
                    "check the sensor, and stop other programs before a run",
                )


def _below_idle(context: BundleContext) -> Iterator[Violation]:
    """Nodes that were idle before the run and drew less in it; each by itself, because a sum would
    hide one that reads too little."""
    alone = {name: figure.to_dict() for name, figure in context.derived.figures.items()}
    window, rows = context.window, [node["figures"] for node in context.derived.nodes] or [alone]
    if window is None:
        return
    for node, figures in zip(context.nodes, rows, strict=True):
        share, idle_w, energy_j = (
            figures[name]["value"] for name in ("baseload_share", "baseload_power_w", "energy_j")
        )
        power_w = None if share is None else energy_j / ((window[1] - window[0]) * SECONDS_PER_NS)
        if power_w is not None and power_w < MIN_SHARE_OF_IDLE * idle_w and not is_busy(node):
            observed = f"{power_w:.2f} W on average over the run ({power_w / idle_w:.0%})"
            fix = (
                "stop other programs before a run, so that the idle machine is idle, or check the"
                " sensor"
            )
            yield Violation(
                node.file,
                f"{MIN_SHARE_OF_IDLE:.0%} of the idle machine's {idle_w:.2f} W or more",
                observed,
                fix,
            )


def is_busy(node: NodeContext) -> bool:
    """Other programs ran while the idle machine was measured, by the CPU meter."""
    return node.idle.get("cpu", "utilisation.total").mean > MAX_IDLE_UTILISATION


def _rate(context: BundleContext) -> Iterator[Violation]:
    """Check the arithmetic per second of compute time, epoch by epoch, against the device's peak in
    its fastest precision.

    Where steps are not split, an epoch's whole time is taken for computing.
    """
    device = context.device
    if (
        device is None
        or device.peak_gflops is None
        or context.request.model != context.workload.model
    ):
        return
    for epoch, steps in context.steps.by_epoch():
        compute_s = (
            steps.sum_s("compute_s") / len(steps.ranks)
            if steps.is_split
            else _epoch_s(context, epoch, steps)
        )
        work = (
            2e-9 * TRAINING_PER_FORWARD * context.workload.forward_macs * float(steps.samples.sum())
        )
        peak = device.peak_gflops * FAST_CONVOLUTION * len(steps.ranks)
        if not work <= peak * compute_s:
            observed = (
                f"{work / compute_s if compute_s > 0 else math.inf:.3g} GFLOP/s: {work:.3g} billion"
                f" operations in {compute_s:.3g} s"
            )
            fix = f"run again on a {device.title}"
            yield Violation(
                STEPS, f"at most {peak:g} GFLOP/s on {device.name} in epoch {epoch}", observed, fix
            )
            return


def _epoch_s(context: BundleContext, epoch: int, steps: "StepRecords") -> float:
    """From an epoch's first fetch to its end."""
    ends_ns = [
        event.mono_ns
        for event in context.log.all("epoch_stop")
        if event.epoch == epoch and event.mono_ns is not None
    ]
    return (ends_ns[0] - int(steps.start_ns.min())) * SECONDS_PER_NS if ends_ns else 0.0


def _losses(context: BundleContext) -> Iterator[Violation]:
    """Check that losses are finite, not negative and not all alike, and that the first ones are
    near the loss of guessing."""
    import numpy as np  # start-up

    losses, fix = context.steps.loss, "hand in the losses as they were computed"
    bad = ~((losses >= 0) & (losses < math.inf))
    if bad.any():
        steps, row = context.steps, int(bad.nonzero()[0][0])
        observed = (
            f"{losses[row]} in step {steps.step[row]} of epoch {steps.epoch[row]} on rank"
            f" {steps.rank[row]}, {int(bad.sum())} in all"
        )
        yield Violation(STEPS, "losses of zero or more", observed, fix)
        return
    different = 1 + np.count_nonzero(np.diff(np.sort(losses)))
    if len(losses) > FIRST_STEPS and different < len(losses) / 10:
        yield Violation(
            STEPS,
            "losses that differ from step to step",
            f"{different} different losses in {len(losses)} steps",
            fix,
        )
    if (
        context.request.division == Division.CLOSED.value
        and context.request.data.classes > 1
        and len(losses)
    ):
        guess = math.log(context.request.data.classes)
        first = float(losses[:FIRST_STEPS].mean())
        if not FIRST_LOSS[0] * guess <= first <= FIRST_LOSS[1] * guess:
            expected = f"a first loss near ln({context.request.data.classes}) = {guess:.2f}"
            yield Violation(
                STEPS,
                expected,
                f"{first:.3f} over {FIRST_STEPS} steps",
                "draw the initial weights as the workload defines",
            )


def _machine(context: BundleContext) -> Iterator[Violation]:
    """Check the described machine against its device profile. `machine-variant` warns of variants
    that it does not list."""
    device = context.device
    if device is None:
        yield Violation(
            SYSTEM,
            "a device that has a profile",
            f"{context.request.platform!r}"[:200],
            "run with --device generic, or add a profile in rules/devices",
        )
        return
    system, fix = context.system, f"run on a {device.title}, or with --device generic"
    if device.cpu is not None:
        if device.cpu.machine and system.get("architecture") not in device.cpu.machine:
            expected = f"architecture {' or '.join(device.cpu.machine)}, as of {device.name}"
            yield Violation(SYSTEM, expected, f"{system.get('architecture')!r}"[:200], fix)
        cores = system.get("cpu_cores")
        if isinstance(cores, int) and cores > CORES_OF_ANY_VARIANT * device.cpu.cores:
            yield Violation(
                SYSTEM, f"about the {device.cpu.cores} cores of {device.name}", f"{cores}", fix
            )
    size_bytes = system.get("memory_size_bytes")
    if (
        device.memory is not None
        and isinstance(size_bytes, int)
        and size_bytes > MEMORY_OF_ANY_VARIANT * max(device.memory.sizes_gb) * GIB
    ):
        yield Violation(
            SYSTEM,
            f"about the {max(device.memory.sizes_gb):g} GiB of {device.name}",
            f"{size_bytes} bytes",
            fix,
        )
    entries = system.get("compatible")
    if isinstance(entries, list) and device.identity.contradicts([str(entry) for entry in entries]):
        yield Violation(
            SYSTEM,
            f"a device tree of {device.name}: {', '.join(device.identity.compatible)}",
            f"{entries}"[:200],
            fix,
        )
    for name in ("cpu_cores", "memory_size_bytes"):
        value = system.get(name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < 1
        ):
            yield Violation(
                SYSTEM,
                f"{name} of one or more",
                f"{value!r}"[:200],
                "copy the whole run directory again",
            )


RULES = (
    Rule(
        id="power-possible",
        sentence=(
            "The mean power of a run is at least 0.1 W and at most what the board's supply can"
            " give."
        ),
        rationale="Wrong units, missing rails and made-up readings give an impossible power.",
        bundle_check=_power,
    ),
    Rule(
        id="power-above-idle",
        sentence=(
            "While it trains, a machine draws a hundredth more than its idle power, or more. If"
            " other programs kept a quarter of the processor busy before the run, it draws three"
            " fifths of its power then, or more, where the processor is as busy."
        ),
        rationale=(
            "The baseload is measured by the same meter right before the run: readings that were"
            " made smaller fall below it. A busy machine's power is no idle power, so only a fall"
            " that no other load explains is refused; such a baseload is reported by"
            " `baseload-idle`."
        ),
        bundle_check=_above_idle,
    ),
    Rule(
        id="flop-rate",
        sentence=(
            "No epoch computes over four times as fast as the device's peak in its fastest"
            " precision; devices without a known peak are exempt."
        ),
        rationale=(
            "No program exceeds the silicon's peak; fast convolutions need down to a fourth of the"
            " multiplications that are counted."
        ),
        bundle_check=_rate,
    ),
    Rule(
        id="losses-possible",
        sentence=(
            "Losses are finite, not negative and not all alike; in the closed division the first"
            " are near the loss of guessing."
        ),
        rationale=(
            "Other losses were not computed, or not from initial weights as the workload defines"
            " them."
        ),
        bundle_check=_losses,
    ),
    Rule(
        id="machine-fits-profile",
        sentence=(
            "The described machine can be one of its device profile: device tree, instruction set,"
            " number of cores, memory."
        ),
        rationale=(
            "A result belongs to the machine that made it. A variant that the profile does not list"
            " is no contradiction (`machine-variant`)."
        ),
        bundle_check=_machine,
    ),
)
