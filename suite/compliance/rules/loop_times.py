"""Least times: of the parts of a step, and of an evaluation."""

import numpy as np

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.arrays import Values
from suite.bundle.layout import STEPS
from suite.compliance.evidence import event_pairs
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.shares import samples_by_rank
from suite.compliance.updates import ends_update
from suite.files.counted import counted

ORDER = 92  # with the plausibility of results

MIN_FETCH_S = 50e-9
"""For a sample, in the median step: to copy and convert 784 pixels at sixteen a nanosecond. Honest
runs without workers: 410 ns and more on a server's processor, 1,030 ns in mini-batches of 128."""
MIN_GAP_NS = 20.0
"""Between two steps, in the median: one reading of a clock. Honest runs: 1,160 ns and more, 730 ns
the shortest of all gaps."""
TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
# in 26 real runs a sample's evaluation took 0.22 or more of its training in a fast step: 10 times
# this limit
GENEROSITY = 16
# one step in this number is faster: other programs disturb most steps, and may spare a short
# evaluation
FAST_STEPS = 20
# of the suite's readers; on an accelerator, a batch costs at least as much as a smaller one
EVALUATION_BATCH = 250


def _taken(context: BundleContext) -> Violations:
    """Check that no part of the steps is zero where it takes time."""
    parallel = context.request.parallel
    for rank, steps in context.steps.by_rank():
        idle = (steps.compute_s <= 0).nonzero()[0]
        if len(idle):
            yield Violation(
                STEPS,
                "compute time in every step, because every step computes a loss",
                f"0 s in step {steps.step[idle[0]]} of rank {rank};"
                f" {counted(len(idle), 'such step')}",
            )
        if _mostly_zero(steps.fetch_stall_s):
            yield Violation(
                STEPS, "some time to fetch a mini-batch", f"0 s in most steps of rank {rank}"
            )
        if context.request.accelerator == "cuda" and _mostly_zero(steps.copy_s):
            yield Violation(
                STEPS,
                "some time to copy a mini-batch to the accelerator",
                f"0 s in most steps of rank {rank}",
            )
        if (
            parallel.ranks > 1
            and not parallel.overlap
            and _mostly_zero(steps.communication_s[ends_update(context.request, steps)])
        ):
            yield Violation(
                STEPS,
                "some time to exchange gradients, because the run has no overlap",
                f"0 s in most steps of rank {rank}",
            )


def _mostly_zero(part_s: "Values") -> bool:
    return bool((part_s == 0).mean() > 0.5)


def _fetch(context: BundleContext) -> Violations:
    """Check the fetches of a process that makes its mini-batches itself; batches of stall analyses
    are in memory."""

    if context.request.loading.workers != 0 or context.request.batches != "read":
        return
    for rank, steps in context.steps.by_rank():
        sample_s = float(np.median(steps.fetch_stall_s / np.maximum(steps.samples, 1)))
        if sample_s < MIN_FETCH_S:
            yield Violation(
                STEPS,
                f"at least {MIN_FETCH_S * 1e9:g} ns per sample for a fetch without workers, in the"
                f" median step of rank {rank}",
                f"{sample_s * 1e9:.3g} ns",
            )


def _gaps_between_steps(context: BundleContext) -> Violations:

    for rank, steps in context.steps.by_rank():
        lengths_ns = np.nansum(np.round(steps.parts_s / SECONDS_PER_NS), axis=0)
        gaps_ns = (steps.start_ns[1:] - steps.start_ns[:-1] - lengths_ns[:-1])[
            steps.epoch[1:] == steps.epoch[:-1]
        ]
        if len(gaps_ns) and float(np.median(gaps_ns)) < MIN_GAP_NS:
            yield Violation(
                STEPS,
                f"at least {MIN_GAP_NS:g} ns from the end of a step to the next fetch, in the"
                f" median over the steps of rank {rank}",
                f"a median of {np.median(gaps_ns):g} ns over {len(gaps_ns)} pairs of steps",
            )


def _long_enough(context: BundleContext) -> Violations:
    """Check each rank's evaluations against the compute time of its fast steps."""

    request = context.request
    shares = samples_by_rank(context, request.data.eval_samples)
    batches = samples_by_rank(context, request.global_batch_size)
    for rank, steps in context.steps.by_rank():
        if not 0 <= rank < request.parallel.ranks:
            continue
        costs_s = np.sort(steps.compute_s / np.maximum(steps.samples, 1))
        fast_s = float(costs_s[len(costs_s) // FAST_STEPS])
        share, batch = shares[rank], batches[rank]
        batching = 1.0 if request.accelerator == "cpu" else min(1.0, batch / EVALUATION_BATCH)
        shortest_s = fast_s * share * batching / TRAINING_PER_FORWARD / GENEROSITY
        for start, _, evaluation_s in event_pairs(
            context.bundle.log(rank), "eval_start", "eval_stop"
        ):
            if evaluation_s < shortest_s:
                yield Violation(
                    log_name(rank),
                    f"at least {shortest_s:.3g} s for {share} samples in the evaluation of"
                    f" epoch {start.epoch} on rank {rank}",
                    f"{evaluation_s:.3g} s",
                    start.line,
                )


RULES = (
    Rule(
        "parts-taken",
        "Every step has a compute time above zero. Most steps have a time above zero for fetching,"
        " for copying (on a GPU) and for communication (with several ranks and no overlap). The"
        " median gap between successive steps of an epoch is at least 20 ns. In a closed run"
        " without workers, the median fetch takes at least 50 ns per sample.",
        "The loop reads the clock before and after each part, and stores a step's record before"
        " the next fetch. Without workers, the training process copies, decodes and normalises"
        " every pixel itself, which takes more than 50 ns per sample. Shorter fetches show that"
        " their time was counted elsewhere, or that other processes made the mini-batches.",
        "take a time stamp before each fetch (start_ns in reference_impls/contract.py) and after"
        " each part; with --workers, give the number of processes that fetch",
        (
            OfBundle("parts-taken", _taken, needs_split=True),
            OfBundle("fetch-takes", _fetch, CLOSED),
            OfBundle("steps-apart", _gaps_between_steps),
        ),
    ),
    Rule(
        "evaluation-time",
        "An evaluation takes at least a 48th of the compute time that a rank's fast training steps"
        " (the 5 % quantile of the time per sample) need for as many samples. On an accelerator,"
        f" a rank's mini-batch of fewer than {EVALUATION_BATCH} samples lowers the limit in"
        " proportion.",
        "An evaluation needs a forward pass for every sample, which is a third of a training"
        " step's work; the limit is a sixteenth of this third. On an accelerator, small"
        " mini-batches waste time, so a whole evaluation batch can take as little time as a"
        " smaller training batch.",
        "evaluate every sample with the whole model, and run again",
        (OfBundle("evaluation-time", _long_enough, needs_split=True),),
    ),
)
