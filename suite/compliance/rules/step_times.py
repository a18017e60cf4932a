"""Step times: those of a real machine, step by step."""

from collections import Counter
from collections.abc import Collection
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Values
from suite.bundle.layout import STEPS
from suite.bundle.steps import StepRecords
from suite.catalog.frameworks import is_own
from suite.compliance.evidence import interquartile_range
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted

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
# halves of epochs that are compared, and their steps: more show no more
MAX_BLOCKS, BLOCK_STEPS = 40, 1000
MIN_SHARED_IN_HALVES, TIMES_LIKELY = 30, 6.0  # 5 at most, and 1.8 times, in the same runs


def _scatter(context: BundleContext) -> Violations:
    """Check how often the most frequent compute time of a rank occurs, and that of whole steps, to
    the nanosecond: in all its steps, and in those of each epoch."""

    for rank, steps in context.steps.by_rank():
        epochs = (of_epoch for _, of_epoch in islice(steps.by_epoch(), MAX_EPOCHS))
        found = next(filter(None, map(_alike, chain([steps], epochs))), None)
        if found is not None:
            most, observed = found
            yield Violation(
                STEPS,
                f"at most {counted(most, 'step')} with the same time, to the nanosecond",
                f"{observed} steps of rank {rank}",
            )


def _alike(steps: "StepRecords") -> tuple[int, str] | None:
    """How often a time may occur, and the time that occurs more often. One compute time in every
    step shows in the whole steps too, unless its parts were measured apart."""

    computing, whole = _too_often(steps.compute_s), _too_often(np.nansum(steps.parts_s, axis=0))
    if whole is None and computing is not None and computing[1] == len(steps):
        return None
    for name, often in (("for the whole step", whole), ("for computing", computing)):
        if often is not None:
            time_s, count, most = often
            return most, f"{time_s * 1e3:.6f} ms {name} in {count} of {len(steps)}"
    return None


def _too_often(times_s: "Values") -> tuple[float, int, int] | None:
    """The most frequent time, how often it occurs and how often it may, if that is more often than
    the spread of the times makes likely, or the other times near it: on a busy machine many steps
    may be long, and the others hardly differ."""

    times_ns = np.round(times_s / SECONDS_PER_NS)
    distinct, counts = np.unique(times_ns, return_counts=True)
    most = counts.argmax()
    spread_s = max(interquartile_range(times_ns) * SECONDS_PER_NS, MIN_SPREAD_S)
    near = abs(times_ns - distinct[most]) * SECONDS_PER_NS <= MIN_SPREAD_S / 2
    density = max(len(times_s) / spread_s, (near.sum() - counts[most]) / MIN_SPREAD_S)
    limit = EQUAL_STEPS + EQUAL_PER_TICK * TICK_S * density
    if counts[most] <= limit:
        return None
    return float(distinct[most]) * SECONDS_PER_NS, int(counts[most]), int(limit)


def _whole_ns(context: BundleContext) -> Violations:
    """Check that the times of the suite's own loop are differences of a clock of whole
    nanoseconds."""

    if not is_own(context.request.framework):
        return
    for rank, steps in context.steps.by_rank():
        times_ns = steps.parts_s / SECONDS_PER_NS
        between = np.nanmax(abs(times_ns - np.round(times_ns)), axis=0)
        bad = (between > MAX_BETWEEN_NS).nonzero()[0]
        if len(bad):
            yield Violation(
                STEPS,
                f"step parts that last a whole number of nanoseconds (± {MAX_BETWEEN_NS:g} ns),"
                " because the clock counts nanoseconds",
                f"in step {steps.step[bad[0]]} of rank {rank}, a part that is"
                f" {between[bad[0]]:.3f} ns off a whole number; {counted(len(bad), 'such step')}",
            )


