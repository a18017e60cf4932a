"""Requests: checked before a run starts, and again as the bundle records them."""

from collections.abc import Callable, Iterable, Iterator

from reference_impls.contract import EQUAL, EXACT, LOCAL
from suite.catalog.frameworks import known_frameworks
from suite.compliance.agreement import ExpectedField, differing_fields, field_of
from suite.compliance.rule import CLOSED, OfRequest, RequestContext, Rule, Violation, Violations

ORDER = 20  # before the records: they follow from the request

OPEN_INSTEAD = ", or run in the open division"
EXACT_SUMS = ("mpi", "native")
MIN_SAMPLES_PER_RANK = 16
"""Batch normalisation over fewer samples converges worse: 23.7 % errors of ResNet-50 on ImageNet at
16 and 32 a worker, 24.8 % at 8, 27.3 % at 4 (Wu and He, Group Normalization, ECCV 2018, table
2)."""

Check = Callable[[RequestContext], Violations]


def _table(rows: Callable[[RequestContext], Iterable[ExpectedField]]) -> Check:
    """The check that the request's fields have the values of the table."""
    return lambda context: differing_fields(
        context.file, lambda path: _text(field_of(context.request)(path)), rows(context)
    )


def _text(value: object) -> object:
    """Of a list its values in a row."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _data(context: RequestContext) -> Violations:
    expected, data = context.workload.data, context.request.data
    if data.name != expected:
        yield Violation(context.file, f"the data set {expected!r}", f"{data.name!r}")
    elif data.synthetic is not False:
        yield Violation(context.file, f"the published {expected!r}", "generated data")
    elif data.verified is not True:
        unproved = "files whose checksums were not verified"
        yield Violation(context.file, f"{expected!r} with verified checksums", unproved)


def _length(context: RequestContext) -> tuple[ExpectedField, ...]:
    """The epochs, which set the schedule's horizon, evaluations and target; in rounds without short
    entries, no step limit."""
    workload = context.workload
    may_be_short = context.round.applies("short-length")
    has_target = context.request.target_accuracy is not None
    without = f"leave --no-target out{OPEN_INSTEAD}"
    return (
        ExpectedField("epochs", workload.epochs, fix=f"leave --epochs out{OPEN_INSTEAD}"),
        *(() if may_be_short else (ExpectedField("steps", None),)),
        ExpectedField("eval_every_epochs", workload.eval_every_epochs),
        ExpectedField(
            "target_accuracy", workload.target_accuracy, fix=None if has_target else without
        ),
    )


def _hyperparameters(context: RequestContext) -> Iterator[ExpectedField]:
    workload = context.workload
    for name in ("name", "momentum", "weight_decay", "schedule"):
        yield ExpectedField(f"optimizer.{name}", getattr(workload.optimizer, name))
    yield ExpectedField("initial_weights", workload.initial_weights)
    for name in ("mean", "std", "augmentation"):
        yield ExpectedField(f"preprocessing.{name}", _text(getattr(workload.preprocessing, name)))
    yield ExpectedField("data.side", workload.preprocessing.side)


def _framework(context: RequestContext) -> Violations:
    open_only = sorted(each.name for each in known_frameworks().values() if each.open_only)
    if context.request.framework in open_only:
        expected = f"a framework other than {', '.join(open_only)}"
        yield Violation(context.file, expected, f"{context.request.framework!r}")


def _collective(context: RequestContext) -> Violations:
    parallel = context.request.parallel
    allowed = ("none",) if parallel.ranks == 1 else EXACT_SUMS
    if parallel.collective not in allowed:
        expected = f"parallel.collective = {' or '.join(allowed)}"
        yield Violation(context.file, expected, f"{parallel.collective}")


def _tuned_in_range(context: RequestContext) -> Violations:
    request = context.request
    for name, option, value in (
        ("batch_size", "--batch-size", request.global_batch_size),
        ("base_learning_rate", "--learning-rate", request.optimizer.base_learning_rate),
    ):
        lowest, highest = getattr(context.workload.tunable, name)
        if not lowest <= value <= highest:
            allowed = f"from {lowest} to {highest}" if lowest < highest else f"= {lowest}"
            yield Violation(context.file, f"{name} {allowed} ({option})", f"{value}")


def _fixed_batch_size(context: RequestContext) -> tuple[ExpectedField, ...]:
    workload = context.workload
    why = f", because no target is established for {workload.name}"
    fix = f"leave --batch-size out{OPEN_INSTEAD}"
    return (
        (ExpectedField("global_batch_size", workload.batch_size, why, fix),)
        if workload.is_characterisation
        else ()
    )


def _synchronisable(context: RequestContext) -> Violations:
    """Check that several ranks of a model with batch normalisation synchronise, with the suite's
    all-reduce, and nobody else."""
    parallel, workload = context.request.parallel, context.workload
    if parallel.normalisation == LOCAL:
        return
    local = f"parallel.normalisation = {LOCAL}"
    for expected, is_so, observed in (
        (f"{local} with one rank", parallel.ranks > 1, "1 rank"),
        (
            f"{local}, because {workload.model} has no batch normalisation",
            workload.normalisation_statistics,
            workload.model,
        ),
        (
            "parallel.collective = mpi, the all-reduce that weights each rank's statistics by its"
            " number of samples",
            parallel.collective == "mpi",
            f"parallel.collective = {parallel.collective}",
        ),
    ):
        if not is_so:
            found = f"{observed}, and parallel.normalisation = {parallel.normalisation}"
            yield Violation(context.file, expected, found)


def _share(context: RequestContext) -> Violations:
    """Check that every rank normalises over enough samples, where the model has batch normalisation
    and ranks do not synchronise it."""
    request, parallel = context.request, context.request.parallel
    share = request.global_batch_size // parallel.ranks
    if (
        parallel.ranks > 1
        and parallel.normalisation == LOCAL
        and context.workload.normalisation_statistics
        and share < MIN_SAMPLES_PER_RANK
    ):
        yield Violation(
            context.file,
            f"at least {MIN_SAMPLES_PER_RANK} samples of every mini-batch on each of"
            f" {parallel.ranks} ranks, because {context.workload.name} normalises over each rank's"
            " own samples",
            f"{share} samples per rank ({request.global_batch_size} per mini-batch)",
            fix=f"use a --batch-size of at least {MIN_SAMPLES_PER_RANK * parallel.ranks}, fewer"
            f" ranks, or --normalisation synchronised{OPEN_INSTEAD}",
        )


RULES = (
    Rule(
        "data-read",
        "A run reads its data set from storage and does not drop the page cache during training.",
        "Runs with batches generated in memory, or with a page cache dropped every epoch, belong to"
        " stall analysis and are not results.",
        "run without --stall-analysis",
        (
            OfRequest(
                "data-read",
                _table(
                    lambda _: (
                        ExpectedField("batches", "read"),
                        ExpectedField("drop_cache_every_epoch", False),
                    )
                ),
            ),
        ),
    ),
    Rule(
        "closed-data",
        "A closed run trains on the workload's own data set, as it was published.",
        "Results on other data cannot be compared; synthetic data cannot show that a target is"
        " reached.",
        f"prepare the workload's published data set, and name it with --data{OPEN_INSTEAD}",
        (OfRequest("closed-data", _data, CLOSED),),
    ),
    Rule(
        "closed-workload",
        "A closed run has the workload's model, epochs, evaluation interval, target, optimizer,"
        " schedule, initial weights and preprocessing.",
        "The closed division compares devices: only what the workload lists as tunable may be"
        " tuned; otherwise two devices would run different mathematics.",
        f"train with the settings that the workload defines{OPEN_INSTEAD}",
        (
            OfRequest(
                "closed-model",
                _table(lambda context: (ExpectedField("model", context.workload.model),)),
                CLOSED,
            ),
            OfRequest("closed-length", _table(_length), CLOSED),
            OfRequest("closed-hyperparameters", _table(_hyperparameters), CLOSED),
        ),
    ),
    Rule(
        "closed-tuning",
        "In a closed run, batch size and learning rate are within the workload's ranges. If no"
        " target is established for the workload, the batch size is the workload's default.",
        "Devices differ in the batch size they can hold; the ranges allow for that and keep"
        " convergence comparable. Where no target is established, nothing shows how many more"
        " epochs a larger mini-batch needs.",
        f"choose values within the ranges{OPEN_INSTEAD}",
        (
            OfRequest("closed-tuning-range", _tuned_in_range, CLOSED),
            OfRequest("closed-characterisation", _table(_fixed_batch_size), CLOSED),
        ),
    ),
    Rule(
        "closed-framework",
        "A closed run may not use an implementation that is declared for the open division only.",
        "Such an implementation may change what the workload defines. Another precision needs no"
        " such implementation: each precision that the rulebook admits has its own leaderboards in"
        " the closed division.",
        "use another --framework, or run in the open division",
        (OfRequest("closed-arithmetic", _framework, CLOSED),),
    ),
    Rule(
        "closed-gradients",
        "A closed run updates its parameters after every mini-batch, by the exact sum of its ranks'"
        " gradients. The suite's all-reduce over MPI, or the framework's own all-reduce, computes"
        " this sum, and gradients are sent without rounding. The ranks have equal shares of the"
        " samples.",
        "An exact sum is the same mathematics in every library. Rounding gradients before they are"
        " sent halves the sending time and changes convergence; accumulating gradients amounts to a"
        " larger batch with fewer exchanges. Unequal shares depend on a short measurement of the"
        " ranks' speeds, so they would differ from run to run.",
        f"leave --collective, --wire, --shares and --accumulate out{OPEN_INSTEAD}",
        (
            OfRequest("closed-collective", _collective, CLOSED),
            OfRequest(
                "closed-wire", _table(lambda _: (ExpectedField("parallel.wire", EXACT),)), CLOSED
            ),
            OfRequest(
                "closed-shares",
                _table(lambda _: (ExpectedField("parallel.shares", EQUAL),)),
                CLOSED,
            ),
            OfRequest(
                "closed-accumulation", _table(lambda _: (ExpectedField("accumulation", 1),)), CLOSED
            ),
        ),
    ),
    Rule(
        "closed-normalisation",
        "If several ranks of a closed run each apply batch normalisation to their own samples, each"
        f" rank has at least {MIN_SAMPLES_PER_RANK} samples of every full mini-batch. Synchronised"
        " batch normalisation needs several ranks, a model with batch normalisation, and the"
        " suite's all-reduce.",
        "With statistics over fewer samples, the model converges worse, and the epochs of the"
        " workload's reference points do not apply to it. The suite's all-reduce weights each"
        " rank's statistics by its number of samples; a framework's own all-reduce may weight them"
        " differently.",
        "leave --normalisation out (if only the all-reduce is wrong, leave --collective out"
        f" instead){OPEN_INSTEAD}",
        (
            OfRequest("normalisation-synchronisable", _synchronisable, CLOSED),
            OfRequest("closed-samples-per-rank", _share, CLOSED),
        ),
    ),
)
