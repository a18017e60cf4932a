"""Plausibility: power and arithmetic within what the device can do."""

import math
from collections.abc import Iterator

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.layout import READINGS, STEPS
from suite.bundle.steps import StepRecords
from suite.catalog.devices import Device
from suite.catalog.power import Coverage, MachinePart, PowerTotal, Tier
from suite.catalog.precisions import Precision
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted
from suite.metrics.core_clocks import core_clocks
from suite.metrics.energy_figures import energy_figures
from suite.metrics.power_totals import combined_coverage, power_totals

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
TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
# Winograd's F(4x4, 3x3) needs a fourth of the multiplications that are counted (Lavin and Gray,
# CVPR 2016)
FAST_CONVOLUTION = 4
MIN_RUN_S = 10.0  # CPU times are read once a second
MAX_IMPLAUSIBLE_SHARE, MIN_IMPLAUSIBLE = 0.05, 3
COVERED = tuple(Coverage)
MIN_WHOLE_SHARE = 0.8  # in rounds before v0.3
WORST_ADAPTER, IDLE_ADAPTER_W = 0.5, 5.0  # an adapter's efficiency, and what it takes by itself
MIN_AROUND, MIN_SHARE_AROUND = 4, 0.5


def _power(context: BundleContext) -> Violations:
    """Check every node's mean power over the run against a minimum and against the limit of the
    board's supply."""

    fix = "check the sensor, its unit and what else it measures; run again"
    for node, window in context.nodes_in_run() if context.run_s > 0 else ():
        totals = power_totals(node.channels, context.power_rules, window)
        energy_j = energy_figures(node.channels, totals, window, ())["energy_j"].value
        if not totals:
            continue
        power_w = _mean_reading_w(node, totals[0]) if energy_j is None else energy_j / context.run_s
        limit_w = _limit_w(context.device, combined_coverage(totals))
        source = " and ".join(total.source for total in totals)
        if power_w is not None and power_w < MIN_POWER_W:
            yield Violation(
                node.file,
                f"a mean power of {MIN_POWER_W} W or more over the run",
                f"a mean power of {power_w:.3f} W according to {source}",
                fix=fix,
            )
        if power_w is not None and limit_w is not None and power_w > limit_w:
            yield Violation(
                node.file,
                f"a mean power of {limit_w:.1f} W or less over the run: the limit in the profile of"
                f" {context.request.platform}, with a tolerance",
                f"a mean power of {power_w:.3f} W according to {source}",
                fix=fix,
            )


def _mean_reading_w(node: NodeContext, total: PowerTotal) -> float | None:
    """The mean of the readings, for readings that give no energy; None for a total of energy
    counters, which may jump."""
    if total.rule.unit != "W":
        return None
    means_w = [channel.mean for channel in node.summed(total)]
    return sum(mean_w for mean_w in means_w if not math.isnan(mean_w))


def _limit_w(device: Device | None, coverage: Coverage) -> float | None:
    if device is None or device.max_power_w is None:
        return None
    return (
        device.max_power_w
        * LIMIT_TOLERANCE
        / (MIN_ADAPTER_EFFICIENCY if coverage is Coverage.WALL else 1.0)
    )


def _plausible(context: BundleContext) -> Violations:
    """Check that a meter's power is rarely out of the range that its rule calls plausible: a glitch
    is rare."""

    for node in context.nodes:
        for total in power_totals(node.channels, context.power_rules, context.window):
            for channel in node.summed(total) if total.rule.unit == "W" else ():
                low_w, high_w = total.rule.plausible_w[0], total.rule.plausible_w[-1]
                outside = int(((channel.values < low_w) | (channel.values > high_w)).sum())
                if outside >= MIN_IMPLAUSIBLE and outside > MAX_IMPLAUSIBLE_SHARE * len(channel):
                    yield Violation(
                        node.file,
                        f"at most {MAX_IMPLAUSIBLE_SHARE:.0%} of the readings of {channel.source}"
                        f" {channel.name} outside {low_w:g} to {high_w:g} W",
                        f"{outside} of {len(channel)} readings outside this range",
                    )