def _check_repeated_courses(context: BundleContext) -> Violations:
    """Check that no two epochs of a rank have the same course of compute times, scaled or not."""

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
        correlations = np.triu(table @ table.T, 1)
        alike = np.argwhere(correlations > MAX_CORRELATION)
        if len(alike):
            first, second = (list(courses)[place] for place in alike[0])
            yield Violation(
                STEPS,
                "a correlation of at most"
                f" {MAX_CORRELATION:g} between two epochs in the changes of compute time from step"
                " to step",
                f"a correlation of {correlations[tuple(alike[0])]:.3f} between the epochs {first}"
                f" and {second} of rank {rank}; {counted(len(alike), 'such pair')} of epochs",
            )


def _course(steps: "StepRecords") -> "Values | None":
    """Relative change of the compute time from step to step, limited; None for too few steps or
    hardly any change. A drift leaves no trace."""

    compute_s = steps.compute_s[:MAX_STEPS]
    if (
        len(compute_s) < MIN_STEPS
        or not (compute_s > 0).all()
        or interquartile_range(compute_s) < 10 * TICK_S
    ):
        return None
    change = np.diff(np.log(compute_s))
    scale = interquartile_range(change)
    limited: Values = np.clip(change / scale, -LIMIT, LIMIT) if scale > 0 else change[:0]
    return limited if len(limited) and np.isfinite(limited).all() and limited.std() > 0 else None


def _pairs(context: BundleContext) -> Violations:
    """Check that no two epochs or ranks share their steps' times, to the nanosecond, in whatever
    order."""

    pairs_of = {
        (rank, epoch): np.round(
            np.stack([steps.compute_s, steps.fetch_stall_s], axis=1)[:MAX_STEPS] / SECONDS_PER_NS
        )
        for rank, of_rank in context.steps.by_rank()
        for epoch, steps in islice(of_rank.by_epoch(), MAX_EPOCHS)
    }
    seen: dict[tuple[float, float], tuple[int, int]] = {}
    shared: Counter[tuple[tuple[int, int], tuple[int, int]]] = Counter()
    for (place, pairs), repeats in zip(pairs_of.items(), _repeated(pairs_of.values()), strict=True):
        for pair in map(tuple, pairs[repeats].tolist()):
            first = seen.setdefault(pair, place)
            if first != place:
                shared[first, place] += 1
    for (first, second), count in shared.items():
        shorter = min(len(pairs_of[first]), len(pairs_of[second]))
        most = max(MIN_SHARED - 1, int(MAX_SHARED * shorter))
        if count > most:
            names = " and ".join(f"epoch {epoch} of rank {rank}" for rank, epoch in (first, second))
            yield Violation(
                STEPS,
                f"at most {most} steps of an epoch with the same compute time and the same fetch"
                " time as steps of another epoch",
                f"{count} steps with the same compute time and the same fetch time, to the"
                f" nanosecond, in {names}",
            )
            return


def _repeated(tables: Collection[Values]) -> list[npt.NDArray[np.bool_]]:
    """Of each table, the rows of two values that occur more than once in all of them: few, in an
    honest run."""
    if not tables:
        return []
    values = np.concatenate([table[:, 0] + 1j * table[:, 1] for table in tables])
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum([len(table) for table in tables])
    return np.split(counts[places] > 1, ends[:-1])


def _halves_own(context: BundleContext) -> Violations:
    """Check that no half of an epoch shares more compute times with another half, to the
    nanosecond, than both have twice themselves."""

    for rank, of_rank in context.steps.by_rank():
        blocks = _halves(of_rank)
        if len(blocks) < 2:
            continue
        shared, likely = _coincidences([times for _, times in blocks])
        most = MIN_SHARED_IN_HALVES + TIMES_LIKELY * likely
        suspicious = np.argwhere(np.triu(shared > most, 1))
        if len(suspicious):
            first, second = suspicious[np.argmax([shared[one, other] for one, other in suspicious])]
            names = " and ".join(
                f"the {half} half of epoch {epoch}"
                for epoch, half in (blocks[first][0], blocks[second][0])
            )
            yield Violation(
                STEPS,
                f"at most {int(most[first, second])} pairs of equal compute times between {names}"
                f" of rank {rank}",
                f"{shared[first, second]:.0f} pairs of equal compute times, to the nanosecond;"
                f" {likely[first, second]:.0f} expected by chance",
            )


