"""Order and times of events, epochs and steps."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import PARTS, RUN, STEPS
from suite.bundle.log import Log, LogEvent
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.values import is_number
from suite.compliance.wording import numbers, seconds

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords

ORDER = 30  # what follows relies on the order of events

ONCE_IN_ORDER = ("init_start", "init_stop", "run_start", "run_stop")
PER_EPOCH = ("epoch_start", "epoch_stop")
EVALUATION = ("eval_start", "eval_accuracy", "eval_stop")
WALL_CLOCK_STEP_S = 0.25
ROUNDING_S = 1e-6


def _events(context: BundleContext) -> Iterator[Violation]:
    firsts: list[LogEvent] = []
    for key in ONCE_IN_ORDER:
        events = context.log.all(key)
        if len(events) != 1:
            yield Violation(
                "log.txt",
                f"{key} once",
                f"{len(events)} times, in the lines {numbers(event.line for event in events)}"
                if events
                else "no such event",
                events[1].line if len(events) > 1 else None,
            )
        firsts += events[:1]
    for before, after in pairwise(firsts):
        if before.line >= after.line:
            yield Violation(
                "log.txt",
                f"{before.key} before {after.key}",
                f"{before.key} in line {before.line}",
                after.line,
            )


def _epochs(context: BundleContext) -> Iterator[Violation]:
    """Check the order epoch_start 1, epoch_stop 1, [evaluation], epoch_start 2, … between run_start
    and run_stop, evaluated at every interval.

    A last epoch that a step limit cut short is not evaluated. A resumed run begins with the
    evaluation of the state that it continues from.
    """
    events, before = (
        [event for event in context.log.events if event.key in PER_EPOCH],
        context.epochs_before,
    )
    for index, event in enumerate(events):
        key, epoch = PER_EPOCH[index % 2], before + index // 2 + 1
        if event.key != key or event.epoch != epoch:
            yield Violation(
                "log.txt",
                f"{key} of epoch {epoch}",
                f"{event.key} of epoch {event.epoch}",
                event.line,
            )
            return
    if (not events and not before) or len(events) % 2:
        observed, line = (
            (f"epoch {events[-1].epoch} has no epoch_stop", events[-1].line)
            if events
            else ("no epoch_start", None)
        )
        yield Violation("log.txt", "at least one epoch, all of them finished", observed, line)
        return
    last, interval = before + len(events) // 2, context.request.eval_every_epochs
    cut_short = (
        context.request.steps is not None
        and last * -(-context.request.data.train_samples // context.request.global_batch_size)
        > context.request.steps
    )
    expected = [
        epoch
        for epoch in range(max(1, before), last + 1 - cut_short)
        if epoch % interval == 0 or epoch == last
    ]
    evaluated = [event.epoch for event in context.log.all("eval_accuracy")]
    if evaluated != expected:
        yield Violation(
            "log.txt",
            f"one evaluation after each of the epochs {numbers(expected)}",
            f"after {numbers(epoch for epoch in evaluated if epoch is not None)}, {len(evaluated)}"
            " in all",
        )
    if last > context.request.epochs:
        yield Violation(
            "log.txt", f"at most {context.request.epochs} epochs", f"{last}", events[-1].line
        )
    yield from _outside_the_run(context.log)


def _outside_the_run(log: Log) -> Iterator[Violation]:
    start, stop = log.first("run_start"), log.first("run_stop")
    for event in log.events:
        is_early, is_late = (
            start is not None and event.line < start.line,
            stop is not None and event.line > stop.line,
        )
        if event.key in (*PER_EPOCH, *EVALUATION) and (is_early or is_late):
            yield Violation(
                "log.txt",
                "epochs and evaluations from run_start to run_stop",
                f"{event.key} of epoch {event.epoch}"
                f" {'before run_start' if is_early else 'after run_stop'}",
                event.line,
            )
            return


def _monotonic(context: BundleContext) -> Iterator[Violation]:
    """Check that the monotonic clock never goes back and that the whole run is of one boot."""
    previous: LogEvent | None = None
    for event in context.log.events:
        if event.mono_ns is None:
            yield Violation(
                "log.txt", "metadata.mono_ns on every event", f"none on {event.key}", event.line
            )
            return
        if (
            previous is not None
            and previous.mono_ns is not None
            and event.mono_ns < previous.mono_ns
        ):
            yield Violation(
                "log.txt",
                f"{event.key} not before line {previous.line}",
                f"{previous.mono_ns - event.mono_ns} ns before it",
                event.line,
            )
            return
        previous = event
    boots = [repr(event.metadata.get("boot")) for event in context.log.events]
    other = next(
        (event for event, boot in zip(context.log.events, boots, strict=True) if boot != boots[0]),
        None,
    )
    if other is not None:
        yield Violation(
            "log.txt",
            "one boot of the machine",
            f"{len(set(boots))} boot ids; the second begins with {other.key}",
            other.line,
        )


def _wall_clock(context: BundleContext) -> Iterator[Violation]:
    for before, after in pairwise(context.log.events):
        if before.mono_ns is None or after.mono_ns is None:
            continue
        step_s = (after.time_ms - before.time_ms) / 1000 - (
            after.mono_ns - before.mono_ns
        ) * SECONDS_PER_NS
        if abs(step_s) > WALL_CLOCK_STEP_S:
            yield Violation(
                "log.txt",
                f"wall clock and monotonic clock to differ by {WALL_CLOCK_STEP_S:g} s at most",
                f"the wall clock stepped by {step_s:.1f} s before {after.key}",
                after.line,
                fix="wait until NTP has set the clock before a run",
            )
    last, later = (
        max((event.time_ms for event in context.log.events), default=0),
        context.run.closed_later,
    )
    closed_ms = None if later is None else later.get("time_ms")
    if later is not None and not (is_number(closed_ms) and closed_ms >= last):
        yield Violation(
            RUN,
            f"a bundle that was closed after the log's last event, {last}",
            f"closed_later.time_ms = {closed_ms!r}",
            fix="set the clock of the machine before `suite finish`; a board without a battery"
            " clock"
            " may have none yet after it was cut off",
        )


def _step_counts(context: BundleContext) -> Iterator[Violation]:
    """Check that every rank has every step once, and that the ranks' shares add up to each
    mini-batch."""
    samples, batch = context.request.data.train_samples, context.request.global_batch_size
    finished, before = context.log.finished_epochs(), context.epochs_before * -(-samples // batch)
    for rank, of_rank in context.steps.by_rank():
        misplaced = next(
            (
                (row, step)
                for row, step in enumerate(of_rank.step.tolist(), start=1)
                if step != before + row
            ),
            None,
        )
        if misplaced is not None:
            yield Violation(
                STEPS,
                f"steps {before + 1} to {before + len(of_rank)} of rank {rank}, each once and in"
                " order",
                f"step {misplaced[1]} in row {misplaced[0]} of epoch"
                f" {int(of_rank.epoch[misplaced[0] - 1])}",
            )
        if list(of_rank.epochs) != sorted(finished):
            yield Violation(
                STEPS,
                f"steps of rank {rank} in the epochs {numbers(finished)}",
                f"in {numbers(of_rank.epochs)}",
            )
    for epoch, of_epoch in context.steps.by_epoch():
        if context.request.steps is not None and int(of_epoch.step.max()) == context.request.steps:
            continue
        steps, sizes = -(-samples // batch), of_epoch.sum_over_ranks(of_epoch.samples).tolist()
        wrong = next(
            (
                index
                for index, size in enumerate(sizes)
                if size != min(batch, samples - index * batch)
            ),
            None,
        )
        if len(sizes) != steps or wrong is not None:
            observed = f"{len(sizes)} steps, {sum(sizes)} samples"
            if wrong is not None:
                observed += (
                    f"; {sizes[wrong]} samples in step {sorted(set(of_epoch.step.tolist()))[wrong]}"
                )
            yield Violation(
                STEPS,
                f"{steps} steps of {batch} samples, {samples} in all, in epoch {epoch}",
                observed,
            )


def _step_times(context: BundleContext) -> Iterator[Violation]:
    """Check every rank by its own log and clock."""
    for rank, steps in context.steps.by_rank():
        if 0 <= rank < context.request.parallel.ranks:
            yield from _times_of_rank(
                rank,
                context.bundle.log(rank),
                steps,
                PARTS[:1] if context.is_asynchronous else PARTS,
            )


def _times_of_rank(
    rank: int, log: Log, steps: "StepRecords", parts: tuple[str, ...]
) -> Iterator[Violation]:
    """Check that the timed parts are not negative, that steps do not overlap, and that each lies
    within its epoch."""
    parts_s = steps.parts_s[: len(parts)]
    bad = ~(parts_s >= -ROUNDING_S).all(axis=0)
    if bad.any():
        row = int(bad.nonzero()[0][0])
        part = next(
            name
            for name, value_s in zip(parts, parts_s[:, row], strict=True)
            if not value_s >= -ROUNDING_S
        )
        value_s = float(steps.parts_s[PARTS.index(part), row])
        yield Violation(
            STEPS,
            f"{part} of 0 s or more on rank {rank}",
            f"{value_s:g} s in step {steps.step[row]} of epoch {steps.epoch[row]}, {int(bad.sum())}"
            " in all",
        )
        return
    early = steps.start_ns[1:] * SECONDS_PER_NS < steps.ends_s[:-1] - ROUNDING_S
    if early.any():
        row = int(early.nonzero()[0][0]) + 1
        overlap_s = float(steps.ends_s[row - 1] - steps.start_ns[row] * SECONDS_PER_NS)
        observed = (
            f"step {steps.step[row]} of epoch {steps.epoch[row]} begins {seconds(overlap_s)} before"
            " the one before it ends"
        )
        observed += f", {int(early.sum())} in all"
        yield Violation(STEPS, f"steps of rank {rank} one after another", observed)
    for start, stop in zip(log.all("epoch_start"), log.all("epoch_stop"), strict=False):
        inside = steps.epoch == start.epoch
        if not inside.any() or start.mono_ns is None or stop.mono_ns is None:
            continue
        outside = inside & (
            (steps.start_ns < start.mono_ns)
            | (steps.ends_s > stop.mono_ns * SECONDS_PER_NS + ROUNDING_S)
        )
        if outside.any():
            expected = (
                f"every step of epoch {start.epoch} on rank {rank} between its epoch_start and"
                " epoch_stop"
            )
            row = int(outside.nonzero()[0][0])
            early_s, late_s = (
                (start.mono_ns - int(steps.start_ns[row])) * SECONDS_PER_NS,
                float(steps.ends_s[row]) - stop.mono_ns * SECONDS_PER_NS,
            )
            where = (
                f"begins {seconds(early_s)} before epoch_start"
                if early_s > 0
                else f"ends {seconds(late_s)} after epoch_stop"
            )
            yield Violation(
                STEPS, expected, f"step {steps.step[row]} {where}, {int(outside.sum())} in all"
            )


RULES = (
    Rule(
        "log-events",
        "The log has init_start, init_stop, run_start and run_stop once each and in this order.",
        "They bound the measured time.",
        TRAINING_LOOP,
        (OfBundle("log-events", _events),),
    ),
    Rule(
        "epochs-in-order",
        "Within the run, epochs 1, 2, … are each started, finished and evaluated as often as"
        " the workload requires, none missing.",
        "A missing epoch is missing time.",
        TRAINING_LOOP,
        (OfBundle("epochs-in-order", _epochs),),
    ),
    Rule(
        "log-clock",
        "The monotonic clock never goes back from one event to the next, within one boot.",
        "Every duration is measured with it.",
        TRAINING_LOOP,
        (OfBundle("log-clock", _monotonic),),
    ),
    Rule(
        "wall-clock",
        "The wall clock agrees with the monotonic clock to a quarter of a second from event to"
        " event, and the bundle is closed after its run.",
        "Edge boards without a battery clock are set during a run; durations are not affected,"
        " but outside records cannot be aligned.",
        "let NTP set the clock before a run, and before `suite finish`",
        (OfBundle("wall-clock", _wall_clock, severity=Severity.WARNING),),
    ),
    Rule(
        "steps-complete",
        "The step table has every mini-batch of every finished epoch once, in order, and every"
        " sample once an epoch.",
        "An epoch is all samples.",
        TRAINING_LOOP,
        (OfBundle("steps-complete", _step_counts),),
    ),
    Rule(
        "steps-in-time",
        "The parts of a step are not negative, steps do not overlap, and each lies between its"
        " epoch's start and stop.",
        "Log and step records are independent records of the same time.",
        TRAINING_LOOP,
        (OfBundle("steps-in-time", _step_times),),
    ),
)
