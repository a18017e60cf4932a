"""Power under load: readings of an idle machine where the machine is busy."""

from collections.abc import Iterator

import numpy as np

from suite.bundle.arrays import Mask, Times
from suite.bundle.channels import Channel
from suite.catalog.power import PowerTotal
from suite.compliance.finding import Severity
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.metrics.power_totals import power_totals

ORDER = 91  # after plausibility

MIN_READINGS, MIN_SHARE_OF_UTILISATION, LAG_NS = 20, 0.8, 1.5e9
"""What is busy, by the readings of the load, which are a second apart."""
MAX_IDLE_RISE, MAX_IDLE_SHARE = 0.1, 0.1


def _under_load(context: BundleContext) -> Violations:
    """Check that a node that is busy throughout does not draw an idle machine's power now and
    then."""
    for node, total, load in _loaded(context):
        channels = [channel.in_time for channel in node.summed(total)]
        idle = [node.idle.get(total.source, name) for name in total.channels]
        t_ns = channels[0].during((int(load.t_ns[0]), int(load.t_ns[-1]))).t_ns
        t_ns = t_ns[_is_busy_at(t_ns, load)]
        power_w = np.sum([np.interp(t_ns, each.t_ns, each.values) for each in channels], axis=0)
        if len(t_ns) < MIN_READINGS or not np.median(power_w) > sum(each.maximum for each in idle):
            continue
        idle_w = sum(each.mean for each in idle)
        limit_w = idle_w + MAX_IDLE_RISE * (float(np.median(power_w)) - idle_w)
        share = float((power_w < limit_w).mean())
        if share > MAX_IDLE_SHARE:
            yield Violation(
                node.file,
                f"at most {MAX_IDLE_SHARE:.0%} of the readings of {total.source} below"
                f" {limit_w:.2f} W while the processor is busy; the idle machine's mean power was"
                f" {idle_w:.2f} W",
                f"{share:.0%} of {len(t_ns)} readings",
            )


def _loaded(context: BundleContext) -> Iterator[tuple[NodeContext, PowerTotal, Channel]]:
    """The totals of watts of nodes that were idle before the run, with their load in it."""
    for node, window in context.nodes_in_run():
        if node.is_busy_before:
            continue
        load = node.utilisation.during(window).in_time
        for total in power_totals(node.channels, context.power_rules, window):
            if total.rule.unit == "W" and len(load) >= MIN_READINGS:
                yield node, total, load


def _is_busy_at(t_ns: Times, load: Channel) -> Mask:
    """Whether the processor is as busy as it mostly is, right before, at and after each moment."""
    around = [np.interp(t_ns + lag, load.t_ns, load.values) for lag in (-LAG_NS, 0, LAG_NS)]
    busy: Mask = np.min(around, axis=0) >= MIN_SHARE_OF_UTILISATION * np.median(load.values)
    return busy


RULES = (
    Rule(
        "power-follows-load",
        "This rule covers nodes that were idle before the run. While the processor's load is at"
        " least 80 % of its median load in the run, the processor counts as busy. At most a tenth"
        " of the power readings from these times are near the idle machine's mean power. A reading"
        " is near if it is lower than the idle power plus a tenth of the difference between the"
        " busy machine's median power and the idle power.",
        "If somebody inserted readings of the idle machine, or a power trace from another time, the"
        " energy would be too low. Such readings do not follow the load: they are low while the"
        " processor is busy.",
        "check that the meter measures the board that trains, and that the meter's clock is right;"
        " then run again",
        (OfBundle("power-follows-load", _under_load, severity=Severity.WARNING),),
    ),
)
