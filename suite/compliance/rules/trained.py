"""What was trained: model, layers, optimizer, precision and number of parameters, as the
implementation logged them."""

from collections.abc import Iterator, Mapping

from reference_impls.contract import FLOAT32, FP16_MIXED, Request, log_name
from reference_impls.precisions import BANDS, MOST_BITS, is_as_requested
from reference_impls.structure import STRUCTURES
from suite.bundle.log import Log, LogEvent
from suite.catalog.divisions import Division
from suite.catalog.frameworks import is_own
from suite.compliance.agreement import differing_event
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import numbers_text, value_text

ORDER = 64  # after the ranks

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
ARITHMETIC = "arithmetic"
RANGES = ", ".join(f"{band.lowest} to {band.highest} for {name}" for name, band in BANDS.items())
BITS, OVERFLOWS = ("product_bits", "convolution_bits"), "overflows"


def _open(context: BundleContext) -> Violations:
    for key in DECLARED:
        event = context.log.first(key)
        if event is None or not _is_text(event.value):
            yield differing_event(
                "log.txt",
                f"{key}, a printable text of 1 to {MAX_LENGTH} characters, without a space at"
                " either end",
                event,
            )
    event = context.log.first("parameters")
    if event is None or type(event.value) is not int or event.value < 1:
        expected = "parameters, the number of trained parameters: a whole number above zero"
        yield differing_event("log.txt", expected, event)


def _is_text(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_LENGTH
        and value.isprintable()
        and value == value.strip()
    )


def trained_otherwise(log: Log, request: Request) -> Iterator[tuple[str, str, LogEvent]]:
    """What the log says was trained otherwise than requested: its key, the requested value, and the
    event."""
    requested = (request.model, request.optimizer.name, request.precision)
    for key, wanted in zip(DECLARED, requested, strict=True):
        event = log.first(key)
        if event is not None and event.value != wanted:
            yield key, wanted, event


def _closed(context: BundleContext) -> Violations:
    for key, wanted, event in trained_otherwise(context.log, context.request):
        yield Violation("log.txt", f"{key} = {wanted!r}", value_text(event.value), event.line)


def _own_loop(context: BundleContext) -> Violations:
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
                    log_name(rank), f"{key}, which the suite's training loop logs", "no such event"
                )
        for key in (*EVERY_EPOCH, *(OF_RANKS_EVERY_EPOCH if has_others else ())):
            missing = set(log.finished_epochs()) - {event.epoch for event in log.all(key)}
            if missing:
                yield Violation(
                    log_name(rank),
                    f"{key} in every epoch, because the suite's training loop logs it",
                    f"none in epochs {numbers_text(missing)}",
                )


def _parameters(context: BundleContext) -> Violations:
    event = context.log.first("parameters")
    if event is None or event.value != context.workload.parameters:
        yield Violation(
            "log.txt",
            f"parameters = {context.workload.parameters}",
            "no such event" if event is None else repr(event.value)[:200],
            None if event is None else event.line,
        )


def _layers(context: BundleContext) -> Violations:
    event, expected = context.log.first("model_layers"), STRUCTURES.get(context.request.model)
    if event is None or expected is None or not is_own(context.request.framework):
        return  # a bundle of a version that did not log it, or an implementation that need not
    built = event.value if isinstance(event.value, Mapping) else {}
    if built.get("sha256") != expected or built.get("dropout") != 0:
        yield Violation(
            "log.txt",
            f"the layers of {context.request.model} (SHA-256 {expected[:12]}…), and no dropout",
            repr(event.value),
            event.line,
        )


def _as_requested(context: BundleContext) -> Violations:
    """Check every rank's event; a float32 run on a CPU may lack it, as those of earlier versions of
    the suite do."""
    precision = context.request.precision
    needed = precision != FLOAT32 or context.request.accelerator != "cpu"
    band = BANDS[precision]
    expected = (
        f"{ARITHMETIC} that fits {precision}: the smaller of {' and '.join(BITS)} is"
        f" {band.lowest} to {band.highest}, and {OVERFLOWS} is {precision == FP16_MIXED}"
    )
    for rank, log in context.logs():
        event = log.first(ARITHMETIC)
        if event is None:
            if needed:
                yield Violation(log_name(rank), expected, "no such event")
        elif not _fits(precision, event.value):
            yield Violation(log_name(rank), expected, repr(event.value)[:200], event.line)


def _fits(precision: str, value: object) -> bool:
    if not isinstance(value, dict) or type(value.get(OVERFLOWS)) is not bool:
        return False
    product, convolution = (value.get(name) for name in BITS)
    if (
        type(product) is not int
        or type(convolution) is not int
        or not 0 <= min(product, convolution) <= max(product, convolution) <= MOST_BITS
    ):
        return False
    return is_as_requested(precision, product, convolution, value[OVERFLOWS])


RULES = (
    Rule(
        "training-logged",
        "An open run logs what it trained: model, optimizer, precision and number of parameters."
        f" In a run of one of the suite's own implementations, every rank logs {', '.join(ONCE)},"
        f" and in every epoch {', '.join(EVERY_EPOCH)}. If there are several ranks, every rank"
        f" also logs {', '.join(OF_RANKS)}, and in every epoch {', '.join(OF_RANKS_EVERY_EPOCH)}."
        f" At the end of such a run, rank 0 logs {', '.join(BY_FIRST_RANK)}.",
        "An open run may train anything, and a reader must see what it trained. Other rules compare"
        " the logged events with the request and the readings, and cannot do so if an event is"
        " missing.",
        "let the implementation log, between init_start and init_stop, what it trains"
        " (docs/contract.md)",
        (
            OfBundle("open-declares", _open, OPEN),
            OfBundle("own-loop-logged", _own_loop),
        ),
    ),
    Rule(
        "closed-trained",
        "A closed run's model has the workload's layers and number of parameters, and no dropout."
        " If the run logs its model, its optimizer or its precision, the logged name is the"
        " requested one.",
        "A smaller model, a simpler optimizer or a lower precision would be faster. A library may"
        " build another model than the implementation asked for: torchvision 0.11 accepts the"
        " argument that switches dropout off, but leaves dropout on.",
        "train the workload's model in the framework's environment (`suite env create`), or run in"
        " the open division",
        (
            OfBundle("closed-trained", _closed, CLOSED),
            OfBundle("parameter-count", _parameters, CLOSED),
            OfBundle("layers-as-built", _layers, CLOSED),
        ),
    ),
    Rule(
        "arithmetic-as-requested",
        "The device computes products and convolutions in the requested precision. Before"
        " run_start, every rank measures on its device how many bits products and how many bits"
        " convolutions keep, and whether 2^20 overflows. It logs this as the event `arithmetic`."
        f" The smaller of the two numbers is in the precision's range: {RANGES}. 2^20 overflows"
        f" with {FP16_MIXED}, and with no other precision. Only a float32 run on a CPU may leave"
        " this event out.",
        "Computing with fewer bits is faster, and frameworks are compared only at the same"
        " precision. Whether a GPU rounds float32 numbers to TF32 depends on the framework, its"
        " version and the environment.",
        "request the precision that the device computes in (--precision), or switch reduced"
        " precision off"
        " (docs/arithmetic.md)",
        (OfBundle("arithmetic-as-requested", _as_requested),),
    ),
)
