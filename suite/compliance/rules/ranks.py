"""Runs of several ranks: every rank's records, and their agreement."""

from collections.abc import Iterator, Sequence

from reference_impls.contract import heads_digest, log_name
from suite.bundle.layout import STEPS
from suite.bundle.log import Log, LogEvent
from suite.compliance.remedies import COPY_AGAIN, TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import numbers, ordinal, shown

ORDER = 50  # after rank 0's own records

AT_THE_END = None
"""Stands for an epoch: the exchange of chain values before the last line."""


def _complete(context: BundleContext) -> Iterator[Violation]:
    """Check that every step is in every rank's records, and that each rank takes its share of the
    mini-batch."""
    ranks = context.request.parallel.ranks
    recorded = list(context.steps.ranks)
    if recorded != list(range(ranks)):
        yield Violation(
            STEPS,
            f"steps of the ranks {numbers(range(ranks))}",
            f"of the ranks {numbers(recorded)}",
        )
        return
    logged = context.log.value("ranks")
    if logged != ranks:
        yield Violation("log.txt", f"ranks = {ranks}, as requested", shown(logged))
    for rank, steps in context.steps.by_rank():
        samples, shares = steps.samples.tolist(), _shares(context, len(steps), rank)
        wrong = next((index for index, share in enumerate(shares) if samples[index] != share), None)
        if wrong is not None:
            whole = "rank 0 to take all samples of each mini-batch"
            part = (
                f"rank {rank} to take every {ordinal(ranks)} sample of each mini-batch, from the"
                f" {ordinal(rank + 1)}"
            )
            yield Violation(
                STEPS,
                f"{whole if ranks == 1 else part}: {shares[wrong]} samples",
                f"{samples[wrong]} samples in step {steps.step[wrong]} of epoch"
                f" {steps.epoch[wrong]}",
            )


def _shares(context: BundleContext, steps: int, rank: int) -> list[int]:
    """The samples of a rank, step by step."""
    samples, batch, ranks = (
        context.request.data.train_samples,
        context.request.global_batch_size,
        context.request.parallel.ranks,
    )
    of_epoch = [
        len(range(rank, min(batch, samples - index * batch), ranks))
        for index in range(min(steps, -(-samples // batch)))
    ]
    return [of_epoch[index % len(of_epoch)] for index in range(steps)]


def _agree(context: BundleContext) -> Iterator[Violation]:
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
                    ("no chain_heads", None)
                    if event is None
                    else (_difference(event.value, expected), event.line)
                )
                when = "before its last line" if epoch is AT_THE_END else f"after epoch {epoch}"
                yield Violation(
                    log_name(rank), f"the chain values of all ranks' logs {when}", observed, line
                )


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
        return f"{logged[:12]}…, which is not their SHA-256"
    if not isinstance(logged, list) or len(logged) != len(expected):
        return f"no list of {len(expected)} values"
    ranks = [
        rank
        for rank, (value, wanted) in enumerate(zip(logged, expected, strict=True))
        if value != wanted
    ]
    value, wanted = (str(values[ranks[0]])[:12] for values in (logged, expected))
    return f"{value}… in place of {wanted}… for rank {ranks[0]}" + (
        f", and the ranks {numbers(ranks[1:])} differ too" if ranks[1:] else ""
    )


def _head(stops: Sequence[LogEvent], epoch: int) -> object:
    return next((stop.metadata.get("chain") for stop in stops if stop.epoch == epoch), None)


def _last_but_one(log: Log) -> object:
    """The chain value that a rank sent before its last line, in which it logs those of all
    ranks."""
    return log.events[-2].metadata.get("chain") if len(log.events) > 1 else None


RULES = (
    Rule(
        "ranks-complete",
        "Every rank's steps are recorded, and each rank takes its share of every mini-batch.",
        "A rank that trains on less makes the run faster.",
        TRAINING_LOOP,
        (OfBundle("ranks-complete", _complete),),
    ),
    Rule(
        "ranks-agree",
        "Every rank's log is whole, of that rank alone, and holds the chain values of all"
        " ranks' logs, or their digest, after every epoch and at its end.",
        "An edited log of one node contradicts the logs of the others.",
        COPY_AGAIN,
        (OfBundle("ranks-agree", _agree),),
    ),
)
