"""Runs of several ranks: the agreement of their logs and results."""

from collections.abc import Sequence

from reference_impls.contract import (
    heads_digest,
    log_name,
)
from suite.bundle.log import Log, LogEvent
from suite.compliance.agreement import differing_event
from suite.compliance.remedies import COPY_AGAIN
from suite.compliance.rule import (
    BundleContext,
    OfBundle,
    Rule,
    Violation,
    Violations,
)
from suite.compliance.wording import numbers_text

ORDER = 50  # after rank 0's own records

AT_THE_END = None
"""Stands for an epoch: the exchange of chain values before the last line."""
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
COMPARED = ("sources", "packages", "request", "data", "weights")


def _agree(context: BundleContext) -> Violations:
    """Check that each rank's log holds every rank's chain value after each epoch and at the end:
    none can be rewritten alone."""
    ranks = context.request.parallel.ranks
    logs = [log for _, log in context.logs()]
    for rank, log in enumerate(logs):
        foreign = next(
            (event for event in log.events if event.metadata.get("rank", rank) != rank), None
        )
        if foreign is not None:
            yield Violation(
                log_name(rank),
                f"events of rank {rank}",
                f"{foreign.key} of rank {foreign.metadata['rank']!r}",
                foreign.line,
            )
    if ranks == 1:
        return
    heads: dict[int | None, list[object]] = {
        epoch: [_head(log.all("epoch_stop"), epoch) for log in logs]
        for epoch in context.log.finished_epochs()
    }
    if context.log.first("run_stop") is not None:
        heads[AT_THE_END] = [_last_but_one(log) for log in logs]
    for rank, log in enumerate(logs):
        for problem in log.problems if rank else ():
            yield Violation(
                log_name(rank), "readable lines in an unbroken chain", problem.what, problem.line
            )
        exchanges = {event.epoch: event for event in log.all("chain_heads")}
        for epoch, expected in heads.items():
            event = exchanges.get(epoch)
            if event is None or not _is_told(event.value, expected, rank):
                observed, line = (
                    ("no event chain_heads", None)
                    if event is None
                    else (_difference(event.value, expected), event.line)
                )
                when = (
                    "before each log's last line" if epoch is AT_THE_END else f"after epoch {epoch}"
                )
                expected_text = f"chain_heads with the chain values of all ranks' logs {when}"
                yield Violation(log_name(rank), expected_text, observed, line)


def _is_told(logged: object, expected: list[object], rank: int) -> bool:
    """Whether a log holds all chain values: rank 0's each of them, the other ranks' each of them or
    the digest of all."""
    if logged == expected:
        return True
    return (
        rank > 0
        and all(isinstance(head, str) for head in expected)
        and logged == heads_digest([str(head) for head in expected])
    )


def _difference(logged: object, expected: list[object]) -> str:
    """Which ranks' chain values differ."""
    if isinstance(logged, str):
        return f"{logged[:12]}…, which is not the SHA-256 of all ranks' chain values"
    if not isinstance(logged, list) or len(logged) != len(expected):
        return f"not a list of {len(expected)} values"
    ranks = [
        rank
        for rank, (value, wanted) in enumerate(zip(logged, expected, strict=True))
        if value != wanted
    ]
    value, wanted = (str(values[ranks[0]])[:12] for values in (logged, expected))
    return f"{value}… in place of {wanted}… for rank {ranks[0]}" + (
        f", and the ranks {numbers_text(ranks[1:])} differ too" if ranks[1:] else ""
    )


def _head(stops: Sequence[LogEvent], epoch: int) -> object:
    return next((stop.metadata.get("chain") for stop in stops if stop.epoch == epoch), None)


def _last_but_one(log: Log) -> object:
    """The chain value that a rank sent before its last line, in which it logs those of all
    ranks."""
    return log.events[-2].metadata.get("chain") if len(log.events) > 1 else None


def _results(context: BundleContext) -> Violations:
    """Check that every other rank went through rank 0's epochs and evaluations with the same
    results: all ranks receive the summed counts."""
    expected = [event for event in context.log.events if event.key in COURSE]
    for rank, log in context.logs():
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


def _admitted(context: BundleContext) -> Violations:
    """Check that all ranks logged the same digests of what they compared, where rank 0 logged
    any."""
    first = context.log.first("admission")
    for rank, log in context.logs():
        event = log.first("admission")
        if first is None and event is None:
            continue
        if event is None or not isinstance(event.value, dict):
            yield differing_event(
                log_name(rank), f"admission: digests of {', '.join(COMPARED)}", event
            )
            continue
        wanted = first.value if first is not None and isinstance(first.value, dict) else {}
        for kind in COMPARED:
            found = event.value.get(kind)
            if found is None or found != wanted.get(kind):
                yield Violation(
                    log_name(rank),
                    f"{kind} with the digest {str(wanted.get(kind))[:16]}, as rank 0 logged",
                    f"{found}"[:16],
                    event.line,
                )


RULES = (
    Rule(
        "ranks-agree",
        "Every rank's log is complete and has events of that rank only. After every epoch and in"
        " its last line, each log contains the chain values that all ranks' logs have reached, or"
        " the digest of these values (event `chain_heads`). Epochs, steps, evaluations, accuracies"
        " and status equal those in rank 0's log.",
        "A line's chain value is a SHA-256 over the log up to this line. If somebody edits one"
        " rank's log, it contradicts the chain values in the other ranks' logs. Every rank receives"
        " the sum of all ranks' correct predictions, so all log the same accuracies.",
        COPY_AGAIN,
        (OfBundle("ranks-agree", _agree), OfBundle("ranks-results", _results)),
    ),
    Rule(
        "ranks-admitted",
        "If any rank logs digests of its sources, package versions, request, data and initial"
        " weights, all ranks log the same digests.",
        "A node with other files would train another model or use other labels, and its times would"
        " not show that.",
        "put the same suite, environment and data on every node, then run again: `suite cluster"
        " doctor` names what differs",
        (OfBundle("ranks-admitted", _admitted),),
    ),
)
