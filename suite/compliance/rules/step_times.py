"""Step times: those of a real machine, step by step, with nothing left out between the epochs."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS
from suite.catalog.frameworks import is_own
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.updates import ends_update

if TYPE_CHECKING:
    from suite.bundle.arrays import Values
    from suite.bundle.steps import StepRecords

ORDER = 93

# the coarsest clock of the boards: the generic timer of ARM ticks at 19.2 MHz or more
TICK_S = 1e-7
EQUAL_STEPS = 10  # equal step times of a rank: 4 at most, of 11,250, in 26 real runs
EQUAL_PER_TICK, MIN_SPREAD_S = 20.0, 4e-6  # times the number that the spread makes likely
# that are compared with one another; more show no more
MIN_STEPS, MAX_STEPS, MAX_EPOCHS = 100, 1000, 200
# 0.24 at most in 26 real runs, of differences limited to three interquartile ranges
MAX_CORRELATION, LIMIT = 0.9, 3.0
MAX_BETWEEN_NS = 1e-3  # 2e-7 at most in honest runs
MIN_SHARED, MAX_SHARED = 20, 0.1  # no such pair in honest runs of 30 to 4,690 steps
MAX_PAUSE_S, MAX_PAUSE_SHARE = 0.5, 0.01  # 0.1 ms at most in real runs on a busy machine
WITHOUT_PAUSE = (
    ("run_start", "epoch_start"),
    ("eval_stop", "epoch_start"),
    ("eval_stop", "run_stop"),
)


def _taken(context: BundleContext) -> Iterator[Violation]:
    """Check that no part of the steps is zero where it takes time."""
    parallel = context.request.parallel
    for rank, steps in context.steps.by_rank():
        idle = (steps.compute_s <= 0).nonzero()[0]
        if len(idle):
            observed = f"0 s in step {steps.step[idle[0]]} of rank {rank}, {len(idle)} such steps"
            yield Violation(
                STEPS, "compute time in every step, which has a loss", observed, TRAINING_LOOP
            )
        if _mostly_zero(steps.fetch_stall_s):
            yield Violation(
                STEPS,
                "some time to fetch a mini-batch",
                f"0 s in most steps of rank {rank}",
                TRAINING_LOOP,
            )
        if context.request.accelerator == "cuda" and _mostly_zero(steps.copy_s):
            yield Violation(
                STEPS,
                "some time to copy a mini-batch to the accelerator",
                f"0 s in most steps of rank {rank}",
                TRAINING_LOOP,
            )
        if (
            parallel.ranks > 1
            and not parallel.overlap
            and _mostly_zero(steps.communication_s[ends_update(context.request, steps)])
        ):
            yield Violation(
                STEPS,
                "some time to exchange gradients without overlap",
                f"0 s in most steps of rank {rank}",
                TRAINING_LOOP,
            )


def _mostly_zero(part_s: "Values") -> bool:
    return bool((part_s == 0).mean() > 0.5)


def _scatter(context: BundleContext) -> Iterator[Violation]:
    """Check how often the most frequent compute time of a rank occurs, and that of whole steps, to
    the nanosecond.

    One compute time in every step shows in the whole steps too, unless its parts were measured
    apart.
    """
    import numpy as np  # start-up

    for rank, steps in context.steps.by_rank():
        computing, whole = _too_often(steps.compute_s), _too_often(np.nansum(steps.parts_s, axis=0))
        if whole is None and computing is not None and computing[1] == len(steps):
            continue
        for name, often in (("in all", whole), ("of computing", computing)):
            if often is not None:
                observed = (
                    f"{often[0] * 1e3:.6f} ms {name} in {often[1]} of {len(steps)} steps of rank"
                    f" {rank}"
                )
                yield Violation(
                    STEPS, "step times that differ, as on a real machine", observed, TRAINING_LOOP
                )
                break


def _too_often(times_s: "Values") -> tuple[float, int] | None:
    """The most frequent time and how often it occurs, if that is more often than the spread of the
    times makes likely."""
    import numpy as np  # start-up

    from suite.compliance.evidence import spread  # start-up: loads numpy

    times_ns = np.round(times_s / SECONDS_PER_NS)
    distinct, counts = np.unique(times_ns, return_counts=True)
    most = counts.argmax()
    spread_s = max(spread(times_ns) * SECONDS_PER_NS, MIN_SPREAD_S)
    is_likely = counts[most] <= EQUAL_STEPS + EQUAL_PER_TICK * len(times_s) * TICK_S / spread_s
    return None if is_likely else (float(distinct[most]) * SECONDS_PER_NS, int(counts[most]))


def _own(context: BundleContext) -> Iterator[Violation]:
    """Check that no two epochs of a rank have the same course of compute times, scaled or not."""
    import numpy as np  # start-up

    for rank, steps in context.steps.by_rank():
        courses = {
            epoch: course
            for epoch, of_epoch in islice(steps.by_epoch(), MAX_EPOCHS)
            if (course := _course(of_epoch)) is not None
        }
        length = min(map(len, courses.values()), default=0)
        if len(courses) < 2 or length < MIN_STEPS:
            continue
        table = np.stack([course[:length] for course in courses.values()])
        table -= table.mean(axis=1, keepdims=True)
        table /= np.sqrt((table * table).sum(axis=1, keepdims=True))
        alike = np.argwhere(np.triu(table @ table.T, 1) > MAX_CORRELATION)
        if len(alike):
            first, second = (list(courses)[place] for place in alike[0])
            observed = (
                f"those of epoch {second} are those of epoch {first}, step by step, on rank {rank};"
                f" {len(alike)} such pairs of epochs"
            )
            yield Violation(
                STEPS, "step times of their own in every epoch", observed, TRAINING_LOOP
            )


def _course(steps: "StepRecords") -> "Values | None":
    """Relative change of the compute time from step to step, limited; None for too few steps or
    hardly any change. A drift leaves no trace."""
    import numpy as np  # start-up

    from suite.compliance.evidence import spread  # start-up: loads numpy

    compute_s = steps.compute_s[:MAX_STEPS]
    if len(compute_s) < MIN_STEPS or not (compute_s > 0).all() or spread(compute_s) < 10 * TICK_S:
        return None
    change = np.diff(np.log(compute_s))
    scale = spread(change)
    limited: Values = np.clip(change / scale, -LIMIT, LIMIT) if scale > 0 else change[:0]
    return limited if len(limited) and np.isfinite(limited).all() and limited.std() > 0 else None


def _no_pause(context: BundleContext) -> Iterator[Violation]:
    """Check that nothing takes time between an evaluation and the next epoch but what is not
    counted; events in between have their own rules."""
    # start-up: loads numpy
    from suite.metrics.counted_time import START, STOP, counted_s, uncounted_intervals

    epochs_s = [
        (steps.ends_s.max() - steps.start_ns.min() * SECONDS_PER_NS)
        for _, steps in context.steps.first_rank.by_epoch()
    ]
    longest_s = MAX_PAUSE_S + MAX_PAUSE_SHARE * float(max(epochs_s, default=0.0))
    uncounted = uncounted_intervals(context.log)
    for before, after in pairwise(
        event for event in context.log.events if event.key not in (START, STOP)
    ):
        if (
            (before.key, after.key) not in WITHOUT_PAUSE
            or before.mono_ns is None
            or after.mono_ns is None
        ):
            continue
        pause_s = counted_s((before.mono_ns, after.mono_ns), uncounted)
        if pause_s > longest_s:
            expected = f"{after.key} right after {before.key}, within {longest_s:.2f} s"
            yield Violation(
                "log.txt",
                expected,
                f"{pause_s:.2f} s in which nothing was recorded",
                TRAINING_LOOP,
                after.line,
            )


def _whole_ns(context: BundleContext) -> Iterator[Violation]:
    """Check that the times of the suite's own loop are differences of a clock of whole
    nanoseconds."""
    import numpy as np  # start-up

    if not is_own(context.request.framework):
        return
    for rank, steps in context.steps.by_rank():
        times_ns = steps.parts_s / SECONDS_PER_NS
        between = np.nanmax(abs(times_ns - np.round(times_ns)), axis=0)
        bad = (between > MAX_BETWEEN_NS).nonzero()[0]
        if len(bad):
            observed = (
                f"{between[bad[0]]:.3f} ns beside one in step {steps.step[bad[0]]} of rank {rank},"
                f" {len(bad)} such steps"
            )
            yield Violation(
                STEPS,
                "parts of whole nanoseconds, as the clock counts them",
                observed,
                TRAINING_LOOP,
            )


def _pairs(context: BundleContext) -> Iterator[Violation]:
    """Check that no two epochs or ranks share their steps' times, to the nanosecond, in whatever
    order."""
    import numpy as np  # start-up

    seen: dict[tuple[float, float], tuple[int, int]] = {}
    shared: Counter[tuple[tuple[int, int], tuple[int, int]]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for rank, of_rank in context.steps.by_rank():
        for epoch, steps in islice(of_rank.by_epoch(), MAX_EPOCHS):
            pairs = np.round(
                np.stack([steps.compute_s, steps.fetch_stall_s], axis=1) / SECONDS_PER_NS
            )[:MAX_STEPS]
            sizes[rank, epoch] = len(pairs)
            for pair in map(tuple, pairs.tolist()):
                first = seen.setdefault(pair, (rank, epoch))
                if first != (rank, epoch):
                    shared[first, (rank, epoch)] += 1
    for (first, second), count in shared.items():
        if count >= MIN_SHARED and count > MAX_SHARED * min(sizes[first], sizes[second]):
            names = " and ".join(f"epoch {epoch} of rank {rank}" for rank, epoch in (first, second))
            observed = (
                f"{count} steps with the same times of computing and fetching, to the nanosecond,"
                f" in {names}"
            )
            yield Violation(
                STEPS, "times of their own in every epoch and rank", observed, TRAINING_LOOP
            )
            return


RULES = (
    Rule(
        id="parts-taken",
        needs_split=True,
        sentence=(
            "Computing takes time in every step, fetching in most; so do copies to a GPU, and"
            " communication of several ranks without overlap."
        ),
        rationale=(
            "The loop reads the clock before and after each part, and even a call that does nothing"
            " takes longer than a tick."
        ),
        bundle_check=_taken,
    ),
    Rule(
        id="step-times-scatter",
        needs_split=True,
        sentence=(
            "No step time occurs, to the nanosecond, in more steps of a rank than ten, or twenty"
            " times as many as their spread makes likely."
        ),
        rationale=(
            "Interrupts, caches and clocks make every step differ. Means, limits and rounded times"
            " put one value into many steps."
        ),
        bundle_check=_scatter,
    ),
    Rule(
        id="step-times-own",
        needs_split=True,
        sentence="No two epochs of a rank have step times that rise and fall together.",
        rationale=(
            "What disturbs a step comes by chance: the changes from step to step of two epochs do"
            " not correlate (0.24 at most in real runs; the limit is 0.9). A drift within every"
            " epoch, from heat for example, does not count."
        ),
        bundle_check=_own,
    ),
    Rule(
        id="step-times-whole",
        sentence=(
            "The parts of a step that the suite's own loop timed are whole nanoseconds, to a"
            " thousandth."
        ),
        rationale=(
            "They are differences of a clock that counts nanoseconds. Times that were scaled are"
            " not."
        ),
        bundle_check=_whole_ns,
    ),
    Rule(
        id="step-times-pairs",
        needs_split=True,
        sentence=(
            "No two epochs, and no two ranks, share the times of computing and fetching of 20 steps"
            " and a tenth of theirs."
        ),
        rationale=(
            "Two times of one step to the nanosecond are not met again by chance: one epoch was"
            " made of another, or one rank of another."
        ),
        bundle_check=_pairs,
    ),
    Rule(
        id="no-pause",
        sentence=(
            "An epoch begins right after the evaluation before it: within half a second and a"
            " hundredth of an epoch."
        ),
        rationale=(
            "The loop does nothing in between. Work that was moved there leaves the epochs' times."
        ),
        bundle_check=_no_pause,
    ),
)
