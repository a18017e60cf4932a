"""Every rank by itself: its log repeats the request, and its results and steps are those of rank
0."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.layout import STEPS
from suite.bundle.log import Log, LogEvent
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.rules.integrity import repeats_request
from suite.compliance.updates import ends_update

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords

ORDER = 52  # after the agreement of the logs' chains

SAME_FACTS = ("parameters", "framework_version", "ranks")
COURSE = (
    "init_start",
    "init_stop",
    "run_start",
    "epoch_start",
    "epoch_stop",
    "eval_start",
    "eval_accuracy",
    "eval_stop",
    "run_stop",
)
SAME_RESULTS = {
    "epoch_stop": ("epoch_num", "steps"),
    "eval_accuracy": ("epoch_num", "correct"),
    "run_stop": ("status",),
}
MAX_UNEXPLAINED_SHARE = 0.1
LONGEST_STEPS, ROUNDING_S = 2.0, 0.001


def _other_logs(context: BundleContext) -> Iterator[tuple[int, Log]]:
    return ((rank, log) for rank, log in context.logs() if rank)


def _requests(context: BundleContext) -> Iterator[Violation]:
    """Check that every other rank's log repeats the request, and what rank 0 logged of model and
    framework."""
    for rank, log in _other_logs(context):
        yield from repeats_request(context, log, log_name(rank))
        for key in SAME_FACTS:
            expected, event = context.log.value(key), log.first(key)
            if event is None or event.value != expected:
                yield Violation(
                    log_name(rank),
                    f"{key} = {expected!r}, as rank 0 logged",
                    "no such event" if event is None else repr(event.value)[:200],
                    None if event is None else event.line,
                )


def _results(context: BundleContext) -> Iterator[Violation]:
    """Check that every other rank went through rank 0's epochs and evaluations with the same
    results: all ranks receive the summed counts."""
    expected = [event for event in context.log.events if event.key in COURSE]
    for rank, log in _other_logs(context):
        found = [event for event in log.events if event.key in COURSE]
        for place, event in enumerate(found):
            wanted = _result(expected[place]) if place < len(expected) else "no further event"
            if _result(event) != wanted:
                yield Violation(
                    log_name(rank),
                    f"{wanted}, as in rank 0's log",
                    _result(event),
                    event.line,
                )
                break
        else:
            if len(found) < len(expected):
                missing = expected[len(found)]
                yield Violation(
                    log_name(rank), f"{_result(missing)}, as in rank 0's log", "no such event"
                )


def _result(event: LogEvent) -> str:
    """The event's key, value and those of its metadata that are the same on every rank."""
    facts = [
        f"{name} {event.metadata.get(name)!r}"
        for name in SAME_RESULTS.get(event.key, ("epoch_num",))
        if name in event.metadata
    ]
    return (
        f"{event.key} {event.value!r} ({', '.join(facts)})"
        if event.key == "eval_accuracy"
        else " ".join([event.key, *facts])
    )


def _clocks(context: BundleContext) -> Iterator[Violation]:
    """Check that each other rank's monotonic clock never goes back, within one boot."""
    for rank, log in _other_logs(context):
        name, boot = log_name(rank), log.events[0].metadata.get("boot") if log.events else None
        last_ns: int | None = None
        for event in log.events:
            if event.mono_ns is None or (last_ns is not None and event.mono_ns < last_ns):
                yield Violation(
                    name,
                    f"a monotonic time of {event.key} that is not before the last event's",
                    "none"
                    if event.mono_ns is None or last_ns is None
                    else f"{last_ns - event.mono_ns} ns before the event above",
                    event.line,
                )
                break
            last_ns = event.mono_ns
        other = next((event for event in log.events if event.metadata.get("boot") != boot), None)
        if other is not None:
            yield Violation(
                name,
                f"one boot of rank {rank}'s machine",
                f"another boot id from {other.key} on",
                other.line,
            )


def _in_step(context: BundleContext) -> Iterator[Violation]:
    """Check that all ranks, which exchange gradients in every step, take equally long for their
    steps, with no more time unexplained than rank 0."""
    if context.request.parallel.ranks == 1 or context.request.steps is not None:
        return
    ranks = dict(context.steps.by_rank())
    first = {epoch: steps for epoch, steps in ranks.get(0, context.steps).by_epoch()}
    for rank, steps in ((rank, steps) for rank, steps in ranks.items() if rank):
        for epoch, of_epoch in steps.by_epoch():
            if epoch in first and len(of_epoch) == len(first[epoch]):
                yield from _epoch_in_step(rank, epoch, of_epoch, first[epoch])


