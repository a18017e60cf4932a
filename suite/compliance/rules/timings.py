"""Asynchronous timing: whether the training loop need not wait for the device, and what its step
records have."""

import numpy as np

from reference_impls.contract import ASYNCHRONOUS, WAITING
from suite.bundle.layout import PARTS, STEPS
from suite.catalog.timings import Timing
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.requested_timings import timings_of
from suite.compliance.rule import (
    BundleContext,
    OfBundle,
    OfRequest,
    RequestContext,
    Rule,
    Violation,
    Violations,
)
from suite.files.counted import counted

ORDER = 58  # before the rules about step times


def _check_timing(context: RequestContext) -> Violations:
    if context.request.timing == ASYNCHRONOUS and Timing.ASYNCHRONOUS not in timings_of(
        context.request
    ):
        yield Violation(context.file, f"timing = {WAITING}", context.request.timing)


def _agrees(context: BundleContext) -> Violations:
    """Check that no step of an asynchronous run has a time of a part that such a loop cannot take;
    missing parts of others are in `steps-in-time`."""

    if not context.is_asynchronous:
        return
    for rank, steps in context.steps.by_rank():
        for name, part_s in zip(PARTS[1:], steps.parts_s[1:], strict=True):
            taken = np.flatnonzero(~np.isnan(part_s))
            if len(taken):
                yield Violation(
                    STEPS,
                    f"no values of {name} on rank {rank}, because in {ASYNCHRONOUS} timing the loop"
                    " does not wait for the device within an epoch",
                    f"{part_s[taken[0]]:.3g} s in step {steps.step[taken[0]]};"
                    f" {counted(len(taken), 'such step')}",
                    fix=TRAINING_LOOP,
                )


RULES = (
    Rule(
        "asynchronous-timing",
        "In asynchronous timing, the training loop waits for the device only at the end of an"
        " epoch. A run in this timing has one rank, no memory budget, and an accelerator for which"
        " the implementation supports this timing. The run's step records have fetch times, but no"
        " times of copies, computing or communication.",
        "On a CPU, the loop has no device to wait for; with several ranks or a memory budget, the"
        " loop waits in every step. A loop that does not wait knows when a step was submitted, not"
        " when the step was computed.",
        "run again without --timing",
        (
            OfRequest("timing-possible", _check_timing),
            OfBundle("timing-agrees", _agrees),
        ),
    ),
)
