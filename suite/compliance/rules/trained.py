"""What was really trained: model, optimizer, precision and number of parameters, as the implementation logged them."""

from collections.abc import Iterator

from suite.catalog.divisions import Division
from suite.compliance.faults.editable_bundle import EditableBundle
from suite.compliance.faults.fault import Fault, both, edit, in_turn
from suite.compliance.faults.log_edits import remove_event, set_event, set_everywhere
from suite.compliance.rule import CLOSED, BundleContext, Rule, Violation
from suite.compliance.wording import shown

ORDER = 64  # after the number of parameters

OPEN = (Division.OPEN,)
DECLARED = ("model_trained", "optimizer_used", "precision")
PRECISION = "float32"
MAX_LENGTH = 60


def _open(context: BundleContext) -> Iterator[Violation]:
    fix = "let the implementation log what it trains, between init_start and init_stop (docs/implementing.md)"
    for key in DECLARED:
        event = context.log.first(key)
        if event is None or not _is_text(event.value):
            observed, line = ("no such event", None) if event is None else (shown(event.value)[:200], event.line)
            yield Violation("log.txt", f"{key}, a text of {MAX_LENGTH} characters at most", observed, fix, line)
    event = context.log.first("parameters")
    if event is None or type(event.value) is not int or event.value < 1:
        observed, line = ("no such event", None) if event is None else (shown(event.value)[:200], event.line)
        yield Violation("log.txt", "parameters, the number of trained parameters", observed, fix, line)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_LENGTH and value.isprintable() and value == value.strip()


def _closed(context: BundleContext) -> Iterator[Violation]:
    request = context.request
    for key, wanted in zip(DECLARED, (request.model, request.optimizer.name, PRECISION), strict=True):
        event = context.log.first(key)
        if event is not None and event.value != wanted:
            fix = "train what the workload defines, or run it in the open division"
            yield Violation("log.txt", f"{key} = {wanted!r}", shown(event.value)[:200], fix, event.line)


@edit
def _lose_parameters(bundle: EditableBundle, value: object) -> None:
    bundle.event("parameters")["value"] = value


def _open_faults() -> Iterator[Fault]:
    to_open = set_everywhere("division", Division.OPEN.value)
    for key in DECLARED:
        yield from both(f"an open run without {key}", in_turn(to_open, remove_event(key)))
        for value in ("", None, 5, " x", "x" * (MAX_LENGTH + 1), "a\nb"):
            yield from both(f"an open run with {key} = {shown(value)[:40]}", in_turn(to_open, set_event(key, value=value)))
    for value in (None, 0, "many"):
        yield from both(f"an open run with {value!r} parameters", in_turn(to_open, _lose_parameters(value)))


RULES = (
    Rule(
        id="open-declares",
        sentence="An open run logs what it trained: model, optimizer, precision and number of parameters.",
        rationale="Anything may be trained in the open division, and a reader must see what: a softmax regression is no LeNet-5.",
        divisions=OPEN,
        bundle_check=_open,
        faults=tuple(_open_faults()),
    ),
    Rule(
        id="closed-trained",
        sentence="A closed run that logs its model, optimizer or precision logs those of the workload, and float32.",
        rationale="An implementation that says it trained something else is believed.",
        divisions=CLOSED,
        bundle_check=_closed,
        faults=(
            *both("a softmax regression in the closed division", set_event("model_trained", value="softmax_regression")),
            *both("Adam in the closed division", set_event("optimizer_used", value="adam")),
            *both("bfloat16 in the closed division", set_event("precision", value="bfloat16")),
        ),
    ),
)
