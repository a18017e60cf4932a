"""Results: accuracy, status, target, model size."""

from collections.abc import Iterator, Mapping

from reference_impls.structure import STRUCTURES
from suite.catalog.frameworks import is_own
from suite.catalog.scoring import load_scoring
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation

ORDER = 70  # after the records that results follow from


def _accuracy(context: BundleContext) -> Iterator[Violation]:
    samples = context.request.data.eval_samples
    for event in context.log.all("eval_accuracy"):
        correct = event.metadata.get("correct")
        if (
            not isinstance(correct, int)
            or not 0 <= correct <= samples
            or event.value != correct / samples
        ):
            observed, fix = (
                f"{event.value!r} with {correct!r} correct",
                "run again with an implementation that logs accuracy and count",
            )
            yield Violation(
                "log.txt",
                f"an accuracy of correct / {samples} in epoch {event.epoch}",
                observed[:200],
                event.line,
                fix=fix,
            )


def _status(context: BundleContext) -> Iterator[Violation]:
    stop = context.log.first("run_stop")
    if stop is None:
        return
    target = context.request.target_accuracy
    reached = any(
        isinstance(event.value, int | float) and target is not None and event.value >= target
        for event in context.log.all("eval_accuracy")
    )
    expected = "success" if target is None or reached else "aborted"
    if stop.metadata.get("status") != expected:
        yield Violation(
            "log.txt",
            f"status {expected!r}, which follows from the evaluations",
            repr(stop.metadata.get("status")),
            stop.line,
        )


def _target(context: BundleContext) -> Iterator[Violation]:
    evaluated = [
        event for event in context.log.all("eval_accuracy") if isinstance(event.value, int | float)
    ]
    target, best_of = (
        context.workload.target_accuracy,
        max(evaluated, key=lambda event: event.value, default=None),
    )
    if target is not None and (best_of is None or best_of.value < target):
        best = (
            "no evaluation"
            if best_of is None
            else (
                f"{best_of.value:.4f} at best, in epoch {best_of.epoch} of {len(evaluated)}"
                " evaluated"
            )
        )
        yield Violation("log.txt", f"an accuracy of {target} or more", best)


def _missed(context: BundleContext) -> Iterator[Violation]:
    """Say that a run, which trained all its epochs (`ends-as-asked`), missed its target."""
    values = [
        event.value
        for event in context.log.all("eval_accuracy")
        if isinstance(event.value, int | float)
    ]
    target = context.workload.target_accuracy
    if target is not None and values and max(values) < target:
        limits = load_scoring().missed
        yield Violation(
            "log.txt",
            f"an accuracy of {target} or more, for a time to target",
            f"{max(values):.4f}",
            fix=f"keep it: a missed target counts; an entry planned with {limits.min_planned_runs}"
            " runs"
            f" or more is ranked if {limits.min_share_reached:.0%} of them reach it",
        )


def _parameters(context: BundleContext) -> Iterator[Violation]:
    event = context.log.first("parameters")
    if event is None or event.value != context.workload.parameters:
        yield Violation(
            "log.txt",
            f"parameters = {context.workload.parameters}",
            "no such event" if event is None else repr(event.value)[:200],
            None if event is None else event.line,
        )


def _layers(context: BundleContext) -> Iterator[Violation]:
    event, expected = context.log.first("model_layers"), STRUCTURES.get(context.request.model)
    if event is None or expected is None or not is_own(context.request.framework):
        return  # a bundle of a version that did not log it, or an implementation that need not
    built = event.value if isinstance(event.value, Mapping) else {}
    if built.get("sha256") != expected or built.get("dropout") != 0:
        yield Violation(
            "log.txt",
            f"the layers of {context.request.model} (SHA-256 {expected[:12]}…), no dropout",
            repr(event.value),
            event.line,
        )


RULES = (
    Rule(
        "accuracy-counts",
        "Every logged accuracy is the logged number of correct samples divided by the size of"
        " the evaluation set.",
        "It shows rounded and invented accuracies.",
        "run again with an implementation that logs accuracy and count",
        (OfBundle("accuracy-counts", _accuracy),),
    ),
    Rule(
        "status-follows",
        "The run's status is success if an evaluation reached the target, else aborted.",
        "The status must follow from the evaluations.",
        "hand in the status that the run logged",
        (OfBundle("status-follows", _status),),
    ),
    Rule(
        "target-reached",
        "A closed run reaches the workload's target accuracy.",
        "The closed division compares time to target; a fast run that learns nothing has none.",
        "tune within the workload's ranges, or submit it as a run that missed the target",
        (OfBundle("target-reached", _target, divisions=CLOSED),),
    ),
    Rule(
        "target-missed",
        "A closed run that trained all its epochs without reaching the target is valid, and"
        " counts as missed.",
        "Leaving out runs that miss the target would make a lucky recipe look sure.",
        "keep it: a missed target counts",
        (OfBundle("target-missed", _missed, divisions=CLOSED, severity=Severity.WARNING),),
    ),
    Rule(
        "parameter-count",
        "A closed run's model has the workload's number of parameters.",
        "A smaller model would be faster.",
        "train the workload's model, or run it in the open division",
        (OfBundle("parameter-count", _parameters, divisions=CLOSED),),
    ),
    Rule(
        "layers-as-built",
        "The layers that a closed run's framework built are the workload's, and no dropout is"
        " active.",
        "Libraries of models change: torchvision 0.11 takes an argument that switches dropout"
        " off, and leaves it on. Names, shapes, strides, groups and the constants of batch"
        " normalisation are the same in every framework.",
        "install the framework's environment again with `suite env create`, and train again",
        (OfBundle("layers-as-built", _layers, divisions=CLOSED),),
    ),
)
