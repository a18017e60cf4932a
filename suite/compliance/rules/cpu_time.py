"""CPU time: what the implementation used, against cores, threads, the load and the steps."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Values
from suite.bundle.node_records import read_nodes
from suite.catalog.load_limits import MAX_FOREIGN_SHARE, MAX_STOLEN_SHARE
from suite.compliance.finding import Severity
from suite.compliance.node_context import MAX_IDLE_UTILISATION, NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.compliance.wording import ranks_text
from suite.files.counted import counted
from suite.metrics.load_figures import load_figures

ORDER = 82  # after the readings' own rules

FIX = "never edit readings; stop other programs and run again"
TOLERANCE, SLACK = 1.1, 0.1
"""Of rates in cores: readings of two meters are up to a second apart. Real runs: task clock and CPU
time differ by 2.5 % at most."""
TASK_CLOCKS = ("task_clock.count", "task_clock:u.count")
"""The kernel's clock of a task runs in kernel mode, too, whatever the event excludes."""
MIN_WINDOW_S = 10.0  # CPU times are read once a second, in ticks of a hundredth
# of a rank: of the interpreter and the framework; 26 real runs of one thread and no worker used
# 0.20 to 0.99 cores
OTHER_THREADS = 0.5
# busy cores for each second of computing; 1.9 in real runs, where other programs kept the second
# core busy
MIN_BUSY_SHARE = 0.5
# CPU seconds for each second of computing; 0.48 to 1.2 in 26 real runs, other programs on both
# cores meanwhile
MIN_OWN_SHARE = 0.25
# of the cores, busy: programs queue for them; 0.997 in a real run among 14 to 20 runnable programs
MIN_CROWDED_SHARE = 0.9
MAX_SWAPPED_BYTES = 2**26
MAX_MEAN_DIFFERENCE = 5.0  # of the total and the mean of the cores, %; 0.02 at most in real runs
MIN_READINGS, MIN_DEVIATION, MIN_CORRELATION = 20, 0.015, 0.6
"""Of nine real runs of 35 to 225 readings the smallest correlation is 0.98, at the smallest
standard deviation, 0.015 of the cores."""
CLOSE_DEVIATION, CLOSE_CORRELATION = 0.008, 0.9
"""Of 22 real runs of v0.3 the smallest correlations are 0.930, at a deviation of 0.018, and 0.931,
at 0.011: one tick in a second is a hundredth of a core."""
LOST_TICKS = 0.2
"""Cores. The utilisation is a share of the ticks that the kernel counted: a virtual machine counted
a tenth too few in an honest run, 0.21 apart."""
HELPERS = 1
"""Beside a single rank and its workers: a launcher, or the process in which Python tracks shared
memory. None in honest runs."""
CONTAINERS = {"podman": 1}
"""Beside what starts a single rank: the process that watches its container. podman is the
launcher."""
LAUNCHERS, PROCESSES_PER_RANK = 4, 3
"""mpirun with its proxies, and a rank with what starts it. Honest runs of 2, 3 and 4 ranks: 6 to 8,
8 and 10 processes, with no workers."""
LEAST_PER_RANK = 2
"""A rank and its heartbeat process. Honest nodes of one and two ranks: 3 and 5, with what starts
them."""
TICK_NS, MORE_TICKS, MAX_TICKED, MAX_SHARES, EXACTLY = 1e7, 1.05, 0.1, 500, 1e-12
"""A tick of /proc/stat is 10 ms on every Linux. Of 77 honest runs no reading was a share of 1.03
times the ticks that fit, nor of no whole number of ticks."""
# of the load that a rank's compute time needs: hypervisors and sleeping threads take some of it
MIN_SHARE_OF_LOAD = 0.25


class Rates(NamedTuple):
    """CPU seconds per second of a node in the run, None where they were not read: of the
    implementation; of all programs, by the utilisation; and busy, of the suite's processes, and
    stolen, by the meter of the load."""

    node: NodeContext
    window: tuple[int, int]
    used: float | None
    utilised: float | None
    busy: float | None
    own: float | None
    stolen: float

    @property
    def busy_or_stolen(self) -> float:
        """Busy and stolen, by the meter of the load."""
        return (self.busy or 0.0) + self.stolen


