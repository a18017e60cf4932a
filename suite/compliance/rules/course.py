"""Order and times of events, epochs, evaluations and steps."""

from itertools import pairwise

import numpy as np

from reference_impls.contract import SECONDS_PER_NS, SPEED, log_name
from reference_impls.shares import samples_of_ranks
from suite.bundle.layout import PARTS, STEPS
from suite.bundle.log import Log, LogEvent
from suite.bundle.steps import StepRecords
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.shares import EVENT, measured_seconds, samples_by_rank, speeds
from suite.compliance.wording import numbers_text, ranks_text, seconds_text, value_text
from suite.files.counted import counted, ordinal

ORDER = 30  # what follows relies on the order of events

ONCE_IN_ORDER = ("init_start", "init_stop", "run_start", "run_stop")
PER_EPOCH = ("epoch_start", "epoch_stop")
EVALUATION = ("eval_start", "eval_accuracy", "eval_stop")
ROUNDING_S = 1e-6
MAX_END_DIFFERENCE_S = 0.01
MAX_SHOWN = 16  # ranks


def _events(context: BundleContext) -> Violations:
    firsts: list[LogEvent] = []
    for key in ONCE_IN_ORDER:
        events = context.log.all(key)
        if len(events) != 1:
            yield Violation(
                "log.txt",
                f"{key} once",
                f"{len(events)} times, in the lines {numbers_text(event.line for event in events)}"
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
                f"{before.key} in line {before.line}, {after.key} in line {after.line}",
                after.line,
            )


def _epochs(context: BundleContext) -> Violations:
    """Check the order epoch_start 1, epoch_stop 1, [evaluation], epoch_start 2, … between run_start
    and run_stop, evaluated at every interval.

    A last epoch that a step limit cut short is not evaluated. A resumed run begins with the
    evaluation of the state that it continues from.
    """
    events = [event for event in context.log.events if event.key in PER_EPOCH]
    before = context.epochs_before
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
        each = f"one evaluation after each of the epochs {numbers_text(expected)}"
        none = f"no evaluation: the requested number of steps ends within epoch {last}"
        found = numbers_text(epoch for epoch in evaluated if epoch is not None)
        yield Violation(
            "log.txt",
            each if expected else none,
            f"{counted(len(evaluated), 'evaluation')}, after epoch"
            f"{'s' * (len(evaluated) > 1)} {found}"
            if evaluated
            else "no evaluation",
        )
    most = context.request.epochs
    if last > most:
        yield Violation(
            "log.txt", f"at most {most} epoch{'s' * (most > 1)}", f"{last}", events[-1].line
        )
    yield from _outside_the_run(context.log)


def _outside_the_run(log: Log) -> Violations:
    start, stop = log.first("run_start"), log.first("run_stop")
    for event in log.events:
        is_early = start is not None and event.line < start.line
        is_late = stop is not None and event.line > stop.line
        if event.key in (*PER_EPOCH, *EVALUATION) and (is_early or is_late):
            yield Violation(
                "log.txt",
                "epochs and evaluations only between run_start and run_stop",
                f"{event.key} of epoch {event.epoch}"
                f" {'before run_start' if is_early else 'after run_stop'}",
                event.line,
            )
            return


def _evaluations(context: BundleContext) -> Violations:
    """Check that eval_start, eval_accuracy and eval_stop of an epoch follow its epoch_stop, with no
    other event in between.

    The first one of a resumed run is of the epoch that it continues from.
    """
    due: list[tuple[str, int | None]] = []
    stopped_epoch: int | None = context.epochs_before or None
    for event in context.log.events:
        if event.key not in (*EVALUATION, "epoch_start", "epoch_stop", "run_stop"):
            continue
        if event.key == "eval_start" and not due:
            due = [("eval_accuracy", stopped_epoch), ("eval_stop", stopped_epoch)]
            expected: tuple[str, int | None] = ("eval_start", stopped_epoch)
        elif due:
            expected = due.pop(0)
        else:
            expected = (
                (event.key, event.epoch)
                if event.key not in EVALUATION
                else ("eval_start", stopped_epoch)
            )
        stopped_epoch = event.epoch if event.key == "epoch_stop" else stopped_epoch
        if (event.key, event.epoch) != expected:
            yield Violation(
                "log.txt",
                f"{expected[0]} of epoch {expected[1]}",
                f"{event.key} of epoch {event.epoch}",
                event.line,
            )
            return


