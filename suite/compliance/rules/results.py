"""Results: accuracy and target."""

from suite.catalog.scoring import load_scoring
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations

ORDER = 70  # after the records that results follow from


def _accuracy(context: BundleContext) -> Violations:
    samples = context.request.data.eval_samples
    for event in context.log.all("eval_accuracy"):
        correct = event.metadata.get("correct")
        if (
            not isinstance(correct, int)
            or not 0 <= correct <= samples
            or event.value != correct / samples
        ):
            observed = f"{event.value!r} with {correct!r} correct"
            fix = "run again with an implementation that logs accuracy and count"
            yield Violation(
                "log.txt",
                f"an accuracy of correct / {samples} in epoch {event.epoch}",
                observed[:200],
                event.line,
                fix=fix,
            )


def _target(context: BundleContext) -> Violations:
    evaluated = context.log.evaluations()
    target = context.workload.target_accuracy
    best_of = max(evaluated, key=lambda event: event.value, default=None)
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


def _missed(context: BundleContext) -> Violations:
    """Say that a run, which trained all its epochs (`ends-as-asked`), missed its target; a short
    entry was not to reach it."""
    if context.request.steps is not None and context.round.applies("short-length"):
        return
    values = [event.value for event in context.log.evaluations()]
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
        "target-accuracy",
        "A closed run reaches the workload's target accuracy; one that trained all its epochs"
        " without reaching it is valid, and counts as missed.",
        "The closed division compares time to target. Leaving out runs that miss it would make a"
        " lucky recipe look sure.",
        "keep the run: a missed target counts; or tune within the workload's ranges",
        (
            OfBundle("target-reached", _target, CLOSED),
            OfBundle("target-missed", _missed, CLOSED, Severity.WARNING),
        ),
    ),
)
