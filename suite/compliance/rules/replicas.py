"""Several ranks train one model: what they compared before the first step, their learning rates,
their machines and their shares."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from reference_impls.contract import LOCAL, log_name, normalisation_span
from reference_impls.schedules import SCHEDULES
from reference_impls.updates import learning_rates, steps_per_epoch
from suite.bundle.log import LogEvent
from suite.bundle.node_records import read_nodes
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, RequestContext, Rule, Violation
from suite.compliance.values import is_number

ORDER = 56  # after the digests of training states

COMPARED = ("sources", "packages", "request", "data", "weights")
DIFFERENT = (
    "put the same suite, environment and data on every node, then run again: `suite cluster doctor`"
    " names what differs"
)
ONE_MACHINE = (
    "let every host of the hostfile be a machine, and start several ranks on one with"
    " --ranks-per-node"
)
MIN_BOOTS_APART_NS = 10**6
RATE_TOLERANCE = 1e-9
SPAN = "model_bn_span"
MIN_SAMPLES_PER_RANK = 16
"""Batch normalisation over fewer samples converges worse: 23.7 % errors of ResNet-50 on ImageNet at
16 and 32 a worker, 24.8 % at 8, 27.3 % at 4 (Wu and He, Group Normalization, ECCV 2018, table
2)."""


def _admitted(context: BundleContext) -> Iterator[Violation]:
    """Check that all ranks logged the same digests of what they compared, where rank 0 logged
    any."""
    first = context.log.first("admission")
    for rank, log in context.logs():
        event = log.first("admission")
        if first is None and event is None:
            continue
        if event is None or not isinstance(event.value, dict):
            observed = "no such event" if event is None else f"{event.value!r}"[:200]
            yield Violation(
                log_name(rank),
                f"admission: digests of {', '.join(COMPARED)}",
                observed,
                TRAINING_LOOP,
                event.line if event else None,
            )
            continue
        wanted = first.value if first is not None and isinstance(first.value, dict) else {}
        for kind in COMPARED:
            found = event.value.get(kind)
            if found is None or found != wanted.get(kind):
                expected = f"the digest of {kind} that rank 0 logged, {str(wanted.get(kind))[:16]}"
                yield Violation(log_name(rank), expected, f"{found}"[:16], DIFFERENT, event.line)


def _rates(context: BundleContext) -> Iterator[Violation]:
    """Check every rank's learning rates of each epoch: the first, the last and the mean of the
    requested schedule."""
    request = context.request
    if request.optimizer.schedule not in SCHEDULES:
        return
    per_epoch = steps_per_epoch(request)
    for rank, log in context.logs():
        for event in log.all("learning_rates"):
            steps = _steps_of(log.all("epoch_stop"), event.epoch)
            if (
                event.epoch is None
                or not 1 <= event.epoch <= request.epochs
                or not 1 <= steps <= per_epoch
            ):
                continue  # rules about epochs report it
            wanted = learning_rates(request, (event.epoch - 1) * per_epoch, steps)
            if not _is_near(event.value, wanted):
                expected = (
                    f"learning rates of epoch {event.epoch} (first, last, mean) as the schedule"
                    f" {request.optimizer.schedule!r} gives them: "
                )
                expected += ", ".join(f"{value:.6g}" for value in wanted)
                yield Violation(
                    log_name(rank), expected, f"{event.value!r}"[:200], DIFFERENT, event.line
                )


def _steps_of(stops: "tuple[LogEvent, ...] | list[LogEvent]", epoch: int | None) -> int:
    steps = next((stop.metadata.get("steps") for stop in stops if stop.epoch == epoch), None)
    return steps if type(steps) is int else 0


def _is_near(value: Any, wanted: Sequence[float]) -> bool:
    if not isinstance(value, list) or len(value) != len(wanted) or not all(map(is_number, value)):
        return False
    return all(
        abs(one - other) <= RATE_TOLERANCE * max(abs(other), 1e-12)
        for one, other in zip(value, wanted, strict=True)
    )


def _machines(context: BundleContext) -> Iterator[Violation]:
    """Report nodes whose ranks logged the boot id of one kernel, or whose monotonic clocks, which
    count from the boot, are one."""
    if context.request.parallel.nodes == 1:
        return
    offsets = context.log.value("clock_offsets_ns")
    node_of = {rank: node for node in read_nodes(context.bundle) for rank in node.ranks}
    hosts: dict[str, str] = {}
    for rank, boot in context.boots.items():
        if boot is None or rank not in node_of:
            continue
        host = node_of[rank].host
        other = hosts.setdefault(str(boot), host)
        if other != host:
            observed = (
                f"rank {rank} on {host[:100]} logged the boot id of {other[:100]}: containers of"
                " one machine, or one machine twice"
            )
            yield Violation(
                log_name(rank),
                "ranks of different nodes on different machines",
                observed,
                ONE_MACHINE,
            )
            return
    for one, two in combinations(read_nodes(context.bundle), 2):
        try:
            apart_ns = abs(offsets[one.ranks[0]][0] - offsets[two.ranks[0]][0])
        except (TypeError, IndexError):
            return  # reported by clock-offsets
        if apart_ns < MIN_BOOTS_APART_NS:
            observed = (
                f"the clocks of {one.host[:100]} and {two.host[:100]}, which count from the boot,"
                f" are {apart_ns} ns apart"
            )
            yield Violation(
                "log.txt",
                "machines that were not started in one millisecond",
                observed,
                ONE_MACHINE,
            )
            return


def _share(context: RequestContext) -> Iterator[Violation]:
    """Check that every rank normalises over enough samples, where the model has batch normalisation
    and ranks do not synchronise it."""
    request = context.request
    ranks, is_local = request.parallel.ranks, request.parallel.normalisation == LOCAL
    if (
        ranks > 1
        and is_local
        and context.workload.normalisation_statistics
        and request.global_batch_size // ranks < MIN_SAMPLES_PER_RANK
    ):
        expected = (
            f"a mini-batch of {MIN_SAMPLES_PER_RANK} samples or more for each of {ranks} ranks:"
            f" {context.workload.name} normalises over them"
        )
        fix = (
            f"use --batch-size {MIN_SAMPLES_PER_RANK * ranks} or more, fewer ranks or"
            " --normalisation synchronised, or run it in the open division"
        )
        yield Violation(
            context.file,
            expected,
            f"{request.global_batch_size // ranks} samples ({request.global_batch_size} in all)",
            fix,
        )


def _synchronisable(context: RequestContext) -> Iterator[Violation]:
    """Check that several ranks of a model with batch normalisation synchronise, with the suite's
    all-reduce, and nobody else."""
    parallel = context.request.parallel
    if parallel.normalisation == LOCAL:
        return
    fix = "leave --normalisation out, or run it in the open division"
    for expected, is_so, observed in (
        (f"parallel.normalisation = {LOCAL} of one rank", parallel.ranks > 1, "1 rank"),
        (
            f"parallel.normalisation = {LOCAL}: no layer normalises",
            context.workload.normalisation_statistics,
            context.workload.model,
        ),
        (
            "parallel.collective = mpi, which weights each rank by its samples",
            parallel.collective == "mpi",
            f"{parallel.collective}"[:100],
        ),
    ):
        if not is_so:
            yield Violation(
                context.file,
                expected,
                f"{observed}, and parallel.normalisation = {parallel.normalisation}",
                fix,
            )


def _span(context: BundleContext) -> Iterator[Violation]:
    """Check the samples over which every rank says that it normalised; ranks that synchronise must
    say it."""
    request = context.request
    for rank, log in context.logs() if request.parallel.ranks > 1 else ():
        event, span = log.first(SPAN), normalisation_span(request, rank)
        if event is None and request.parallel.normalisation == LOCAL:
            continue
        if event is None or type(event.value) is not int or event.value != span:
            expected = (
                f"model_bn_span = {span}, the samples over which a rank normalises"
                f" ({request.parallel.normalisation})"
            )
            observed = "no such event" if event is None else f"{event.value!r}"[:200]
            yield Violation(
                log_name(rank), expected, observed, TRAINING_LOOP, event.line if event else None
            )


RULES = (
    Rule(
        id="ranks-admitted",
        sentence=(
            "All ranks have the same sources, package versions, request, data and initial weights,"
            " wherever they log their digests."
        ),
        rationale=(
            "A node with other files trains another model, or on other labels, and nothing in its"
            " times would show it."
        ),
        bundle_check=_admitted,
    ),
    Rule(
        id="learning-rates",
        sentence=(
            "The learning rates that a rank logs for an epoch, the first, the last and the mean,"
            " are those of the requested schedule."
        ),
        rationale="A changed schedule trains at other rates than the request says.",
        bundle_check=_rates,
    ),
    Rule(
        id="nodes-machines",
        sentence=(
            "Nodes are machines: ranks on different nodes run on different kernels, which were not"
            " started in the same millisecond."
        ),
        rationale=(
            "Containers on one machine share its processors, its memory and its power: they are"
            " good for a test, and their sums for nothing."
        ),
        severity=Severity.WARNING,
        bundle_check=_machines,
    ),
    Rule(
        id="normalisation-span",
        sentence=(
            "Every rank logs over how many samples batch normalisation takes its statistics: its"
            " own, or all where the ranks synchronise them."
        ),
        rationale=(
            "Over more samples it is another model, which converges otherwise; the reference points"
            " differ in it."
        ),
        bundle_check=_span,
    ),
    Rule(
        id="normalisation-synchronisable",
        sentence=(
            "Only several ranks of a model with batch normalisation synchronise it, with the"
            " suite's all-reduce."
        ),
        rationale=(
            "Without statistics there is nothing to synchronise, and a framework's own all-reduce"
            " weights ranks otherwise."
        ),
        divisions=CLOSED,
        request_check=_synchronisable,
    ),
    Rule(
        id="closed-samples-per-rank",
        sentence=(
            f"Each of several ranks of a closed run has {MIN_SAMPLES_PER_RANK} samples of a"
            " mini-batch or more if it normalises them alone."
        ),
        rationale=(
            "Statistics over fewer samples are another model: it converges worse, and its reference"
            " points say nothing of it."
        ),
        divisions=CLOSED,
        request_check=_share,
    ),
)
