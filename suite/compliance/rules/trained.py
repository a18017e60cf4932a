"""What was really trained: model, optimizer, precision and number of parameters, as the
implementation logged them."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from suite.catalog.divisions import Division
from suite.catalog.frameworks import is_own
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import numbers, shown

ORDER = 64  # after the number of parameters

OPEN = (Division.OPEN,)
DECLARED = ("model_trained", "optimizer_used", "precision")
ONCE, EVERY_EPOCH, BY_FIRST_RANK = (
    (*DECLARED, "framework_threads"),
    ("learning_rates", "uncounted_start", "uncounted_stop"),
    ("peak_rss_of_ranks",),
)
"""What the suite's own training loop logs, whatever is trained: 149 real runs of four frameworks
have all of it. Others may leave them out."""
OF_RANKS, OF_RANKS_EVERY_EPOCH = ("admission",), ("state_digests",)
"""What it logs where several ranks train."""
MAX_LENGTH = 60


def _open(context: BundleContext) -> Iterator[Violation]:
    for key in DECLARED:
        event = context.log.first(key)
        if event is None or not _is_text(event.value):
            observed, line = (
                ("no such event", None) if event is None else (shown(event.value)[:200], event.line)
            )
            yield Violation(
                "log.txt", f"{key}, a text of {MAX_LENGTH} characters at most", observed, line
            )
    event = context.log.first("parameters")
    if event is None or type(event.value) is not int or event.value < 1:
        observed, line = (
            ("no such event", None) if event is None else (shown(event.value)[:200], event.line)
        )
        yield Violation("log.txt", "parameters, the number of trained parameters", observed, line)


def _is_text(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_LENGTH
        and value.isprintable()
        and value == value.strip()
    )


def _closed(context: BundleContext) -> Iterator[Violation]:
    request = context.request
    for key, wanted in zip(
        DECLARED, (request.model, request.optimizer.name, request.precision), strict=True
    ):
        event = context.log.first(key)
        if event is not None and event.value != wanted:
            yield Violation("log.txt", f"{key} = {wanted!r}", shown(event.value), event.line)


def _own_loop(context: BundleContext) -> Iterator[Violation]:
    """Check that the log of an implementation of the checkout has what the suite's training loop
    always logs."""
    if not is_own(context.request.framework):
        return
    # else it may have been killed right after run_stop
    is_exited = context.run.closed_later is None and context.run.exit_code == 0
    has_others = context.request.parallel.ranks > 1
    for rank, log in context.logs():
        keys = {event.key for event in log.events}
        for key in (
            *ONCE,
            *(OF_RANKS if has_others else ()),
            *(BY_FIRST_RANK if rank == 0 and is_exited else ()),
        ):
            if key not in keys:
                yield Violation(
                    log_name(rank), f"{key}, as the suite's training loop logs it", "no such event"
                )
        for key in (*EVERY_EPOCH, *(OF_RANKS_EVERY_EPOCH if has_others else ())):
            missing = set(log.finished_epochs()) - {event.epoch for event in log.all(key)}
            if missing:
                yield Violation(
                    log_name(rank),
                    f"{key} of every epoch, as the suite's training loop logs it",
                    f"none in epochs {numbers(missing)}",
                )


RULES = (
    Rule(
        "open-declares",
        "An open run logs what it trained: model, optimizer, precision and number of parameters.",
        "Anything may be trained in the open division, and a reader must see what: a softmax"
        " regression is no LeNet-5.",
        "let the implementation log what it trains, between init_start and init_stop"
        " (docs/implementing.md)",
        (OfBundle("open-declares", _open, divisions=OPEN),),
    ),
    Rule(
        "closed-trained",
        "A closed run that logs its model, optimizer or precision logs those of the workload,"
        " and the requested precision.",
        "An implementation that says it trained something else is believed.",
        "train what the workload defines, or run it in the open division",
        (OfBundle("closed-trained", _closed, divisions=CLOSED),),
    ),
    Rule(
        "own-loop-logged",
        "A run of one of the suite's own implementations logs what its training loop always"
        f" logs: {', '.join(ONCE)}, of every epoch {', '.join(EVERY_EPOCH)}, and at the end"
        f" {', '.join(BY_FIRST_RANK)}; of several ranks also {', '.join(OF_RANKS)}, and of"
        f" every epoch {', '.join(OF_RANKS_EVERY_EPOCH)}.",
        "Rules compare these with the request and the readings. An event that was taken out"
        " would escape them.",
        TRAINING_LOOP,
        (OfBundle("own-loop-logged", _own_loop),),
    ),
)
