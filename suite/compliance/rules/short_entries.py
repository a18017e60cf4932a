"""Closed runs that stop before their target, on boards that need days for the whole schedule."""

from reference_impls.updates import steps_per_epoch
from suite.catalog.scoring import load_scoring
from suite.compliance.rule import (
    CLOSED,
    BundleContext,
    OfBundle,
    OfRequest,
    RequestContext,
    Rule,
    Violation,
    Violations,
)
from suite.files.counted import counted

ORDER = 21  # after what a closed run trains


def _length(context: RequestContext) -> Violations:
    request, short = context.request, load_scoring().short
    per_epoch = steps_per_epoch(request)
    if request.steps is not None and not short.epochs(request.steps, per_epoch, request.epochs):
        yield Violation(
            context.file,
            f"no limit of steps, or a limit of {short.min_epochs} to {request.epochs - 1} whole"
            f" epochs, of {counted(per_epoch, 'step')} each",
            f"a limit of {counted(request.steps, 'step')}",
        )


def _needed(context: BundleContext) -> Violations:
    """Check that the whole schedule takes long, by the time of the run's own epochs."""
    request, target = context.request, context.request.target_accuracy
    min_whole_s, epochs = load_scoring().short.min_whole_s, len(context.log.finished_epochs())
    reached = any(
        target is not None and event.value >= target for event in context.log.evaluations()
    )
    if request.steps is None or reached or context.window is None or not epochs:
        return
    whole_s = context.run_s / epochs * request.epochs
    if whole_s < min_whole_s:
        yield Violation(
            "log.txt",
            f"a schedule of at least {min_whole_s / 3600:g} h, or training without --short",
            f"a schedule of {whole_s / 3600:.2g} h: {counted(request.epochs, 'epoch')}, each as"
            f" long as the mean of this run's {epochs}",
            fix="run again without --short",
        )


RULES = (
    Rule(
        "short-entry",
        "If the workload's whole schedule takes at least a day on the device, a closed run may"
        " stop before it reaches its target (`--short EPOCHS`). Such a run trains a whole number of"
        " epochs, at least four.",
        "Without --short, a board that needs days for one training could never be ranked. The"
        " entry's epochs and evaluations are measured. The reference's runs say how many epochs a"
        " training needs, and the entry's losses must match the losses of those runs.",
        "run again with `--short EPOCHS`, at least four, or without --short and --steps",
        (
            OfRequest("short-length", _length, CLOSED),
            OfBundle("short-needed", _needed, CLOSED),
        ),
    ),
)
