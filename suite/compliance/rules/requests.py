"""Requests: checked before a run starts, and again as the bundle records them."""

from collections.abc import Iterator
from typing import Any

from reference_impls.contract import EXACT
from suite.catalog.frameworks import known_frameworks
from suite.compliance.rule import CLOSED, OfRequest, RequestContext, Rule, Violation

ORDER = 20  # before the records: they follow from the request

OPEN_INSTEAD = "or run it in the open division"
EXACT_SUMS = ("mpi", "native")


def _data(context: RequestContext) -> Iterator[Violation]:
    expected, requested = context.workload.data, context.request.data.name
    if requested != expected:
        yield Violation(
            context.file,
            f"the data set {expected!r}",
            f"{requested!r}",
            fix=f"use --data {expected} {OPEN_INSTEAD}",
        )
    elif context.request.data.synthetic is not False:
        yield Violation(
            context.file,
            f"the published {expected!r}",
            "generated data",
            fix=f"prepare {expected!r} without --synthetic {OPEN_INSTEAD}",
        )
    elif context.request.data.verified is not True:
        yield Violation(
            context.file,
            f"{expected!r} with verified checksums",
            "files whose checksums were not verified",
            fix=f"prepare {expected!r} from its published files {OPEN_INSTEAD}",
        )


def _read(context: RequestContext) -> Iterator[Violation]:
    for name, expected in (("batches", "read"), ("drop_cache_every_epoch", False)):
        requested = getattr(context.request, name)
        if requested != expected:
            yield Violation(context.file, f"{name} = {expected!r}", f"{requested!r}")


def _model(context: RequestContext) -> Iterator[Violation]:
    if context.request.model != context.workload.model:
        yield Violation(
            context.file, f"the model {context.workload.model!r}", f"{context.request.model!r}"
        )


def _framework(context: RequestContext) -> Iterator[Violation]:
    open_only = sorted(
        framework.name for framework in known_frameworks().values() if framework.open_only
    )
    if context.request.framework in open_only:
        yield Violation(
            context.file,
            f"a framework other than {', '.join(open_only)}",
            f"{context.request.framework!r}",
        )


def _collective(context: RequestContext) -> Iterator[Violation]:
    parallel = context.request.parallel
    allowed = ("none",) if parallel.ranks == 1 else EXACT_SUMS
    if parallel.collective not in allowed:
        yield Violation(
            context.file,
            f"parallel.collective = {' or '.join(allowed)}",
            f"{parallel.collective}",
        )


def _wire(context: RequestContext) -> Iterator[Violation]:
    yield from _equal(
        context, "parallel.wire", EXACT, context.request.parallel.wire, "leave --wire out"
    )


def _accumulation(context: RequestContext) -> Iterator[Violation]:
    yield from _equal(
        context, "accumulation", 1, context.request.accumulation, "leave --accumulate out"
    )


def _length(context: RequestContext) -> Iterator[Violation]:
    """Check epochs, which set the schedule's horizon, evaluations, target, and that no step limit
    ends the run early."""
    workload, request = context.workload, context.request
    yield from _equal(context, "epochs", workload.epochs, request.epochs, "leave --epochs out")
    yield from _equal(context, "steps", None, request.steps, "leave --steps out")
    yield from _equal(
        context,
        "eval_every_epochs",
        workload.eval_every_epochs,
        request.eval_every_epochs,
        "evaluate as the workload defines",
    )
    yield from _equal(
        context,
        "target_accuracy",
        workload.target_accuracy,
        request.target_accuracy,
        "train to the workload's target",
    )


def _fixed_hyperparameters(context: RequestContext) -> Iterator[Violation]:
    defined, requested = context.workload.optimizer, context.request.optimizer
    for name in ("name", "momentum", "weight_decay", "schedule"):
        yield from _equal(
            context,
            f"optimizer.{name}",
            getattr(defined, name),
            getattr(requested, name),
            "use the workload's optimizer",
        )
    yield from _equal(
        context,
        "initial_weights",
        context.workload.initial_weights,
        context.request.initial_weights,
        "draw the weights as the workload defines",
    )
    workload, requested_pictures = context.workload.preprocessing, context.request.preprocessing
    for name in ("mean", "std"):
        expected, found = (
            ", ".join(map(str, getattr(settings, name)))
            for settings in (workload, requested_pictures)
        )
        yield from _equal(
            context, f"preprocessing.{name}", expected, found, "normalise as the workload defines"
        )
    yield from _equal(
        context,
        "preprocessing.augmentation",
        workload.augmentation,
        requested_pictures.augmentation,
        "augment as the workload defines",
    )


def _tuned_in_range(context: RequestContext) -> Iterator[Violation]:
    values = {
        "batch_size": context.request.global_batch_size,
        "base_learning_rate": context.request.optimizer.base_learning_rate,
    }
    for name, value in values.items():
        lowest, highest = getattr(context.workload.tunable, name)
        if not lowest <= value <= highest:
            flag = {"batch_size": "--batch-size", "base_learning_rate": "--learning-rate"}[name]
            yield Violation(
                context.file,
                f"{name} from {lowest} to {highest}",
                f"{value}",
                fix=f"choose {flag} within the range {OPEN_INSTEAD}",
            )


