"""How a run ends: where the request says, its last epoch, its accuracy and its target."""

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS
from suite.catalog.scoring import load_scoring
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import numbers_text, seconds_text
from suite.files.counted import counted

ORDER = 70  # after the records that results follow from


def _accuracy(context: BundleContext) -> Violations:
    old = context.request.old_task
    of_task = {"eval_accuracy": context.request.data.eval_samples}
    of_task |= {} if old is None else {"old_task_accuracy": old.eval_samples}
    found = ((event, of_task[key]) for key in of_task for event in context.log.all(key))
    for event, samples in found:
        correct = event.metadata.get("correct")
        if (
            not isinstance(correct, int)
            or not 0 <= correct <= samples
            or event.value != correct / samples
        ):
            observed = f"{event.value!r} with {correct!r} correct"
            fix = (
                "run again with an implementation that logs every accuracy with its number of"
                " correct samples"
            )
            yield Violation(
                "log.txt",
                f"an accuracy of {event.key if event.epoch is None else f'epoch {event.epoch}'}"
                f" that is the number of correct samples divided by {samples}",
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
                f"{best_of.value:.4f} at best, in epoch {best_of.epoch}"
                f" ({counted(len(evaluated), 'evaluation')} in all)"
            )
        )
        yield Violation("log.txt", f"an accuracy of at least {target}", best)


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
            f"an accuracy of at least {target}: only then does the run have a time to target",
            f"{max(values):.4f} at best",
            fix="keep the run: it is valid, and counts as a run that missed the target; an entry"
            f" with at least {limits.min_planned_runs} planned runs is ranked if at least"
            f" {limits.min_share_reached:.0%} of them reach the target",
        )


# 0.988 or more in 26 real runs, steps of a millisecond among them: the rest is the loop's own lines
MIN_FILLED_SHARE = 0.9


def _ends_as_requested(context: BundleContext) -> Violations:
    """Check that the run ends at the target, the last epoch or the step limit, whichever comes
    first."""
    request, epochs = context.request, context.log.finished_epochs()
    target, stop = request.target_accuracy, context.log.first("run_stop")
    reached = [
        event for event in context.log.evaluations() if target is not None and event.value >= target
    ]
    last = max(epochs, default=context.epochs_before)
    if reached and reached[0].epoch != last:
        yield Violation(
            "log.txt",
            f"epoch {reached[0].epoch} as the last epoch, because it reached the target",
            f"epoch {last}",
            reached[0].line,
        )
    before = context.epochs_before * -(-request.data.train_samples // request.global_batch_size)
    limited = request.steps is not None and before + len(context.steps.first_rank) == request.steps
    if not reached and not limited and last < request.epochs:
        ends = [
            *(["the target"] if target is not None else []),
            *([f"step {request.steps}"] if request.steps is not None else []),
            f"epoch {request.epochs}",
        ]
        yield Violation(
            "log.txt",
            f"training until {' or '.join(ends)}",
            f"the run ended after epoch {last}",
            None if stop is None else stop.line,
        )


def _status(context: BundleContext) -> Violations:
    stop = context.log.first("run_stop")
    if stop is None:
        return
    target = context.request.target_accuracy
    reached = any(
        target is not None and event.value >= target for event in context.log.evaluations()
    )
    expected = "success" if target is None or reached else "aborted"
    why = f"{'an' if reached else 'no'} evaluation reached the target"
    why = "the run has no target" if target is None else why
    if stop.metadata.get("status") != expected:
        yield Violation(
            "log.txt",
            f"status {expected!r}, because {why}",
            repr(stop.metadata.get("status")),
            stop.line,
        )


def _filled(context: BundleContext) -> Violations:
    """Check the epochs of rank 0; one finding for all of them."""
    stops = {event.epoch: event.mono_ns for event in context.log.all("epoch_stop")}
    shares: dict[int, tuple[float, float, float]] = {}
    for epoch, steps in context.steps.first_rank.by_epoch():
        stop_ns = stops.get(epoch)
        whole_s = 0.0 if stop_ns is None else (stop_ns - int(steps.start_ns[0])) * SECONDS_PER_NS
        parts_s = float(steps.parts_s.sum())
        if whole_s > 0 and parts_s < MIN_FILLED_SHARE * whole_s:
            shares[epoch] = (parts_s / whole_s, parts_s, whole_s)
    if shares:
        worst, (share, parts_s, whole_s) = min(shares.items(), key=lambda item: item[1])
        yield Violation(
            STEPS,
            "fetch, copy, compute and communication together to take at least"
            f" {MIN_FILLED_SHARE:.0%} of every epoch",
            f"less in {len(shares)} of {counted(len(stops), 'epoch')} ({numbers_text(shares)}),"
            f" least in epoch {worst}: {seconds_text(parts_s)} of {seconds_text(whole_s)}"
            f" ({share:.0%})",
        )


RULES = (
    Rule(
        "accuracy-counts",
        "Every logged accuracy is the logged number of correct samples divided by the size of"
        " the evaluation set.",
        "Rounded and invented accuracies do not equal this quotient.",
        "run again with an implementation that logs every accuracy with its number of correct"
        " samples",
        (OfBundle("accuracy-counts", _accuracy),),
    ),
    Rule(
        "target-accuracy",
        "A closed run reaches the workload's target accuracy. A run that trained all its epochs"
        " without reaching the target gets a warning: it is valid, and counts as a run that missed"
        " the target. In round v0.1, such a run is not valid.",
        "The closed division compares time to target. Leaving out runs that miss the target would"
        " make a lucky recipe look reliable.",
        "in round v0.1, tune within the workload's ranges, and run again; in later rounds, keep the"
        " run: it is valid, and counts as a run that missed the target",
        (
            OfBundle("target-reached", _target, CLOSED),
            OfBundle("target-missed", _missed, CLOSED, Severity.WARNING),
        ),
    ),
    Rule(
        "ends-as-asked",
        "A run ends with the evaluation that reaches the target. If none reaches it, the run ends"
        " with its last epoch or at its step limit. Its status is success if an evaluation reached"
        " the target or the run has no target, otherwise aborted.",
        "The suite's training loop stops in exactly these cases. If a log goes on after an accuracy"
        " that reached the target, or ends early without such an accuracy, somebody may have edited"
        " an accuracy.",
        TRAINING_LOOP,
        (
            OfBundle("ends-as-asked", _ends_as_requested),
            OfBundle("status-follows", _status),
        ),
    ),
    Rule(
        "epoch-filled",
        "On rank 0, fetch, copy, compute and communication together take at least nine tenths of"
        " the time from the start of each epoch's first step to its epoch_stop.",
        "If more than a tenth of an epoch remains, it is unexplained overhead, or somebody lowered"
        " the times of these parts.",
        "find out what took the remaining time (other programs, swapping, logging)",
        (OfBundle("epoch-filled", _filled, needs_split=True),),
    ),
)