def _halves(steps: "StepRecords") -> "list[tuple[tuple[int, str], Values]]":
    """Name and compute times, in whole ns, of both halves of the first epochs."""

    found: list[tuple[tuple[int, str], Values]] = []
    for epoch, of_epoch in steps.by_epoch():
        times_ns = np.round(of_epoch.compute_s / SECONDS_PER_NS)
        middle = len(times_ns) // 2
        if middle < MIN_STEPS or len(found) + 2 > MAX_BLOCKS:
            continue
        found += [
            ((epoch, "first"), times_ns[:middle][:BLOCK_STEPS]),
            ((epoch, "second"), times_ns[middle:][:BLOCK_STEPS]),
        ]
    return found


def _coincidences(blocks: "list[Values]") -> "tuple[Values, Values]":
    """Pairs of equal times between every two blocks, and as many as the pairs within the blocks
    make likely (Cauchy and Schwarz)."""

    sizes = np.array([len(block) for block in blocks], dtype=float)
    owners = np.repeat(np.arange(len(blocks)), sizes.astype(int))
    _, places, counts = np.unique(np.concatenate(blocks), return_inverse=True, return_counts=True)
    rows = (np.cumsum(counts > 1) - 1)[places]
    is_repeated = (counts > 1)[places]
    table = np.zeros((int((counts > 1).sum()), len(blocks)))
    np.add.at(table, (rows[is_repeated], owners[is_repeated]), 1.0)
    shared = table.T @ table
    within = np.clip((np.diag(shared) - table.sum(axis=0)) / (sizes * (sizes - 1)), 0.0, None)
    likely = np.outer(sizes, sizes) * np.sqrt(np.outer(within, within))
    return shared, likely


RULES = (
    Rule(
        "step-times-scatter",
        "This rule counts how many steps of a rank have the same time, to the nanosecond. It does"
        " so for whole-step times and for compute times, in all epochs together and in each epoch."
        " At most 10 + 20 n steps have the same time. n is the expected number of steps whose"
        " times fall into the same interval of 0.1 microseconds by chance. It is estimated twice:"
        " from the spread of all times, and from the number of other times within two microseconds"
        " of the most frequent time. The larger estimate counts. If the suite's own loop timed the"
        " run, every part of a step lasts a whole number of nanoseconds, ± 0.001 ns.",
        "Interrupts, caches and clocks make every step's time different; if somebody averages,"
        " caps or rounds the times, many steps get the same time. A part of a step is the"
        " difference between two readings of a clock that counts nanoseconds; if somebody scales"
        " the parts, they are no longer whole nanoseconds.",
        TRAINING_LOOP,
        (
            OfBundle("step-times-scatter", _scatter, needs_split=True),
            OfBundle("step-times-whole", _whole_ns),
        ),
    ),
    Rule(
        "step-times-own",
        "No epoch's step times are copied from another epoch. First test: between two epochs of a"
        " rank, the changes of compute time from step to step have a correlation of at most 0.9."
        " Second test, also between ranks: at most 19 steps of one epoch (or a tenth of the"
        " shorter epoch's steps, if that is more) have the same compute time and the same fetch"
        " time as a step of another epoch, to the nanosecond. Third test: each epoch of a rank is"
        " cut into halves, and every half is compared with every other half of this rank. A pair"
        " is one step of each half with equal compute times, to the nanosecond. By chance, n pairs"
        " are expected; n is estimated from how often times repeat within each half. Two halves"
        " have at most 30 + 6 n pairs.",
        "Steps are disturbed by chance. So in real runs, the correlation between two epochs is at"
        " most 0.24 (a drift within every epoch does not matter), and hardly any step has exactly"
        " the times of a step in another epoch. If somebody copied an epoch and scaled it, the"
        " changes still correlate. If somebody copied an epoch, or half of one, and reordered it,"
        " the times still repeat.",
        TRAINING_LOOP,
        (
            OfBundle("step-times-own", _check_repeated_courses, needs_split=True),
            OfBundle("step-times-pairs", _pairs, needs_split=True),
            OfBundle("epoch-times-own", _halves_own, needs_split=True),
        ),
    ),
)