def _nested(context: BundleContext) -> Violations:
    """Check that a sensor of the whole reads no less than a sensor of a part of it, and at the wall
    not many times what the board takes, on every node."""
    for node in context.nodes:
        means = list(_means_w(context, node))
        for part, part_w in means:
            for whole, whole_w in means:
                if COVERED.index(whole.rule.coverage) <= COVERED.index(part.rule.coverage):
                    continue
                min_w, max_w = _whole_w(context, part, part_w, whole)
                if not min_w <= whole_w <= max_w:
                    yield Violation(
                        node.file,
                        f"a mean power of {min_w:.3g} W"
                        + (f" to {max_w:.3g} W" if max_w < math.inf else " or more")
                        + f" according to {whole.source} ({whole.rule.coverage.value}), because"
                        f" {part.source} ({part.rule.coverage.value}) measures a part of the same"
                        " machine",
                        f"a mean power of {whole_w:.3g} W according to {whole.source}, and of"
                        f" {part_w:.3g} W according to {part.source}",
                    )


def _whole_w(
    context: BundleContext, part: PowerTotal, part_w: float, whole: PowerTotal
) -> tuple[float, float]:
    """The least and the most that the whole may read."""
    if context.round.is_before_v03:
        return MIN_WHOLE_SHARE * part_w, math.inf
    slack = (1 + part.rule.gain_error) * (1 + whole.rule.gain_error)
    through_adapter = (whole.rule.coverage, part.rule.coverage) == (Coverage.WALL, Coverage.BOARD)
    max_w = (part_w / WORST_ADAPTER + IDLE_ADAPTER_W) * slack if through_adapter else math.inf
    steps_w = sum(total.step(name) or 0.0 for total in (part, whole) for name in total.channels)
    return part_w / slack - steps_w / 2, max_w + steps_w / 2


def _means_w(context: BundleContext, node: NodeContext) -> Iterator[tuple[PowerTotal, float]]:
    """The mean in the run of every power total of measured watts that was read on a node; not of
    energy counters, and not of estimates."""
    rules = [
        rule for rule in context.power_rules if rule.unit == "W" and rule.tier is not Tier.ESTIMATE
    ]
    for total in node.totals(rules):
        channels = node.summed(total)
        if context.window and node.is_on_clock and not context.round.is_before_v03:
            channels = [channel.during(context.window) for channel in channels]
        means_w = [channel.mean for channel in channels]
        if all(math.isfinite(mean_w) for mean_w in means_w):
            yield total, sum(means_w)


def _above_idle(context: BundleContext) -> Violations:
    yield from _below_idle(context)
    yield from _below_load(context)


def _below_load(context: BundleContext) -> Violations:
    """Nodes that were busy before the run, and drew much less in it although they were as busy."""
    for node, window in context.nodes_in_run():
        if not node.is_busy_before:
            continue
        before = node.idle.get("cpu", "utilisation.total").mean
        share = min(1.0, node.utilisation.during(window).mean / before) * MIN_SHARE_OF_LOAD
        for total in _totals_at_work(context, node, window):
            before_w = sum(node.idle.get(total.source, name).mean for name in total.channels)
            power_w = sum(channel.during(window).mean for channel in node.summed(total))
            if total.rule.unit == "W" and before_w > 0 and power_w < share * before_w:
                yield Violation(
                    node.file,
                    f"a mean power of at least {share * before_w:.2f} W over the run:"
                    f" {share:.0%} of the {before_w:.2f} W before the run, when the processor"
                    f" was {before:.0f} % busy",
                    f"a mean power of {power_w:.2f} W according to {total.source}",
                )


