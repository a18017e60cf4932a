"""Evaluations: long enough for the samples that were evaluated."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

ORDER = 92  # with the plausibility of results

TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
# in 26 real runs a sample's evaluation took 0.22 or more of its training in a fast step: 10 times
# this limit
GENEROSITY = 16
# one step in this number is faster: other programs disturb most steps, and may spare a short
# evaluation
FAST_STEPS = 20
# of the suite's readers; on an accelerator, a batch costs at least as much as a smaller one
EVALUATION_BATCH = 250
FIX = "evaluate every sample with the model as it is; run again"


def _long_enough(context: BundleContext) -> Iterator[Violation]:
    """Check each rank's evaluations against the compute time of its fast steps."""
    import numpy as np  # start-up

    from suite.compliance.evidence import between  # start-up: loads numpy

    request = context.request
    for rank, steps in context.steps.by_rank():
        if not 0 <= rank < request.parallel.ranks:
            continue
        costs_s = np.sort(steps.compute_s / np.maximum(steps.samples, 1))
        fast_s = float(costs_s[len(costs_s) // FAST_STEPS])
        share = request.data.eval_samples / request.parallel.ranks
        batching = (
            1.0
            if request.accelerator == "cpu"
            else min(1.0, request.global_batch_size / request.parallel.ranks / EVALUATION_BATCH)
        )
        shortest_s = fast_s * share * batching / TRAINING_PER_FORWARD / GENEROSITY
        for start, _, evaluation_s in between(context.bundle.log(rank), "eval_start", "eval_stop"):
            if evaluation_s < shortest_s:
                yield Violation(
                    log_name(rank),
                    f"{shortest_s:.3g} s or more for {share:.0f} samples in the evaluation of epoch"
                    f" {start.epoch} on rank {rank}",
                    f"{evaluation_s:.3g} s",
                    start.line,
                )


RULES = (
    Rule(
        "evaluation-time",
        "An evaluation takes at least a 48th of the compute time of as many samples in a fast"
        " step.",
        "An accuracy needs a forward pass for every sample, a third of its training; the limit"
        " is a sixteenth of that. On an accelerator, where small mini-batches waste time, a"
        " batch of the evaluation is taken to cost as much as one of the training.",
        FIX,
        (OfBundle("evaluation-time", _long_enough, needs_split=True),),
    ),
)
