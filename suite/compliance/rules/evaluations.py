"""Evaluations: long enough for the samples that were evaluated."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from suite.compliance.faults.fault import both
from suite.compliance.faults.step_edits import evaluate_in
from suite.compliance.rule import BundleContext, Rule, Violation

ORDER = 92  # with the plausibility of results

TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
GENEROSITY = 16  # a sample's evaluation took 0.21 to 0.62 of its training in real runs: 10 times this limit
EVALUATION_BATCH = 250  # of the suite's readers; on an accelerator, a batch costs at least as much as a smaller one
FIX = "evaluate every sample with the model as it is; run again"


def _long_enough(context: BundleContext) -> Iterator[Violation]:
    """Check each rank's evaluations against the compute time of its fastest epoch."""
    from suite.compliance.evidence import between  # start-up: loads numpy

    request = context.request
    for rank, steps in context.steps.by_rank():
        if not 0 <= rank < request.parallel.ranks:
            continue
        costs_s = [of_epoch.sum_s("compute_s") / float(of_epoch.samples.sum()) for _, of_epoch in steps.by_epoch() if of_epoch.samples.sum() > 0]
        share = request.data.eval_samples / request.parallel.ranks
        batching = 1.0 if request.accelerator == "cpu" else min(1.0, request.global_batch_size / request.parallel.ranks / EVALUATION_BATCH)
        shortest_s = min(costs_s, default=0.0) * share * batching / TRAINING_PER_FORWARD / GENEROSITY
        for start, _, evaluation_s in between(context.bundle.log(rank), "eval_start", "eval_stop"):
            if evaluation_s < shortest_s:
                expected = f"{shortest_s:.3g} s or more for {share:.0f} samples in the evaluation of epoch {start.epoch} on rank {rank}"
                yield Violation(log_name(rank), expected, f"{evaluation_s:.3g} s", FIX, start.line)


RULES = (
    Rule(
        id="evaluation-time",
        sentence="An evaluation takes at least a 48th of the compute time of as many samples in the fastest epoch.",
        rationale="An accuracy needs a forward pass for every sample, a third of its training; the limit is a sixteenth of that. On an accelerator, "
        "where small mini-batches waste time, a batch of the evaluation is taken to cost as much as one of the training.",
        bundle_check=_long_enough,
        faults=(
            *both("evaluations of a millisecond", evaluate_in(0.001)),
            *both("evaluations of rank 0 of a millisecond", evaluate_in(0.001), ranks=2),
        ),
    ),
)
