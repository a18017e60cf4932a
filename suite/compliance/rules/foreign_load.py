"""Load: other programs and the hypervisor took little of the machine, and the readings of it fit
the other meters."""

from collections.abc import Iterator, Mapping

from reference_impls.contract import SECONDS_PER_NS
from suite.catalog.load_limits import MAX_FOREIGN_SHARE, MAX_STOLEN_SHARE
from suite.compliance.finding import Severity
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.rules.cpu_time import MIN_WINDOW_S, SLACK, TOLERANCE
from suite.compliance.values import is_number

ORDER = 84  # after the CPU time's own rules

MIN_READINGS, MIN_DEVIATION, MIN_CORRELATION = 20, 0.015, 0.6
"""Of nine real runs of 35 to 225 readings the smallest correlation is 0.98, at the smallest
standard deviation, 0.015 of the cores."""
LOST_TICKS = 0.2
"""Cores. The utilisation is a share of the ticks that the kernel counted: a virtual machine counted
a tenth too few in an honest run, 0.21 apart."""


def _undisturbed(context: BundleContext) -> Iterator[Violation]:
    """Report what other programs and the hypervisor took of each node's CPU time during the run."""
    from suite.compliance.evidence import seconds  # start-up: loads numpy
    from suite.metrics.load_figures import load_figures  # start-up: loads numpy

    window = context.window
    if window is None:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        figures, capacity_s = load_figures(node.channels, window), node.cores_read * seconds(window)
        limits = (
            (
                "foreign_cpu_s",
                MAX_FOREIGN_SHARE,
                "other programs",
                "stop other programs (`suite doctor` names the busiest), and run again",
            ),
            (
                "steal_cpu_s",
                MAX_STOLEN_SHARE,
                "the hypervisor",
                "run on the machine itself, or on a host with free cores",
            ),
        )
        for name, limit, who, fix in limits:
            taken_s = figures[name].value
            if taken_s is not None and capacity_s > 0 and taken_s > limit * capacity_s:
                yield Violation(
                    node.file,
                    f"at most {limit:.0%} of {capacity_s:.0f} CPU seconds taken by {who} during"
                    " the run",
                    f"{taken_s:.1f} CPU seconds, {taken_s / capacity_s:.1%}",
                    fix=fix,
                )


def _possible(context: BundleContext) -> Iterator[Violation]:
    """Check busy, stolen and own CPU time against the cores, the utilisation and the
    implementation's CPU time."""
    from suite.compliance.evidence import rate, seconds  # start-up: loads numpy

    window = context.window
    if window is None or not seconds(window) >= MIN_WINDOW_S:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        busy, own, steal = (
            rate(node.channels.get("load", name), window) for name in ("busy", "own", "steal")
        )
        if busy is None or own is None:
            continue
        if own > busy * TOLERANCE + SLACK:
            yield Violation(
                node.file,
                f"at most {busy:.2f} CPU seconds a second by the suite's processes, all that were"
                " busy",
                f"{own:.2f}",
            )
        implementation = rate(node.channels.get("cpu", "process_tree"), window)
        if implementation is not None and implementation > own * TOLERANCE + SLACK:
            yield Violation(
                node.file,
                f"{implementation:.2f} CPU seconds a second or more by the suite's processes, as"
                " much as the implementation's",
                f"{own:.2f}",
            )
        used = node.busy_cores(window)
        if (
            used is not None
            and abs(busy + (steal or 0.0) - used) > (TOLERANCE - 1) * used + LOST_TICKS
        ):
            yield Violation(
                node.file,
                f"{used:.2f} busy CPU seconds a second, as utilisation.total says",
                f"{busy + (steal or 0.0):.2f} by the meter load",
            )