def _step_counts(context: BundleContext) -> Violations:
    """Check that every rank has every step once, and that shares add up to each mini-batch."""
    samples, batch = context.request.data.train_samples, context.request.global_batch_size
    finished, before = context.log.finished_epochs(), context.epochs_before * -(-samples // batch)
    for rank, of_rank in context.steps.by_rank():
        row = _first_other(
            of_rank.step.tolist(), list(range(before + 1, before + 1 + len(of_rank)))
        )
        if row is not None:
            yield Violation(
                STEPS,
                f"steps {before + 1} to {before + len(of_rank)} of rank {rank}, each once and in"
                " order",
                f"step {of_rank.step[row]} (epoch {of_rank.epoch[row]}) in row {row + 1} of the"
                " rank's steps",
            )
        if list(of_rank.epochs) != sorted(finished):
            yield Violation(
                STEPS,
                f"steps of rank {rank} in the epochs {numbers_text(finished)}",
                f"in the epochs {numbers_text(of_rank.epochs)}",
            )
    for epoch, of_epoch in context.steps.by_epoch():
        if context.request.steps is not None and int(of_epoch.step.max()) == context.request.steps:
            continue
        steps, sizes = -(-samples // batch), of_epoch.sum_over_ranks(of_epoch.samples).tolist()
        wrong = _first_other(
            sizes, np.minimum(batch, samples - batch * np.arange(len(sizes))).tolist()
        )
        if len(sizes) != steps or wrong is not None:
            observed = f"{len(sizes)} steps, {sum(sizes)} samples"
            if wrong is not None:
                observed += (
                    f"; {sizes[wrong]} samples in step {sorted(set(of_epoch.step.tolist()))[wrong]}"
                )
            each = f"in each except the last, {batch} samples"
            expected = f"epoch {epoch}: {samples} samples in {counted(steps, 'step')}; {each}"
            yield Violation(STEPS, expected, observed)


def _ranks(context: BundleContext) -> Violations:
    """Check that every step is in every rank's records, and that each rank takes its share of the
    mini-batch.

    A run that was resumed after its last epoch has no steps.
    """
    ranks = context.request.parallel.ranks
    has_steps = not context.epochs_before or bool(context.log.all("epoch_start"))
    recorded, expected = list(context.steps.ranks), list(range(ranks if has_steps else 0))
    if recorded != expected:
        yield Violation(
            STEPS,
            f"steps of {ranks_text(expected)}",
            f"steps of {ranks_text(recorded)}",
        )
        return
    logged = context.log.value("ranks")
    if logged != ranks:
        yield Violation("log.txt", f"ranks = {ranks}, as requested", value_text(logged))
    yield from _measured_speeds(context) if context.request.parallel.shares == SPEED else ()
    shares: dict[int, list[int]] = {}  # of every rank, by the samples of a mini-batch
    for rank, steps in context.steps.by_rank():
        sizes = _sizes(context, len(steps))
        for size in set(sizes) - shares.keys():
            shares[size] = samples_by_rank(context, size)
        samples, wanted = steps.samples.tolist(), [shares[size][rank] for size in sizes]
        wrong = _first_other(samples, wanted)
        if wrong is not None:
            yield Violation(
                STEPS,
                f"{_share_text(context, rank)}: {counted(wanted[wrong], 'sample')}",
                f"{counted(samples[wrong], 'sample')} in step {steps.step[wrong]} of epoch"
                f" {steps.epoch[wrong]}",
            )


def _share_text(context: BundleContext, rank: int) -> str:
    ranks = context.request.parallel.ranks
    if ranks == 1:
        return "rank 0 to take all samples of each mini-batch"
    if speeds(context) is not None:
        return f"rank {rank} to take its share according to the measured speeds"
    return (
        f"rank {rank} to take every {ordinal(ranks)} sample of each mini-batch, from the"
        f" {ordinal(rank + 1)} on"
    )


def _measured_speeds(context: BundleContext) -> Violations:
    """Check that every rank logged the same measured speeds, and the samples that follow from
    them."""
    ranks, batch = context.request.parallel.ranks, context.request.global_batch_size
    seconds = measured_seconds(context.log, ranks)
    samples = samples_of_ranks(seconds, batch) if seconds is not None else []
    for rank, log in context.logs():
        event, own = log.first(EVENT), measured_seconds(log, ranks)
        if event is None or own is None or own != seconds:
            yield Violation(
                log_name(rank),
                f"{EVENT} with the seconds per sample of {ranks} ranks, the same in every log",
                "no such event" if event is None else value_text(event.value),
                None if event is None else event.line,
            )
        elif event.value.get("samples") != samples:
            yield Violation(
                log_name(rank),
                f"samples per rank of a mini-batch of {batch}, computed from the logged seconds per"
                f" sample: {samples[:MAX_SHOWN]}",
                _counts_text(event.value.get("samples")),
                event.line,
            )


def _counts_text(value: object) -> str:
    shown = value[:MAX_SHOWN] if isinstance(value, list) else []
    return f"{shown}" if shown and all(type(each) is int for each in shown) else value_text(value)


def _sizes(context: BundleContext, steps: int) -> list[int]:
    """The samples of all ranks, step by step."""
    samples, batch = context.request.data.train_samples, context.request.global_batch_size
    firsts = batch * (np.arange(steps) % -(-samples // batch))
    sizes: list[int] = np.minimum(batch, samples - firsts).tolist()
    return sizes


def _first_other(found: list[int], wanted: list[int]) -> int | None:
    """The first place in which two lists differ."""
    if found == wanted:
        return None
    return next(
        index for index, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1]
    )


def _step_times(context: BundleContext) -> Violations:
    """Check every rank by its own log and clock."""
    for rank, steps in context.steps.by_rank():
        if 0 <= rank < context.request.parallel.ranks:
            yield from _times_of_rank(
                rank,
                context.bundle.log(rank),
                steps,
                PARTS[:1] if context.is_asynchronous else PARTS,
            )


def _times_of_rank(rank: int, log: Log, steps: "StepRecords", parts: tuple[str, ...]) -> Violations:
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
            f"{value_s:g} s in step {steps.step[row]} of epoch {steps.epoch[row]};"
            f" {counted(int(bad.sum()), 'such step')}",
        )
        return
    early = steps.start_ns[1:] * SECONDS_PER_NS < steps.ends_s[:-1] - ROUNDING_S
    if early.any():
        row = int(early.nonzero()[0][0]) + 1
        overlap_s = float(steps.ends_s[row - 1] - steps.start_ns[row] * SECONDS_PER_NS)
        observed = (
            f"step {steps.step[row]} of epoch {steps.epoch[row]} begins {seconds_text(overlap_s)}"
            " before the previous step ends"
        )
        observed += f"; {counted(int(early.sum()), 'such step')}"
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
            early_s = (start.mono_ns - int(steps.start_ns[row])) * SECONDS_PER_NS
            late_s = float(steps.ends_s[row]) - stop.mono_ns * SECONDS_PER_NS
            where = (
                f"begins {seconds_text(early_s)} before epoch_start"
                if early_s > 0
                else f"ends {seconds_text(late_s)} after epoch_stop"
            )
            yield Violation(
                STEPS,
                expected,
                f"step {steps.step[row]} {where}; {counted(int(outside.sum()), 'such step')}",
            )


def _epoch_ends(context: BundleContext) -> Violations:
    """Check of every rank, by its own log and clock, that epoch_stop has the time of the last
    step's end, and the number of steps. Where steps are not split, it is after the last fetch."""
    for rank, steps in context.steps.by_rank():
        if not 0 <= rank < context.request.parallel.ranks:
            continue
        for stop in context.bundle.log(rank).all("epoch_stop"):
            inside = steps.epoch == stop.epoch
            if not inside.any() or stop.mono_ns is None:
                continue
            late_s = stop.mono_ns * SECONDS_PER_NS - float(steps.ends_s[inside].max())
            if abs(late_s) > MAX_END_DIFFERENCE_S and (steps.is_split or late_s < 0):
                yield Violation(
                    log_name(rank),
                    f"epoch_stop of epoch {stop.epoch} at the end of its last step (within"
                    f" {MAX_END_DIFFERENCE_S:g} s)",
                    f"{seconds_text(abs(late_s))} {'after' if late_s > 0 else 'before'} the end of"
                    f" step {int(steps.step[inside].max())}",
                    stop.line,
                )
            if stop.metadata.get("steps") != int(inside.sum()):
                yield Violation(
                    log_name(rank),
                    f"{int(inside.sum())} steps in epoch {stop.epoch}, as in {STEPS}",
                    f"steps = {value_text(stop.metadata.get('steps'))} in the log",
                    stop.line,
                )


def _other_clocks(context: BundleContext) -> Violations:
    for rank, log in context.logs():
        yield from _clock(rank, log) if rank else ()


def _clock(rank: int, log: Log) -> Violations:
    """Check that a rank's monotonic clock never goes back and that its log is of one boot."""
    for before, event in pairwise((None, *log.events)):
        if event is None:
            continue
        if event.mono_ns is None:
            observed = f"none on {event.key}"
            yield Violation(log_name(rank), "metadata.mono_ns on every event", observed, event.line)
            return
        if before is not None and before.mono_ns is not None and event.mono_ns < before.mono_ns:
            yield Violation(
                log_name(rank),
                f"{event.key} not earlier than the event in line {before.line}",
                f"{before.mono_ns - event.mono_ns} ns earlier",
                event.line,
            )
            return
    boots = [repr(event.metadata.get("boot")) for event in log.events]
    other = next((place for place, boot in enumerate(boots) if boot != boots[0]), None)
    if other is not None:
        event = log.events[other]
        observed = f"{len(set(boots))} boot ids; the first event with the second one is {event.key}"
        yield Violation(log_name(rank), "the same boot id in every event", observed, event.line)


RULES = (
    Rule(
        "events-in-order",
        "The log has init_start, init_stop, run_start and run_stop once each and in this order."
        " Within the run, the epochs 1, 2, … start and stop in order, and the model is evaluated"
        " as often as requested. An evaluation consists of eval_start, one eval_accuracy and"
        " eval_stop, right after the epoch_stop of its epoch.",
        "These events bound the measured time: if an epoch is missing, its time is missing, too."
        " An accuracy is that of the model after a certain epoch, so the evaluation must follow"
        " this epoch directly.",
        TRAINING_LOOP,
        (
            OfBundle("log-events", _events),
            OfBundle("epochs-in-order", _epochs),
            OfBundle("evaluations-in-order", _evaluations),
        ),
    ),
    Rule(
        "log-clock",
        "All events of a rank come from one boot, and the rank's monotonic clock never goes back"
        " from one event to the next.",
        "Every duration is measured with the monotonic clock, which restarts at each boot.",
        TRAINING_LOOP,
        (
            OfBundle("log-clock", lambda context: _clock(0, context.log)),
            OfBundle("ranks-clock", _other_clocks),
        ),
    ),
    Rule(
        "steps-complete",
        "The step table has every mini-batch of every finished epoch once and in order. In each"
        " mini-batch, every rank has its requested share of the samples. An epoch's mini-batches"
        " together have as many samples as the data set.",
        "An epoch covers all samples. If a rank trained on fewer samples, the run would be faster.",
        TRAINING_LOOP,
        (OfBundle("steps-complete", _step_counts), OfBundle("ranks-complete", _ranks)),
    ),
    Rule(
        "steps-in-time",
        "No part of a step takes a negative time, steps do not overlap, and each step lies between"
        " the start and the stop of its epoch. An epoch stops within ten milliseconds of the end"
        " of its last step (with asynchronous timing, it may stop later). For each epoch, the log"
        " states as many steps as the step table has.",
        "The log and the step table measure the same time independently, so they must agree.",
        TRAINING_LOOP,
        (OfBundle("steps-in-time", _step_times), OfBundle("epoch-ends", _epoch_ends)),
    ),
)
