"""Submissions: convergence against the reference points."""

from collections.abc import Iterator

from suite.catalog.reference_points import frozen_points
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext
from suite.metrics.convergence import LEVEL, compare, show_epochs

ORDER = 107  # it compares whole entries


def _converges(context: SubmissionContext) -> Violations:
    yield from (violation for violation, as_reference in _faster(context) if as_reference)


def _converges_tuned(context: SubmissionContext) -> Violations:
    yield from (violation for violation, as_reference in _faster(context) if not as_reference)


def _faster(context: SubmissionContext) -> Iterator[tuple[Violation, bool]]:
    """Closed entries that need significantly fewer epochs than the reference, and whether they have
    the reference's learning rate."""

    for (workload, framework, _), runs in context.entries().items():
        request = runs[0].request
        epochs = [run.epochs_to_target for run in runs if run.epochs_to_target is not None]
        for point in frozen_points(context.round, workload):
            if (
                request.get("division") != "closed"
                or not epochs
                or request.get("global_batch_size") != point.batch_size
            ):
                continue
            comparison = compare(point.epochs, epochs)
            if comparison.p_faster <= LEVEL:
                expected = (
                    "no run to reach the target"
                    if point.expected_epochs is None
                    else f"about {point.expected_epochs:.3g} epochs to the target"
                )
                observed = f"{', '.join(map(show_epochs, epochs))} (p = {comparison.p_faster:.2g})"
                rate = request.get("optimizer", {}).get("base_learning_rate")
                yield (
                    Violation(f"{workload}/{framework}", expected, observed),
                    rate == point.base_learning_rate,
                )


RULES = (
    Rule(
        "submission-convergence",
        "A closed entry needs no fewer epochs to the target than the reference at its batch"
        " size and learning rate, beyond chance (p 0.01); one that needs fewer at another learning"
        " rate is reviewed.",
        "The same mathematics converges alike; an entry that needs fewer epochs computes"
        " something else. A better learning rate within the range is allowed, and becomes a"
        " reference point.",
        "explain the convergence in the review; further runs show whether it was chance",
        (
            OfSubmission("submission-convergence", _converges, CLOSED),
            OfSubmission(
                "submission-convergence-tuned", _converges_tuned, CLOSED, Severity.WARNING
            ),
        ),
    ),
)