def _fixed_batch_size(context: RequestContext) -> Iterator[Violation]:
    workload, requested = context.workload, context.request.global_batch_size
    if workload.is_characterisation and requested != workload.batch_size:
        yield Violation(
            context.file,
            f"global_batch_size = {workload.batch_size}, because no target is established for"
            f" {workload.name}",
            f"{requested}",
        )


def _equal(
    context: RequestContext, name: str, expected: Any, found: Any, fix: str
) -> Iterator[Violation]:
    if found != expected:
        yield Violation(
            context.file, f"{name} = {expected}", f"{found}", fix=f"{fix} {OPEN_INSTEAD}"
        )


RULES = (
    Rule(
        "data-read",
        "A run reads its data set from storage and does not drop the page cache during training.",
        "Batches generated in memory and a cache dropped every epoch belong to stall analysis;"
        " they are no result.",
        "run without --stall-analysis",
        (OfRequest("data-read", _read),),
    ),
    Rule(
        "closed-data",
        "A closed run trains on the workload's own data set, as it was published.",
        "Results on other data cannot be compared; synthetic data cannot show that a target is"
        " reached.",
        "prepare the workload's data set from its published files, or run in the open division",
        (OfRequest("closed-data", _data, divisions=CLOSED),),
    ),
    Rule(
        "closed-model",
        "A closed run trains the workload's model.",
        "The closed division compares devices, not models.",
        f"train the workload's model {OPEN_INSTEAD}",
        (OfRequest("closed-model", _model, divisions=CLOSED),),
    ),
    Rule(
        "closed-arithmetic",
        "A closed run is of no implementation that is declared for the open division only.",
        "A variant may change what the workload defines; the precisions that the rulebook"
        " admits are a column of the closed division.",
        OPEN_INSTEAD.removeprefix("or "),
        (OfRequest("closed-arithmetic", _framework, divisions=CLOSED),),
    ),
    Rule(
        "closed-collective",
        "A closed run of several ranks sums its gradients exactly: with the suite's all-reduce"
        " over MPI, or the framework's own.",
        "An exact sum is the same mathematics in every library; the ranks' digests after every"
        " epoch are equal only if all of them got the same one. Leaderboards tell the two"
        " apart, because a framework's own hides its time.",
        f"leave --collective out {OPEN_INSTEAD}",
        (OfRequest("closed-collective", _collective, divisions=CLOSED),),
    ),
    Rule(
        "closed-wire",
        "A closed run sends its gradients as they are computed.",
        "Gradients rounded to 16 bits are another arithmetic, which converges otherwise, in"
        " half the time on the wire.",
        "leave --wire out, or run in the open division",
        (OfRequest("closed-wire", _wire, divisions=CLOSED),),
    ),
    Rule(
        "closed-accumulation",
        "A closed run updates its parameters after every mini-batch.",
        "Several mini-batches an update are one larger mini-batch, outside the workload's"
        " range, with one exchange in place of several.",
        "leave --accumulate out, or run in the open division",
        (OfRequest("closed-accumulation", _accumulation, divisions=CLOSED),),
    ),
    Rule(
        "closed-length",
        "A closed run has the workload's epochs, evaluation interval and target, and no step"
        " limit.",
        "The epochs set the learning-rate schedule; another target or interval changes the"
        " meaning of time to target.",
        "leave --epochs and --steps out, or run in the open division",
        (OfRequest("closed-length", _length, divisions=CLOSED),),
    ),
    Rule(
        "closed-hyperparameters",
        "A closed run has the workload's optimizer, momentum, weight decay, schedule, initial"
        " weights and preprocessing.",
        "Only what the workload lists as tunable may be tuned, or two devices would run"
        " different mathematics.",
        "leave the options out, or run in the open division",
        (OfRequest("closed-hyperparameters", _fixed_hyperparameters, divisions=CLOSED),),
    ),
    Rule(
        "closed-tuning-range",
        "A closed run tunes batch size and learning rate within the workload's ranges only.",
        "Devices differ in the batch size they can hold; the ranges allow for that and keep"
        " convergence comparable.",
        "choose values within the range, or run in the open division",
        (OfRequest("closed-tuning-range", _tuned_in_range, divisions=CLOSED),),
    ),
    Rule(
        "closed-characterisation",
        "A closed run of a workload without an established target has the workload's batch size.",
        "Its results are a characterisation: a larger mini-batch makes an epoch shorter, and"
        " nothing shows how many more epochs it needs.",
        f"leave --batch-size out {OPEN_INSTEAD}",
        (OfRequest("closed-characterisation", _fixed_batch_size, divisions=CLOSED),),
    ),
)
