"""The end of a run: as asked, with the status that follows; and epochs that their steps fill."""

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import numbers, seconds

ORDER = 40  # after the order of epochs

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
            f"the run to end with epoch {reached[0].epoch}, which reached the target",
            f"epochs up to {last}",
            reached[0].line,
        )
    before = context.epochs_before * -(-request.data.train_samples // request.global_batch_size)
    limited = request.steps is not None and before + len(context.steps.first_rank) == request.steps
    if not reached and not limited and last < request.epochs:
        yield Violation(
            "log.txt",
            f"training until the target or epoch {request.epochs}",
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
    if stop.metadata.get("status") != expected:
        yield Violation(
            "log.txt",
            f"status {expected!r}, which follows from the evaluations",
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
            f"fetch, copy, compute and communication to take {MIN_FILLED_SHARE:.0%} of every epoch"
            " or more",
            f"less in the epochs {numbers(shares)} of {len(stops)}, least in epoch {worst}:"
            f" {seconds(parts_s)} of {seconds(whole_s)} ({share:.0%})",
        )


RULES = (
    Rule(
        "ends-as-asked",
        "A run ends with the evaluation that reaches the target, else with its last epoch or"
        " its step limit. Its status is success if an evaluation reached the target, else aborted.",
        "A raised accuracy would have ended training earlier; a lowered one would have"
        " continued it.",
        TRAINING_LOOP,
        (
            OfBundle("ends-as-asked", _ends_as_requested),
            OfBundle("status-follows", _status),
        ),
    ),
    Rule(
        "epoch-filled",
        "Fetch, copy, compute and communication take nine tenths of an epoch or more.",
        "The remainder is overhead without an explanation, or somebody made the parts smaller.",
        "find out what took the remaining time (other programs, swapping, logging)",
        (OfBundle("epoch-filled", _filled, needs_split=True),),
    ),
)