def _rates(context: BundleContext) -> Iterator[Rates]:
    """Every node's rates in a run that is long enough for them."""
    if not context.run_s >= MIN_WINDOW_S:
        return
    for node, window in context.nodes_in_run():
        used, busy, own, stolen = (
            node.rate(*name, window)
            for name in (
                ("cpu", "process_tree"),
                ("load", "busy"),
                ("load", "own"),
                ("load", "steal"),
            )
        )
        yield Rates(node, window, used, node.busy_cores(window), busy, own, stolen or 0.0)


def _check_cpu_time(context: BundleContext) -> Violations:
    """Check every node's CPU time against its cores, and against what all programs together
    used."""
    for each in _rates(context):
        cores = each.node.cores_read or None
        for most, of in (
            (cores, f"the machine has {counted(each.node.cores_read, 'core')}"),
            (each.utilised, "all programs together used no more (utilisation.total)"),
        ):
            if each.used is not None and most is not None and each.used > most * TOLERANCE + SLACK:
                expected = (
                    f"at most {most:.3g} CPU seconds per second by the implementation (10% plus 0.1"
                    f" more is tolerated), because {of}"
                )
                observed = f"{each.used:.2f} CPU seconds per second by the implementation"
                yield Violation(each.node.file, expected, observed)


def _agree(context: BundleContext) -> Violations:
    """Check the two measurements of the same time: the process tree's CPU time and the counters'
    task clock."""
    for node, window, used, *_ in _rates(context):
        clocks = (node.rate("counters", name, window) for name in TASK_CLOCKS)
        clock_ns = next((clock for clock in clocks if clock is not None), None)
        if used is None or clock_ns is None:
            continue
        if abs(clock_ns * SECONDS_PER_NS - used) > (TOLERANCE - 1) * used + SLACK:
            expected = (
                f"a task clock (counters meter) of {used:.2f} s per second, the CPU time of the"
                " process tree (cpu meter), within 10% plus 0.1 s"
            )
            observed = f"a task clock of {clock_ns * SECONDS_PER_NS:.2f} s per second"
            yield Violation(node.file, expected, observed)


def _total(context: BundleContext) -> Violations:
    """Check that the total utilisation is the mean of the cores'."""
    for node, window in context.nodes_in_run():
        means = [
            channel.during(window).mean
            for channel in node.channels.of_source("cpu")
            if channel.name.startswith("utilisation.core")
        ]
        total = node.utilisation.during(window)
        if not means or not len(total):
            continue
        mean = sum(means) / len(means)
        if abs(total.mean - mean) > MAX_MEAN_DIFFERENCE:
            expected = (
                f"a mean utilisation.total of {mean:.1f} %, which is the mean utilisation of the"
                f" {counted(len(means), 'core')} (within {MAX_MEAN_DIFFERENCE:g} percentage points)"
            )
            yield Violation(node.file, expected, f"a mean of {total.mean:.1f} %")


