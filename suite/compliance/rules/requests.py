"""What a run may ask for. These rules judge a request before a second is spent, and again as the bundle recorded it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from suite.catalog.frameworks import load_frameworks
from suite.compliance.editing import EditableBundle
from suite.compliance.rule import CLOSED, Fault, RequestCase, Rule, Violation

OPEN_INSTEAD = "or run it in the open division"


def _data(case: RequestCase) -> Iterator[Violation]:
    expected, found = case.workload.data, case.request.data.name
    if found != expected:
        yield Violation(case.file, f"the data set {expected!r}", f"{found!r}", f"use --data {expected} {OPEN_INSTEAD}")
    elif case.request.data.synthetic is not False:
        yield Violation(case.file, f"the published {expected!r}", "generated data", f"prepare {expected!r} without --synthetic {OPEN_INSTEAD}")
    elif case.request.data.verified is not True:
        fix = f"prepare {expected!r} from its published files {OPEN_INSTEAD}"
        yield Violation(case.file, f"{expected!r} as its checksums say", "files that no checksum was held against", fix)


def _read(case: RequestCase) -> Iterator[Violation]:
    for name, expected in (("batches", "read"), ("drop_cache_every_epoch", False)):
        found = getattr(case.request, name)
        if found != expected:
            yield Violation(case.file, f"{name} = {expected!r}", f"{found!r}", "run without --stall-analysis")


def _model(case: RequestCase) -> Iterator[Violation]:
    if case.request.model != case.workload.model:
        yield Violation(case.file, f"the model {case.workload.model!r}", f"{case.request.model!r}", f"train the workload's model {OPEN_INSTEAD}")


def _framework(case: RequestCase) -> Iterator[Violation]:
    open_only = sorted(framework.name for framework in load_frameworks() if framework.open_only)
    if case.request.framework in open_only:
        yield Violation(case.file, f"a framework other than {', '.join(open_only)}", f"{case.request.framework!r}", OPEN_INSTEAD.removeprefix("or "))


def _collective(case: RequestCase) -> Iterator[Violation]:
    parallel = case.request.parallel
    yield from _equal(case, "parallel.collective", "none" if parallel.ranks == 1 else "mpi", parallel.collective, "leave --collective out")


def _length(case: RequestCase) -> Iterator[Violation]:
    """Epochs set the schedule's horizon; a step limit would end a run before its target."""
    workload, request = case.workload, case.request
    yield from _equal(case, "epochs", workload.epochs, request.epochs, "leave --epochs out")
    yield from _equal(case, "steps", None, request.steps, "leave --steps out")
    yield from _equal(case, "eval_every_epochs", workload.eval_every_epochs, request.eval_every_epochs, "evaluate as the workload says")
    yield from _equal(case, "target_accuracy", workload.target_accuracy, request.target_accuracy, "train to the workload's target")


def _fixed_hyperparameters(case: RequestCase) -> Iterator[Violation]:
    defined, found = case.workload.optimizer, case.request.optimizer
    for name in ("name", "momentum", "weight_decay", "schedule"):
        yield from _equal(case, f"optimizer.{name}", getattr(defined, name), getattr(found, name), "use the workload's optimizer")
    yield from _equal(case, "initial_weights", case.workload.initial_weights, case.request.initial_weights, "draw the weights as the workload says")
    wanted = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(case.workload.preprocessing).items()}
    settings = case.request.preprocessing
    asked = {"mean": list(settings.mean), "std": list(settings.std), "augmentation": settings.augmentation}
    yield from _equal(case, "preprocessing", wanted, asked, "normalise as the workload says")


def _tuned_in_range(case: RequestCase) -> Iterator[Violation]:
    values = {"batch_size": case.request.global_batch_size, "base_learning_rate": case.request.optimizer.base_learning_rate}
    for name, value in values.items():
        lowest, highest = getattr(case.workload.tunable, name)
        if not lowest <= value <= highest:
            flag = {"batch_size": "--batch-size", "base_learning_rate": "--learning-rate"}[name]
            yield Violation(case.file, f"{name} from {lowest} to {highest}", f"{value}", f"choose {flag} within the range {OPEN_INSTEAD}")


def _equal(case: RequestCase, name: str, expected: Any, found: Any, fix: str) -> Iterator[Violation]:
    if found != expected:
        yield Violation(case.file, f"{name} = {expected}", f"{found}", f"{fix} {OPEN_INSTEAD}")


def _other_data(bundle: EditableBundle) -> None:
    bundle.request["data"]["name"] = "digits"
    bundle.event("data_set")["value"] = "digits"


