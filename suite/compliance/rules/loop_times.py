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
    most, zero = "in at least half of the steps", "in more than half of the steps of rank"
    for rank, steps in context.steps.by_rank():
        idle = (steps.compute_s <= 0).nonzero()[0]
        if len(idle):
            yield Violation(
                STEPS,
                "a compute time above 0 s in every step, because every step computes a loss",
                f"{steps.compute_s[idle[0]]:g} s in step {steps.step[idle[0]]} of rank {rank};"
                f" {counted(len(idle), 'such step')}",
            )
        if _mostly_zero(steps.fetch_stall_s):
            yield Violation(
                STEPS, f"a fetch time above 0 s {most}", f"a fetch time of 0 s {zero} {rank}"
            )
        if context.request.accelerator == "cuda" and _mostly_zero(steps.copy_s):
            yield Violation(
                STEPS,
                f"a copy time above 0 s {most}, because mini-batches are copied to the accelerator",
                f"a copy time of 0 s {zero} {rank}",
            )
        if (
            parallel.ranks > 1
            and not parallel.overlap
            and _mostly_zero(steps.communication_s[ends_update(context.request, steps)])
        ):
            yield Violation(
                STEPS,
                f"a communication time above 0 s {most} that exchange gradients, because the run"
                " does not overlap the exchange with computing",
                f"a communication time of 0 s {zero} {rank} that exchange gradients",
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
                f"a median fetch time of at least {MIN_FETCH_S * 1e9:g} ns per sample on rank"
                f" {rank}, because the run has no workers",
                f"a median of {sample_s * 1e9:.3g} ns per sample",
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
                f"a median of at least {MIN_GAP_NS:g} ns from the end of a step to the start of the"
                f" next step on rank {rank}",
                f"a median of {np.median(gaps_ns):g} ns over {counted(len(gaps_ns), 'gap')}",
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
        "On each rank, every step has a compute time above zero, and at least half of the steps"
        " have a fetch time above zero. On a GPU, at least half of the steps have a copy time above"
        " zero. In a run of several ranks without overlap, at least half of the steps that exchange"
        " gradients have a communication time above zero. From the end of a step to the start of"
        " the next step of the same epoch, the median time is at least 20 ns. In a closed run"
        " without workers, the median fetch time is at least 50 ns per sample.",
        "The loop reads the clock before and after each part of a step, so a part that is carried"
        " out has a time above zero. The loop also stores a step's record before the next step"
        " starts, which takes more than 20 ns. Without workers, the training process copies,"
        " decodes and normalises every pixel itself, which takes more than 50 ns per sample. If a"
        " fetch is shorter, its time was counted elsewhere, or other processes made the"
        " mini-batches.",
        "take a time stamp before each fetch (start_ns in reference_impls/contract.py) and after"
        " each part; if other processes fetch, state their number with --workers",
        (
            OfBundle("parts-taken", _taken, needs_split=True),
            OfBundle("fetch-takes", _fetch, CLOSED),
            OfBundle("steps-apart", _gaps_between_steps),
        ),
    ),
    Rule(
        "evaluation-time",
        "A rank's fast training step is the one at the 5 % quantile of compute time per sample. On"
        " each rank, an evaluation takes at least a 48th of the compute time that such steps need"
        f" for as many samples. On an accelerator, if a rank's mini-batch has fewer than"
        f" {EVALUATION_BATCH} samples, the limit is lower in proportion to this number.",
        "An evaluation needs a forward pass for every sample, which is a third of a training"
        " step's work; the limit is a sixteenth of this third. In real runs, evaluations took at"
        " least ten times as long as the limit. On an accelerator, a small training mini-batch"
        " leaves the device partly idle, so a forward pass of"
        f" {EVALUATION_BATCH} evaluation samples can be as fast as one of this mini-batch.",
        "evaluate every sample with the whole model, and run again",
        (OfBundle("evaluation-time", _long_enough, needs_split=True),),
    ),
)