def _below_idle(context: BundleContext) -> Violations:
    """Nodes that were idle before the run and drew less in it; each by itself, because a sum would
    hide one that reads too little."""
    alone = {name: figure.to_dict() for name, figure in context.derived.figures.items()}
    rows = [node["figures"] for node in context.derived.nodes] or [alone]
    for node, figures in zip(context.nodes, rows, strict=True):
        share, idle_w = (figures[name]["value"] for name in ("baseload_share", "baseload_power_w"))
        if not share or node.is_busy_before or not _totals_at_work(context, node, context.window):
            continue
        power_w = idle_w / share  # the share is of the energy in the counted time
        if power_w < MIN_SHARE_OF_IDLE * idle_w:
            yield Violation(
                node.file,
                f"a mean power of at least {MIN_SHARE_OF_IDLE * idle_w:.2f} W over the run:"
                f" {MIN_SHARE_OF_IDLE:.0%} of the idle machine's {idle_w:.2f} W",
                f"a mean power of {power_w:.2f} W ({power_w / idle_w:.0%} of the idle power)",
                fix="stop other programs before the run, so that the machine is idle while its"
                " idle power is measured, or check the sensor",
            )


def _totals_at_work(
    context: BundleContext, node: NodeContext, window: Window | None
) -> tuple[PowerTotal, ...]:
    """The totals that count, of a run on the CPU without the GPU's: a GPU without work draws no
    more in the run than before it."""
    totals = power_totals(node.channels, context.power_rules, window)
    is_on_cpu = context.request.accelerator == "cpu"
    return tuple(
        total for total in totals if not (is_on_cpu and total.rule.part is MachinePart.GPU)
    )


def _power_around_run(context: BundleContext) -> Violations:
    """Check a board's power right before and right after the run against the idle machine's: the
    same machine is on."""
    for node, window in context.nodes_in_run():
        for total in node.totals(context.power_rules):
            channel, *others = node.summed(total)
            if (total.rule.coverage, total.rule.unit) != (Coverage.BOARD, "W") or others:
                continue
            idle = node.idle.get(channel.source, channel.name)
            before = channel.select(channel.t_ns < window[0])
            after = channel.select(channel.t_ns > window[1])
            is_known = len(idle) and len(before) and len(after) and not node.is_busy_before
            if not is_known or len(before) + len(after) < MIN_AROUND:
                continue
            highest_w = max(before.maximum, after.maximum)
            if highest_w < MIN_SHARE_AROUND * idle.minimum:
                yield Violation(
                    node.file,
                    f"at least {MIN_SHARE_AROUND * idle.minimum:.2f} W in a reading right before or"
                    " right after the run: half of the idle machine's lowest reading",
                    f"at most {highest_w:.2f} W in all {len(before) + len(after)} readings of"
                    f" {channel.source} {channel.name} before and after the run",
                )


def _rate(context: BundleContext) -> Violations:
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
            yield Violation(
                STEPS,
                f"at most {peak:g} GFLOP/s in epoch {epoch}: {FAST_CONVOLUTION} times the peak of"
                f" {device.name}, {device.peak_gflops:g} GFLOP/s, for"
                f" {counted(len(steps.ranks), 'rank')}",
                f"{work / compute_s if compute_s > 0 else math.inf:.3g} GFLOP/s: {work:.3g} billion"
                f" operations in {compute_s:.3g} s",
                fix=f"run again on a {device.title}",
            )
            return


def _cycles(context: BundleContext) -> Violations:
    """Check the arithmetic of a run on the CPU against what its cores can compute in the CPU time
    that the implementation used, at the highest clock that was read."""
    cpu = None if context.device is None else context.device.cpu
    request = context.request
    if (
        cpu is None
        or cpu.fp64_per_cycle is None
        or request.accelerator != "cpu"
        or request.model != context.workload.model
    ):
        return
    per_cycle = cpu.fp64_per_cycle * (2 if request.precision == Precision.FLOAT32 else 4)
    most = 0.0
    for node, window in context.nodes_in_run():
        used, clocks = node.rate("cpu", "process_tree", window), core_clocks(node.channels)
        clock_hz = max((each.maximum for each in clocks), default=cpu.max_frequency_mhz * 1e6)
        if used is None or not all(each.is_on_clock and each.is_whole for each in context.nodes):
            return
        most += 1e-9 * FAST_CONVOLUTION * per_cycle * clock_hz * used * context.run_s
    work = 2e-9 * TRAINING_PER_FORWARD * context.workload.forward_macs
    work *= float(context.steps.samples.sum())
    if context.run_s > MIN_RUN_S and work > most:
        yield Violation(
            READINGS,
            f"at most {most:.3g} billion operations in the CPU time that the implementation used"
            f" ({per_cycle} operations a cycle on {cpu.architecture}, times {FAST_CONVOLUTION} for"
            " fast convolutions)",
            f"{work:.3g} billion operations for the samples that were trained on",
        )