def _generated_data(bundle: EditableBundle) -> None:
    bundle.request["data"]["synthetic"] = True


def _unknown_data(bundle: EditableBundle) -> None:
    bundle.request["data"]["verified"] = False


def _other_model(bundle: EditableBundle) -> None:
    bundle.request["model"] = bundle.event("model")["value"] = "lenet4"


def _other_arithmetic(bundle: EditableBundle) -> None:
    bundle.request["framework"] = bundle.event("framework")["value"] = "pytorch_bf16"


def _longer(bundle: EditableBundle) -> None:
    bundle.request["epochs"] = bundle.event("max_epochs")["value"] = 50


def _easier(bundle: EditableBundle) -> None:
    bundle.request["target_accuracy"] = bundle.event("target_accuracy")["value"] = 0.5


def _other_momentum(bundle: EditableBundle) -> None:
    bundle.request["optimizer"]["momentum"] = bundle.event("opt_momentum")["value"] = -5.0


def _other_preprocessing(bundle: EditableBundle) -> None:
    bundle.request["preprocessing"]["mean"] = [0.0]


def _learning_rate_out_of_range(bundle: EditableBundle) -> None:
    bundle.request["optimizer"]["base_learning_rate"] = bundle.event("opt_base_learning_rate")["value"] = 0.5


def _native(bundle: EditableBundle) -> None:
    bundle.request["parallel"]["collective"] = bundle.event("collective")["value"] = "native"


def _synthetic_batches(bundle: EditableBundle) -> None:
    bundle.request["batches"] = "synthetic"


def _never_cached(bundle: EditableBundle) -> None:
    bundle.request["drop_cache_every_epoch"] = True


RULES = (
    Rule(
        id="data-read",
        sentence="A run reads its data set, and leaves the page cache alone while it trains.",
        rationale="Batches made in memory and a cache that is emptied every epoch belong to the analysis of stalls; they are no result.",
        judges_request=_read,
        faults=(Fault("batches made in memory", _synthetic_batches), Fault("a cache emptied every epoch", _never_cached)),
    ),
    Rule(
        id="closed-data",
        sentence="A closed run trains on the workload's own data set, as it was published.",
        rationale="Results on other data cannot be compared; synthetic data teach nothing about reaching a target.",
        divisions=CLOSED,
        judges_request=_data,
        faults=(
            Fault("digits instead of MNIST", _other_data),
            Fault("generated data", _generated_data),
            Fault("data without a checksum", _unknown_data),
        ),
    ),
    Rule(
        id="closed-model",
        sentence="A closed run trains the workload's model.",
        rationale="The closed division compares devices, not models.",
        divisions=CLOSED,
        judges_request=_model,
        faults=(Fault("another model", _other_model),),
    ),
    Rule(
        id="closed-arithmetic",
        sentence="A closed run computes in the precision of the reference implementations.",
        rationale="Fewer bits are another arithmetic: faster, and with another convergence.",
        divisions=CLOSED,
        judges_request=_framework,
        faults=(Fault("bfloat16", _other_arithmetic),),
    ),
    Rule(
        id="closed-collective",
        sentence="A closed run of several ranks sums its gradients by the suite's exchange over MPI.",
        rationale="One exchange for all frameworks can be timed; what a framework hides in its own cannot.",
        divisions=CLOSED,
        judges_request=_collective,
        faults=(Fault("the framework's own collectives", _native, ranks=2),),
    ),
    Rule(
        id="closed-length",
        sentence="A closed run has the workload's epochs, evaluation interval and target, and no step limit.",
        rationale="The epochs set the learning-rate schedule; a changed target or interval changes what time to target means.",
        divisions=CLOSED,
        judges_request=_length,
        faults=(Fault("fifty epochs", _longer), Fault("an easier target", _easier)),
    ),
    Rule(
        id="closed-hyperparameters",
        sentence="A closed run has the workload's optimizer, momentum, weight decay, schedule, initial weights and preprocessing.",
        rationale="Only what the workload lists as tunable may be tuned, or two devices would be running different mathematics.",
        divisions=CLOSED,
        judges_request=_fixed_hyperparameters,
        faults=(Fault("momentum -5", _other_momentum), Fault("no normalisation", _other_preprocessing)),
    ),
    Rule(
        id="closed-tuning-range",
        sentence="A closed run tunes batch size and learning rate within the workload's ranges only.",
        rationale="Devices differ in the batch size they can hold; the ranges leave room for that and keep convergence comparable.",
        divisions=CLOSED,
        judges_request=_tuned_in_range,
        faults=(Fault("a learning rate of 0.5", _learning_rate_out_of_range),),
    ),
)