def _follows(context: BundleContext) -> Iterator[Violation]:
    """Check that busy CPU time rises and falls with the utilisation, from one reading to the
    next."""
    import numpy as np  # start-up

    for node in (node for node in context.nodes if node.is_on_clock):
        total, busy, steal = (
            node.channels.get(*name).in_time
            for name in (("cpu", "utilisation.total"), ("load", "busy"), ("load", "steal"))
        )
        if len(total) <= MIN_READINGS or len(busy) <= MIN_READINGS or not node.cores_read:
            continue
        t_ns = total.t_ns[(total.t_ns >= busy.t_ns[0]) & (total.t_ns <= busy.t_ns[-1])]
        passed_s = np.diff(t_ns) * SECONDS_PER_NS
        if len(t_ns) <= MIN_READINGS or not (passed_s > 0).all():
            continue
        spent = [
            np.diff(np.interp(t_ns, channel.t_ns, channel.values))
            for channel in (busy, steal)
            if len(channel)
        ]
        by_load, by_utilisation = (
            sum(spent) / passed_s,
            total.values[np.isin(total.t_ns, t_ns)][1:] / 100 * node.cores_read,
        )
        if min(by_load.std(), by_utilisation.std()) < MIN_DEVIATION * node.cores_read:
            continue
        correlation = float(np.corrcoef(by_load, by_utilisation)[0, 1])
        if correlation < MIN_CORRELATION:
            yield Violation(
                node.file,
                "busy CPU time that rises and falls with utilisation.total, the kernel's count of"
                " the same cores",
                f"a correlation of {correlation:.2f} over {len(by_load)} readings",
            )


def _own(context: BundleContext) -> Iterator[Violation]:
    """Check that the suite's own processes took little more than the implementation and the
    recorder."""
    from suite.compliance.evidence import rate, seconds  # start-up: loads numpy

    window = context.window
    if window is None or not seconds(window) >= MIN_WINDOW_S:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        own, implementation = (
            rate(node.channels.get("load", "own"), window),
            rate(node.channels.get("cpu", "process_tree"), window),
        )
        costs_s = [
            record.get("cost_s")
            for record in node.meters
            if isinstance(record, Mapping) and record.get("name") != "recorder"
        ]
        reading = sum(cost_s for cost_s in costs_s if is_number(cost_s)) / seconds(window)
        if (
            own is None
            or implementation is None
            or own <= implementation * TOLERANCE + reading + SLACK
        ):
            continue
        most = implementation * TOLERANCE + reading + SLACK
        yield Violation(
            node.file,
            f"at most {most:.2f} CPU seconds a second by the suite's processes:"
            f" {implementation:.2f} by the implementation, {reading:.2f} by meters",
            f"{own:.2f}",
        )


RULES = (
    Rule(
        "foreign-load",
        f"Other programs take at most {MAX_FOREIGN_SHARE:.0%} of a machine's CPU time during"
        f" the run, and the hypervisor at most {MAX_STOLEN_SHARE:.0%}.",
        "They take cores, caches and memory bandwidth from the training: its times and its"
        " energy are then partly theirs.",
        "stop other programs, or run on the machine itself, and run again",
        (OfBundle("foreign-load", _undisturbed, severity=Severity.WARNING),),
    ),
    Rule(
        "load-possible",
        "The load fits the other meters: own at most busy, at least the implementation's CPU"
        " time, busy and stolen as the utilisation says.",
        "Utilisation, the load and the implementation's CPU time are counts of the same cores"
        " by different meters.",
        READINGS_AS_READ,
        (OfBundle("load-possible", _possible),),
    ),
    Rule(
        "load-follows",
        "The load rises and falls with the utilisation, reading by reading.",
        "Two meters read the kernel's counts of the same cores, once a second. Readings of"
        " another moment, or of another run, part them.",
        READINGS_AS_READ,
        (OfBundle("load-follows", _follows),),
    ),
    Rule(
        "own-load",
        "The suite's own processes take a tenth and a tenth of a core more CPU time than"
        " implementation and meters do, at most.",
        "They are the implementation, the recorder and its programs: the rest of what was busy"
        " is foreign load.",
        READINGS_AS_READ,
        (OfBundle("own-load", _own),),
    ),
)