def _epoch_s(context: BundleContext, epoch: int, steps: "StepRecords") -> float:
    """From an epoch's first fetch to its end."""
    ends_ns = [
        event.mono_ns
        for event in context.log.all("epoch_stop")
        if event.epoch == epoch and event.mono_ns is not None
    ]
    return (ends_ns[0] - int(steps.start_ns.min())) * SECONDS_PER_NS if ends_ns else 0.0


RULES = (
    Rule(
        "power-possible",
        "On each node, the mean power over the run is at least 0.1 W. It is at most the limit in"
        " the device profile (max_power_w) plus 10 % (at the wall: divided by 0.8 for the loss of a"
        " power adapter). At most 5 % of the readings of a power meter's channel (or two readings)"
        " are outside the meter's plausible range (plausible_w in rules/power.toml). If one meter"
        " measures the whole and another a part of it, the mean power of the whole is not lower"
        " than that of the part. A meter at the wall reads at most twice the board's mean power"
        " plus 5 W. Both comparisons of meters allow for the meters' stated errors.",
        "Wrong units, missing rails and made-up readings give an impossible power. Glitches are"
        " rare, and are left out of the energy; if more readings are implausible, the meter is"
        " often wrong or its readings were edited. A board draws at least what its chips draw. Even"
        " a poor power adapter passes on half of the power that it takes, apart from 5 W.",
        "check the sensor, its unit, its connection and what else it measures (rules/power.toml,"
        " /etc/edge-training-suite/meters.toml); run again",
        (
            OfBundle("power-possible", _power),
            OfBundle("power-plausible", _plausible),
            OfBundle("whole-above-part", _nested),
        ),
    ),
    Rule(
        "power-above-idle",
        "Usually the machine is idle before the run. Then the mean power of the run is at least 1"
        " % above the idle power. If a meter of the whole board was read right before and right"
        " after the run, at least one of these readings is at least half of the lowest idle"
        " reading. If other programs kept more than a quarter of the processor busy before the"
        " run, another limit replaces these two: the mean power of the run is at least 60 % of the"
        " mean power before it, or proportionally less if the processor was less busy during the"
        " run than before. If only a GPU's power was read, runs on the CPU are exempt.",
        "The same meter measures the idle power right before the run, so if somebody scaled down"
        " the readings of the run, they fall below it. If other programs kept the machine busy"
        " before the run, `foreign-load` reports it, and this rule allows for their load. The"
        " power at the run's start and stop is interpolated from nearby readings: if these"
        " are too low, so is the energy.",
        "stop other programs before the run, so that the machine is idle while its idle power is"
        " measured, and check the sensor",
        (
            OfBundle("power-above-idle", _above_idle),
            OfBundle("power-around-run", _power_around_run),
        ),
    ),
    Rule(
        "flop-rate",
        "In each epoch, a rank computes on average at most four times as many operations per second"
        " of compute time as the device's peak in its fastest precision. A run on a CPU computes in"
        " all at most four times as many operations as its cores can compute in the CPU time that"
        " the implementation used, at the highest clock that was read and in the run's precision"
        " (checked in runs of more than 10 s). Devices without a known peak are exempt, and so are"
        " models other than the workload's.",
        "No program exceeds the silicon's peak. The limit is four times the peak, because this rule"
        " counts the multiplications of plain convolutions, and fast convolutions need as little as"
        " a fourth of them. So the limit sets the shortest possible time of a run. It also sets"
        " its lowest possible energy: what the idle machine uses in this time.",
        "run again on a machine that matches the device profile",
        (OfBundle("flop-rate", _rate), OfBundle("flop-cycles", _cycles)),
    ),
)