def _ticks(context: BundleContext) -> Violations:
    """Check that the utilisation is a share of whole ticks, no more of them than fit between two
    readings; of long runs, an even sample of readings."""
    for node, _ in context.nodes_in_run():
        total = node.utilisation.in_time
        if len(total) <= MIN_READINGS or not node.cores_read:
            continue
        most = MORE_TICKS * node.cores_read * np.diff(total.t_ns) / TICK_NS + 1
        every = -(-len(most) // MAX_SHARES)
        parts, shares = most.astype(np.int64), total.values[1:] / 100
        are_shares = list(map(_is_share, shares[::every].tolist(), parts[::every].tolist()))
        wrong = are_shares.count(False) / len(are_shares)
        if wrong > MAX_TICKED:
            yield Violation(
                node.file,
                "utilisation.total to be a quotient of whole numbers in at least"
                f" {1 - MAX_TICKED:.0%} of the readings: busy kernel ticks divided by all kernel"
                f" ticks, of which at most {np.median(most):.0f} fit between two readings",
                f"no such quotient in {wrong:.0%} of {len(are_shares)} readings",
            )


@lru_cache(maxsize=4096)
def _is_share(value: float, most: int) -> bool:
    """Whether a value, as floating point divides, is a fraction of at most ``most`` parts. Shares
    of whole ticks are few, and recur."""
    exact = Fraction(value) if math.isfinite(value) else Fraction()
    return abs(exact.limit_denominator(most) - exact) < EXACTLY


def _load(context: BundleContext) -> Violations:
    """Check busy, stolen and own CPU time against the cores, the utilisation and the
    implementation's CPU time."""
    for each in _rates(context):
        busy, own, used, utilised = each.busy, each.own, each.used, each.utilised
        if busy is None or own is None:
            continue
        by_suite = f"{own:.2f} CPU seconds per second by the suite"
        if own > busy * TOLERANCE + SLACK:
            expected = (
                f"at most {busy:.2f} CPU seconds per second by the suite, because all programs"
                " together used no more"
            )
            yield Violation(each.node.file, expected, by_suite)
        if used is not None and used > own * TOLERANCE + SLACK:
            expected = (
                f"at least {used:.2f} CPU seconds per second by the suite, because they include the"
                f" implementation's {used:.2f}"
            )
            yield Violation(each.node.file, expected, by_suite)
        if utilised is not None and abs(each.busy_or_stolen - utilised) > (
            (TOLERANCE - 1) * utilised + LOST_TICKS
        ):
            expected = (
                f"a busy plus stolen CPU time (load meter) of {utilised:.2f} s per second, as"
                f" utilisation.total (cpu meter) shows, within 10% plus {LOST_TICKS:g} s"
            )
            observed = f"a busy plus stolen CPU time of {each.busy_or_stolen:.2f} s per second"
            yield Violation(each.node.file, expected, observed)


def _follows(context: BundleContext) -> Violations:
    for node, busy, utilised in _courses(context):
        if min(busy.std(), utilised.std()) >= MIN_DEVIATION * node.cores_read:
            yield from _correlated(node, busy, utilised, MIN_CORRELATION)


def _follows_closely(context: BundleContext) -> Violations:
    """The same where the utilisation alone varies, and a correlation as of honest runs."""
    for node, busy, utilised in _courses(context):
        if utilised.std() >= CLOSE_DEVIATION * node.cores_read:
            yield from _correlated(node, busy, utilised, CLOSE_CORRELATION)


def _correlated(node: NodeContext, busy: Values, utilised: Values, least: float) -> Violations:
    """Check that busy CPU time rises and falls with the utilisation, from one reading to the
    next."""
    correlation = float(np.corrcoef(busy, utilised)[0, 1])
    if not correlation >= least:
        yield Violation(
            node.file,
            f"a correlation of at least {least:g} between busy plus stolen CPU time (load meter)"
            " and utilisation.total, because both count the same cores",
            f"a correlation of {correlation:.3f} over {len(busy)} readings",
        )


def _courses(context: BundleContext) -> Iterator[tuple[NodeContext, Values, Values]]:
    """Nodes whose load was read often enough, with the cores that were busy or stolen between
    readings, by the meter of the load, and by the utilisation."""
    for node, _ in context.nodes_in_run():
        total = node.utilisation.in_time
        busy, steal = (node.channels.get("load", name).in_time for name in ("busy", "steal"))
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
        utilised = total.values[np.isin(total.t_ns, t_ns)][1:] / 100 * node.cores_read
        yield node, sum(spent) / passed_s, utilised


def _check_own_cpu_time(context: BundleContext) -> Violations:
    """Check that the suite's own processes took little more than the implementation and the
    recorder."""
    if _has_neighbours(context):
        return  # they are the suite's own processes, beside the implementation
    for each in _rates(context):
        records = each.node.meter_records.items()
        costs_s = [record.get("cost_s") for name, record in records if name != "recorder"]
        reading = sum(cost_s for cost_s in costs_s if is_number(cost_s)) / context.run_s
        if each.own is None or each.used is None:
            continue
        most = each.used * TOLERANCE + reading + SLACK
        if each.own > most:
            yield Violation(
                each.node.file,
                f"at most {most:.2f} CPU seconds per second by the suite's processes:"
                f" {each.used:.2f} by the implementation (plus 10%), {reading:.2f} by the meters,"
                f" and {SLACK:g} of tolerance",
                f"{each.own:.2f} CPU seconds per second by the suite's processes",
            )


def _threads(context: BundleContext) -> Violations:
    """Check the CPU time against the threads that the request allows; an accelerator's driver has
    threads of its own."""
    request = context.request
    threads, workers = request.threads, request.loading.workers
    if (
        request.accelerator != "cpu"
        or not isinstance(threads, int)
        or not isinstance(workers, int)
        or request.parallel.ranks > 1
    ):
        return
    allowed = threads + workers + OTHER_THREADS
    for node, _, used, *_ in _rates(context):
        if used is not None and used > allowed * TOLERANCE:
            yield Violation(
                node.file,
                f"at most {allowed:g} CPU seconds per second by the implementation, with"
                f" {counted(threads, 'thread')} and {counted(workers, 'worker')} (10% more is"
                " tolerated)",
                f"{used:.2f} CPU seconds per second by the implementation",
            )


def _requested(context: BundleContext) -> Violations:
    """Check the number of processes that was read most of the time, against ranks and workers."""

    ranks, workers = context.request.parallel.ranks, context.request.loading.workers
    if not isinstance(workers, int):
        return
    watching = CONTAINERS.get(str((context.run.isolation or {}).get("kind")), 0)
    most = ranks * workers + (
        1 + HELPERS + watching if ranks == 1 else LAUNCHERS + PROCESSES_PER_RANK * ranks
    )
    of_nodes = dict(
        zip((node.file for node in context.nodes), read_nodes(context.bundle), strict=False)
    )
    for node, window in context.nodes_in_run():
        size = node.channels.get("memory", "process_tree_size").during(window)
        if not len(size):
            continue
        usual, record = float(np.median(size.values)), of_nodes.get(node.file)
        observed = f"a median of {usual:g} processes over {len(size)} readings in the run"
        if usual > most:
            expected = f"at most {most} process{'es' * (most != 1)} for {ranks_text(range(ranks))}"
            yield Violation(
                node.file,
                f"{expected}, with {counted(workers, 'worker')} per rank and the programs that"
                " start the ranks",
                observed,
            )
        if record is not None and usual < LEAST_PER_RANK * len(record.ranks):
            yield Violation(
                node.file,
                f"at least {LEAST_PER_RANK * len(record.ranks)} processes for"
                f" {ranks_text(record.ranks)} on {record.host[:100]}: a rank and its heartbeat"
                " process",
                observed,
                fix="hand in nodes.json and the readings as the recorders wrote them",
            )


def _busy(context: BundleContext) -> Violations:
    """Check that computing on the CPU keeps cores busy, the implementation's share of them
    included."""
    if context.request.accelerator != "cpu" or not context.run_s > 0:
        return
    if _setting(context, "cpu_quota") is not None or _waits_in_compute(context):
        return  # a throttled step computes without a core
    parallel = context.request.parallel
    computing = context.steps.sum_s("compute_s") / context.run_s / parallel.nodes
    each_rank = f"for each computing rank (on average, {computing:.2f} compute at a time on a node)"
    swapless = [node.file for node, _ in context.nodes_in_run() if not _has_swapped(node)]
    for node, window in context.nodes_in_run():
        busy, least = node.busy_cores(window), MIN_BUSY_SHARE * computing
        if node.file in swapless and busy is not None and busy < least:
            expected = f"at least {least:.2f} busy cores on average: {MIN_BUSY_SHARE:g} {each_rank}"
            observed = f"{busy:.2f} busy cores on average, by utilisation.total"
            yield Violation(node.file, expected, observed)
    for each in _rates(context):
        used, least = each.used, MIN_OWN_SHARE * computing
        if (
            used is not None
            and used < least
            and each.node.file in swapless
            and not _is_crowded(each, _has_neighbours(context))
        ):
            what = "CPU seconds per second by the implementation"
            expected = f"at least {least:.2f} {what}: {MIN_OWN_SHARE:g} {each_rank}"
            yield Violation(each.node.file, expected, f"{used:.2f} {what}")


def _waits_in_compute(context: BundleContext) -> bool:
    """Whether compute times contain the waiting for other nodes: the framework exchanges by
    itself."""
    parallel = context.request.parallel
    return parallel.nodes > 1 and parallel.collective != "mpi"


def _is_crowded(each: Rates, has_neighbours: bool) -> bool:
    """Whether the meter of the load says that all cores were busy, and that the suite's processes,
    neighbours aside, had no more of them than the implementation."""
    cores = each.node.cores_read
    if each.busy is None or each.own is None or each.used is None or not cores:
        return False
    is_full = each.busy_or_stolen > MIN_CROWDED_SHARE * cores
    return is_full and (has_neighbours or each.own < each.used * TOLERANCE + SLACK)


def _has_neighbours(context: BundleContext) -> bool:
    """Whether the suite itself trained beside the run, for a study."""
    return _setting(context, "neighbours") not in (None, "0")


def _setting(context: BundleContext, name: str) -> object:
    """A setting of the study that the run was made for, as its mark has it; None without it."""
    settings = (context.run.study or {}).get("settings")
    return settings.get(name) if isinstance(settings, Mapping) else None


def _has_swapped(node: NodeContext) -> bool:
    """Memory was moved to swap during the run: then computing waits for the disk."""
    swapped = node.channels.get("memory", "swap_used")
    return len(swapped) > 0 and swapped.maximum - swapped.minimum > MAX_SWAPPED_BYTES


def _loads(context: BundleContext) -> Violations:
    """Check that the processor of every node was busy while its ranks computed on it."""
    window, ranks = context.window, dict(context.steps.by_rank())
    on_cpu = context.request.accelerator == "cpu" and not _waits_in_compute(context)
    if window is None or not on_cpu or len(context.nodes) == 1:
        return
    for record, node in zip(read_nodes(context.bundle), context.nodes, strict=True):
        computed_s = [ranks[rank].sum_s("compute_s") for rank in record.ranks if rank in ranks]
        load = node.utilisation.during(window)
        if not computed_s or not node.cores_read or not node.is_on_clock or not len(load.known):
            continue
        longest_s = max(computed_s)
        needed = MIN_SHARE_OF_LOAD * 100 / node.cores_read * longest_s / context.run_s
        if load.mean < needed:
            yield Violation(
                node.file,
                f"a mean utilisation of at least {needed:.1f} % on the"
                f" {counted(node.cores_read, 'core')} of {record.host}, because a rank computed"
                f" there for {longest_s:.1f} s of the run's {context.run_s:.1f} s",
                f"a mean utilisation of {load.mean:.1f} %",
            )


def _undisturbed(context: BundleContext) -> Violations:
    """Report what other programs and the hypervisor took of each node's CPU time during the run."""

    for node, window in context.nodes_in_run():
        figures, capacity_s = load_figures(node.channels, window), node.cores_read * context.run_s
        for name, limit, who in (
            ("foreign_cpu_s", MAX_FOREIGN_SHARE, "other programs"),
            ("steal_cpu_s", MAX_STOLEN_SHARE, "the hypervisor"),
        ):
            taken_s = figures[name].value
            if taken_s is not None and capacity_s > 0 and taken_s > limit * capacity_s:
                yield Violation(
                    node.file,
                    f"{who} to take at most {limit:.0%} of the machine's {capacity_s:.0f} CPU"
                    " seconds in the run",
                    f"{taken_s:.1f} CPU seconds, {taken_s / capacity_s:.1%}",
                )


def _idle(context: BundleContext) -> Violations:
    for node in context.nodes:
        if node.is_busy_before:
            yield Violation(
                node.idle_file,
                "an idle machine before the run: a mean processor utilisation of at most"
                f" {MAX_IDLE_UTILISATION:g} %",
                f"a mean utilisation of {node.idle.get('cpu', 'utilisation.total').mean:.0f} %",
            )


RULES = (
    Rule(
        "cpu-time-agrees",
        "The implementation uses no more CPU time than the cores have, and no more than all"
        " programs together use. The counters meter (task clock) and the cpu meter (process_tree)"
        " read the same CPU time of the implementation. In each of these three comparisons, a"
        " difference of 10 % plus 0.1 core is tolerated. Over the run, the mean of"
        " utilisation.total is the mean of the cores' utilisations, within 5 percentage points. In"
        " at least 90 % of its readings, utilisation.total is a quotient of whole numbers: busy"
        " kernel ticks divided by all kernel ticks since the previous reading. The latter are at"
        " most as many as fit between the two readings (5 % plus one tick more is tolerated).",
        "The implementation's CPU time is read from its processes, the utilisation from the"
        " kernel's idle time. Both count the same cores independently, so they disagree if one of"
        " them was edited. If somebody scaled or interpolated the utilisation, it is not a quotient"
        " of whole numbers. A kernel tick has a fixed length: if somebody shortened a run's times,"
        " its readings count more ticks than fit between them.",
        FIX,
        (
            OfBundle("cpu-time-possible", _check_cpu_time),
            OfBundle("cpu-time-agrees", _agree),
            OfBundle("cpu-total", _total),
            OfBundle("utilisation-ticks", _ticks, severity=Severity.WARNING),
        ),
    ),
    Rule(
        "load-agrees",
        "The load meter reads two CPU times: the suite's (implementation included) and the busy"
        " time of all programs. The implementation uses no more CPU time than the suite, and the"
        " suite no more than all programs (10 % plus 0.1 core more is tolerated). The suite uses no"
        " more than the implementation (plus 10 %) and the meters together, plus 0.1 core, unless a"
        " study trains neighbours beside the run. Over the run, the load meter's busy time plus"
        " stolen time equals the cpu meter's utilisation, within 10 % plus 0.2 core. From one"
        " reading to the next, busy plus stolen time and utilisation rise and fall together: if"
        " both vary, their correlation is at least 0.6. If the utilisation varies, a correlation"
        " below 0.9 gives a warning.",
        "Utilisation, load and the implementation's CPU time are read separately on the same cores,"
        " once a second, so they disagree if one of them was edited. Busy time that is not the"
        " suite's is recorded as the load of other programs. If somebody hid other programs by"
        " lowering the busy time or raising the suite's, the readings would no longer agree.",
        READINGS_AS_READ,
        (
            OfBundle("load-possible", _load),
            OfBundle("load-follows", _follows),
            OfBundle("load-follows-closely", _follows_closely, severity=Severity.WARNING),
            OfBundle("own-load", _check_own_cpu_time),
        ),
    ),
    Rule(
        "threads-requested",
        "The implementation has at most as many processes as its ranks, their workers and the"
        " programs that start them need. In a run on several nodes, each node has at least two"
        " processes per rank (the rank and its heartbeat process). Both limits apply to the median"
        " number of processes in a node's readings. In a run of one rank on a CPU, the"
        " implementation uses at most one core for each thread and each worker, plus half a core"
        " (10 % more is tolerated).",
        "More threads or workers than requested are another configuration. One thread cannot use"
        " two CPU seconds per second of wall time: a run that shows this used more threads or"
        " states too short a wall time. If a rank ran on another machine, the power that it used"
        " there is missing here.",
        "give the right number of threads (--threads), of processes that load data (--workers) and"
        " of ranks on each node (--ranks-per-node); then run again",
        (
            OfBundle("cpu-time-threads", _threads),
            OfBundle("processes-requested", _requested),
        ),
    ),
    Rule(
        "cpu-busy",
        "This rule covers runs on a CPU whose CPU time no study limits (cpu_quota), unless several"
        " nodes exchange by the framework's own collective: their compute times contain waiting."
        " The compute times of the steps show how many ranks compute at a time, on average over the"
        " run and per node. On each node, at least half a core is busy for each of these ranks, and"
        " the implementation itself uses at least a quarter of a core for each. Neither limit"
        " applies to a node that swaps, nor the second where other programs kept the remaining"
        " cores busy, by the load meter. In a run on several nodes, each node's processor"
        " is also busy for at least 0.25 CPU seconds per second that the node's longest-computing"
        " rank computes.",
        "A computing rank keeps a core busy. It uses little CPU time only if other programs"
        " need the cores, and even then it gets a part of them. If a node was idle while its ranks"
        " computed, its readings were edited or come from another run.",
        FIX,
        (
            OfBundle("cpu-busy", _busy, needs_split=True),
            OfBundle("nodes-load", _loads),
        ),
    ),
    Rule(
        "foreign-load",
        f"During the run, other programs use at most {MAX_FOREIGN_SHARE:.0%} of a machine's CPU"
        f" time, and the hypervisor takes at most {MAX_STOLEN_SHARE:.0%}. While the idle power was"
        " measured before the run, at most a quarter of the processor was in use.",
        "Other programs take cores, caches and memory bandwidth from the training, so they change"
        " its times and its energy. The power of a busy machine is not its idle power.",
        "stop other programs (`suite doctor` names the busiest), and run again; if the hypervisor"
        " took the time, run outside a virtual machine or on a host with free cores",
        (
            OfBundle("foreign-load", _undisturbed, severity=Severity.WARNING),
            OfBundle("baseload-idle", _idle, severity=Severity.WARNING),
        ),
    ),
)