def _epoch_in_step(
    rank: int, epoch: int, steps: "StepRecords", first: "StepRecords"
) -> Iterator[Violation]:
    shares = [_explained(one) for one in (first, steps)]
    if abs(shares[0] - shares[1]) > MAX_UNEXPLAINED_SHARE:
        yield Violation(
            STEPS,
            f"fetch, copy, compute and communication to take as much of epoch {epoch} on rank"
            f" {rank} as on rank 0, {shares[0]:.1%}",
            f"{shares[1]:.1%}: the ranks wait for one another in every step",
        )
    starts_s = [(one.start_ns - one.start_ns[0]) * SECONDS_PER_NS for one in (first, steps)]
    apart_s = abs(starts_s[1] - starts_s[0])
    limit_s = (
        LONGEST_STEPS
        * max(float((one.ends_s - one.start_ns * SECONDS_PER_NS).max()) for one in (first, steps))
        + ROUNDING_S
    )
    if (apart_s > limit_s).any():
        place = int((apart_s > limit_s).argmax())
        yield Violation(
            STEPS,
            f"step {steps.step[place]} (epoch {epoch}) on rank {rank} within {limit_s:.3g} s of"
            " rank 0's, counted from the epoch's first step",
            f"{apart_s[place]:.3g} s apart",
        )


def _explained(steps: "StepRecords") -> float:
    """The share of an epoch that the parts of its steps take."""
    whole_s = float(steps.ends_s.max()) - int(steps.start_ns[0]) * SECONDS_PER_NS
    return float(steps.parts_s.sum()) / whole_s if whole_s > 0 else 0.0


def _exchanges(context: BundleContext) -> Iterator[Violation]:
    """Check that ranks on several nodes waited for the exchange in every update, and that a single
    rank waited for none."""
    parallel = context.request.parallel
    exchanged_s = context.steps.communication_s
    if parallel.ranks == 1 and (exchanged_s > 0).any():
        step = context.steps.step[exchanged_s > 0][0]
        yield Violation(
            STEPS,
            "no communication in a run of one rank",
            f"{exchanged_s.max():.3g} s of it, first in step {step}",
        )
    if parallel.nodes == 1 or parallel.collective != "mpi":
        return
    for rank, steps in context.steps.by_rank():
        without = ends_update(context.request, steps) & ~(steps.communication_s > 0)
        if without.any():
            yield Violation(
                STEPS,
                f"a wait for the gradients of the other nodes in every update of rank {rank}",
                f"none in {int(without.sum())} of {len(steps)} steps, first in step"
                f" {steps.step[without][0]}",
            )


RULES = (
    Rule(
        "ranks-request",
        "Every rank's log repeats the request, with rank 0's framework version and number of"
        " parameters.",
        "Ranks with different settings do not train one model.",
        TRAINING_LOOP,
        (OfBundle("ranks-request", _requests),),
    ),
    Rule(
        "ranks-results",
        "Every rank logs rank 0's epochs, steps, evaluations, accuracies and status.",
        "All ranks hold the same weights and receive the same counts.",
        TRAINING_LOOP,
        (OfBundle("ranks-results", _results),),
    ),
    Rule(
        "ranks-clock",
        "Every rank's monotonic clock never goes back, within one boot of its machine.",
        "Every rank's durations are measured with it.",
        TRAINING_LOOP,
        (OfBundle("ranks-clock", _clocks),),
    ),
    Rule(
        "ranks-in-step",
        "All ranks take equally long for the same steps, and their parts fill an epoch as rank"
        " 0's do, to a tenth.",
        "Ranks that sum their gradients in every step wait for one another.",
        TRAINING_LOOP,
        (OfBundle("ranks-in-step", _in_step),),
    ),
    Rule(
        "ranks-exchange",
        "Ranks on several nodes wait for the exchange of gradients in every step; a single rank"
        " has nobody to wait for.",
        "Gradients are summed over the network once a step; the clock shows some nanoseconds"
        " even where nothing was left to wait for.",
        TRAINING_LOOP,
        (OfBundle("ranks-exchange", _exchanges),),
    ),
)
