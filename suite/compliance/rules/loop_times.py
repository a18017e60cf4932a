"""Least times of the training loop: to fetch a mini-batch, to exchange gradients, to begin the next
step, to build a model."""

from collections.abc import Iterator

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation
from suite.compliance.updates import ends_update
from suite.compliance.values import is_number

ORDER = 96  # after the other rules about single steps

MIN_FETCH_S = 50e-9
"""For a sample, in the median step: to copy and convert 784 pixels at sixteen a nanosecond. Honest
runs without workers: 410 ns and more on a server's processor, 1,030 ns in mini-batches of 128."""
MIN_GAP_NS = 20.0
"""Between two steps, in the median: one reading of a clock. Honest runs: 1,160 ns and more, 730 ns
the shortest of all gaps."""
MIN_EXCHANGE_S = 1e-6
"""In the median step: two readings of a clock, a lock, and a call of MPI for each bucket. A rank
that comes last may find the sums complete, because a thread moves messages during the backward
pass: honest runs of two ranks took 4.5 microseconds in the median step, 3.5 the shortest of all."""
MIN_BUILD_S = 2e-9
"""For a parameter: to draw its initial weight and copy it to the model. Honest runs: 76 ns and
more."""
ON_TIME = (
    "take a time stamp before each fetch (start_ns in reference_impls/contract.py): what follows a"
    " step is no part of the next fetch"
)
STATE_WORKERS = (
    "where other threads or processes fetch, state their number with --workers, then run again"
)


def _fetch(context: BundleContext) -> Iterator[Violation]:
    """Check the fetches of a process that makes its mini-batches itself; batches of stall analyses
    are in memory."""
    import numpy as np  # start-up

    if context.request.loading.workers != 0 or context.request.batches != "read":
        return
    for rank, steps in context.steps.by_rank():
        sample_s = float(np.median(steps.fetch_stall_s / np.maximum(steps.samples, 1)))
        if sample_s < MIN_FETCH_S:
            yield Violation(
                STEPS,
                f"{MIN_FETCH_S * 1e9:g} ns or more to fetch a sample in the median step of rank"
                f" {rank}, without workers",
                f"{sample_s * 1e9:.3g} ns",
            )


def _apart(context: BundleContext) -> Iterator[Violation]:
    import numpy as np  # start-up

    for rank, steps in context.steps.by_rank():
        lengths_ns = np.nansum(np.round(steps.parts_s / SECONDS_PER_NS), axis=0)
        gaps_ns = (steps.start_ns[1:] - steps.start_ns[:-1] - lengths_ns[:-1])[
            steps.epoch[1:] == steps.epoch[:-1]
        ]
        if len(gaps_ns) and float(np.median(gaps_ns)) < MIN_GAP_NS:
            yield Violation(
                STEPS,
                f"{MIN_GAP_NS:g} ns or more from the end of a step to the next fetch, in the median"
                f" of rank {rank}",
                f"{np.median(gaps_ns):g} ns in {len(gaps_ns)} pairs of steps",
            )


def _exchange(context: BundleContext) -> Iterator[Violation]:
    """Check the waits for the suite's own all-reduce; a framework's own is not measured apart."""
    import numpy as np  # start-up

    parallel = context.request.parallel
    if parallel.ranks == 1 or parallel.collective != "mpi":
        return
    for rank, steps in context.steps.by_rank():
        wait_s = float(np.median(steps.communication_s[ends_update(context.request, steps)]))
        if wait_s < MIN_EXCHANGE_S:
            yield Violation(
                STEPS,
                f"{MIN_EXCHANGE_S * 1e6:g} microsecond or more to wait for the other ranks'"
                f" gradients in the median update of rank {rank}",
                f"{wait_s * 1e6:.3g} microseconds",
            )


def _build(context: BundleContext) -> Iterator[Violation]:
    start, stop, parameters = (
        context.log.first("init_start"),
        context.log.first("init_stop"),
        context.log.value("parameters"),
    )
    if (
        start is None
        or stop is None
        or start.mono_ns is None
        or stop.mono_ns is None
        or not is_number(parameters)
    ):
        return
    took_s, least_s = (stop.mono_ns - start.mono_ns) * SECONDS_PER_NS, MIN_BUILD_S * parameters
    if took_s < least_s:
        yield Violation(
            "log.txt",
            f"{least_s * 1e6:.3g} microseconds or more from init_start to init_stop, to draw"
            f" {parameters:g} initial weights",
            f"{took_s * 1e6:.3g} microseconds",
            stop.line,
        )


RULES = (
    Rule(
        "fetch-takes",
        "Without workers, fetching takes 50 ns a sample or more, in the median step of a closed"
        " run.",
        "A training process that makes its mini-batches itself copies, decodes and normalises"
        " every pixel. Less time means that the wait was counted as something else, or that"
        " others made them.",
        STATE_WORKERS,
        (OfBundle("fetch-takes", _fetch, divisions=CLOSED),),
    ),
    Rule(
        "steps-apart",
        "Between two steps of an epoch time passes: 20 ns or more in the median.",
        "The loop keeps a step's record before it reads the clock for the next fetch. Steps"
        " without a gap were moved together, or their overhead was counted as a part.",
        ON_TIME,
        (OfBundle("steps-apart", _apart),),
    ),
    Rule(
        "exchange-takes",
        "Every rank takes 1 microsecond or more to wait for the suite's all-reduce, in the"
        " median step, overlapped or not.",
        "Even where the sums are complete when the backward pass ends, MPI is asked about each"
        " of them.",
        TRAINING_LOOP,
        (OfBundle("exchange-takes", _exchange),),
    ),
    Rule(
        "initialisation-takes",
        "From init_start to init_stop passes as long as it takes to draw the initial weights: 2"
        " ns a parameter.",
        "The interval holds the building of the model. What is built, compiled or tuned before"
        " init_start is in no record.",
        "log init_start before the model is built and init_stop after it",
        (OfBundle("initialisation-takes", _build),),
    ),
)
