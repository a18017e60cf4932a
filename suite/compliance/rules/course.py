"""The course of a run as log and step records tell it: events, clocks, epochs, steps."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from suite.bundle.layout import STEPS
from suite.bundle.log import Log, LogEvent
from suite.compliance.editing import EditableBundle
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleCase, Fault, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords

from reference_impls.contract import SECONDS_PER_NS

ONCE_IN_ORDER = ("init_start", "init_stop", "run_start", "run_stop")
PER_EPOCH = ("epoch_start", "epoch_stop")
EVALUATION = ("eval_start", "eval_accuracy", "eval_stop")
RUN_AGAIN = "this is no log that the training loop writes: run again"
WALL_CLOCK_STEP_S = 2.0
ROUNDING_S = 1e-6


def _events(case: BundleCase) -> Iterator[Violation]:
    found: list[LogEvent] = []
    for key in ONCE_IN_ORDER:
        events = case.log.all(key)
        if len(events) != 1:
            yield Violation("log.txt", f"one {key}", f"{len(events)}", RUN_AGAIN, events[1].line if len(events) > 1 else None)
        found += events[:1]
    for before, after in pairwise(found):
        if before.line >= after.line:
            yield Violation("log.txt", f"{before.key} before {after.key}", "the other way round", RUN_AGAIN, after.line)


def _epochs(case: BundleCase) -> Iterator[Violation]:
    """epoch_start 1, epoch_stop 1, [evaluation], epoch_start 2, … between run_start and run_stop, evaluated at every interval.

    A last epoch that a step limit cut short is not evaluated.
    """
    events = [event for event in case.log.events if event.key in PER_EPOCH]
    for index, event in enumerate(events):
        key, epoch = PER_EPOCH[index % 2], index // 2 + 1
        if event.key != key or event.epoch != epoch:
            yield Violation("log.txt", f"{key} of epoch {epoch}", f"{event.key} of epoch {event.epoch}", RUN_AGAIN, event.line)
            return
    if not events or len(events) % 2:
        yield Violation("log.txt", "at least one epoch, every one finished", f"{len(events)} epoch events", RUN_AGAIN)
        return
    last, interval = len(events) // 2, case.request.eval_every_epochs
    cut_short = case.request.steps is not None and last * -(-case.request.data.train_samples // case.request.global_batch_size) > case.request.steps
    expected = [epoch for epoch in range(1, last + 1 - cut_short) if epoch % interval == 0 or epoch == last]
    evaluated = [event.epoch for event in case.log.all("eval_accuracy")]
    if evaluated != expected:
        yield Violation("log.txt", f"evaluations after epochs {expected}", f"{evaluated}", RUN_AGAIN)
    if last > case.request.epochs:
        yield Violation("log.txt", f"at most {case.request.epochs} epochs", f"{last}", RUN_AGAIN, events[-1].line)
    yield from _outside_the_run(case.log)


def _outside_the_run(log: Log) -> Iterator[Violation]:
    start, stop = log.first("run_start"), log.first("run_stop")
    for event in log.events:
        is_early, is_late = start is not None and event.line < start.line, stop is not None and event.line > stop.line
        if event.key in (*PER_EPOCH, *EVALUATION) and (is_early or is_late):
            observed = f"{event.key} of epoch {event.epoch} {'before run_start' if is_early else 'after run_stop'}"
            yield Violation("log.txt", "epochs and evaluations from run_start to run_stop", observed, RUN_AGAIN, event.line)
            return


def _monotonic(case: BundleCase) -> Iterator[Violation]:
    """Within one boot the monotonic clock never goes back; all of a run is one boot."""
    previous: LogEvent | None = None
    for event in case.log.events:
        if event.mono_ns is None:
            yield Violation("log.txt", "metadata.mono_ns on every event", f"none on {event.key}", RUN_AGAIN, event.line)
            return
        if previous is not None and previous.mono_ns is not None and event.mono_ns < previous.mono_ns:
            yield Violation(
                "log.txt",
                f"a time not before line {previous.line}",
                f"{event.key} is {previous.mono_ns - event.mono_ns} ns earlier",
                RUN_AGAIN,
                event.line,
            )
            return
        previous = event
    if len({repr(event.metadata.get("boot")) for event in case.log.events}) > 1:
        yield Violation("log.txt", "one boot of the machine", "several boot ids", RUN_AGAIN)


def _wall_clock(case: BundleCase) -> Iterator[Violation]:
    for before, after in pairwise(case.log.events):
        if before.mono_ns is None or after.mono_ns is None:
            continue
        step_s = (after.time_ms - before.time_ms) / 1000 - (after.mono_ns - before.mono_ns) * SECONDS_PER_NS
        if abs(step_s) > WALL_CLOCK_STEP_S:
            what = f"the wall clock stepped by {step_s:.1f} s before {after.key}"
            yield Violation("log.txt", "wall clock and monotonic clock in step", what, "let the clock settle (NTP) before a run", after.line)


def _step_counts(case: BundleCase) -> Iterator[Violation]:
    """Every rank has every step once; the ranks' shares of a mini-batch make up the mini-batch."""
    samples, batch = case.request.data.train_samples, case.request.global_batch_size
    finished = case.log.finished_epochs()
    for rank, of_rank in case.steps.by_rank():
        if of_rank.step.tolist() != list(range(1, len(of_rank) + 1)):
            yield Violation(STEPS, f"steps 1 to {len(of_rank)} of rank {rank}, each once and in order", "others", RUN_AGAIN)
        if list(of_rank.epochs) != sorted(finished):
            yield Violation(STEPS, f"steps of the epochs {list(finished)}", f"of {list(of_rank.epochs)}", RUN_AGAIN)
    for epoch, of_epoch in case.steps.by_epoch():
        if case.request.steps is not None and int(of_epoch.step.max()) == case.request.steps:
            continue
        expected, found = -(-samples // batch), of_epoch.sum_over_ranks(of_epoch.samples)
        last = samples - (expected - 1) * batch
        if len(found) != expected or int(found.sum()) != samples or (found[:-1] != batch).any() or found[-1] != last:
            observed = f"{len(found)} and {int(found.sum())}, or in other shares"
            yield Violation(STEPS, f"{expected} steps of {batch} and {samples} samples in epoch {epoch}", observed, RUN_AGAIN)


def _step_times(case: BundleCase) -> Iterator[Violation]:
    """Every rank by its own clock: each node has one."""
    for rank, steps in case.steps.by_rank():
        if 0 <= rank < case.request.parallel.ranks:
            yield from _times_of_rank(case.bundle.log(rank), steps)


def _times_of_rank(log: Log, steps: "StepRecords") -> Iterator[Violation]:
    """Parts are not negative, steps follow one another, and each lies within its epoch."""
    bad = ~(steps.parts_s >= -ROUNDING_S).all(axis=0)
    if bad.any():
        yield Violation(STEPS, "durations of 0 or more", f"step {steps.step[bad][0]} has a negative or missing one", RUN_AGAIN)
        return
    early = steps.start_ns[1:] * SECONDS_PER_NS < steps.ends_s[:-1] - ROUNDING_S
    if early.any():
        observed = f"step {steps.step[1:][early][0]} begins before that has ended"
        yield Violation(STEPS, "each step after the one before", observed, RUN_AGAIN)
    for start, stop in zip(log.all("epoch_start"), log.all("epoch_stop"), strict=False):
        inside = steps.epoch == start.epoch
        if not inside.any() or start.mono_ns is None or stop.mono_ns is None:
            continue
        if steps.start_ns[inside].min() < start.mono_ns or steps.ends_s[inside].max() > stop.mono_ns * SECONDS_PER_NS + ROUNDING_S:
            yield Violation(STEPS, f"every step of epoch {start.epoch} between its epoch_start and epoch_stop", "steps outside", RUN_AGAIN, None)


def _no_init(bundle: EditableBundle) -> None:
    bundle.remove("init_stop")


def _two_starts(bundle: EditableBundle) -> None:
    bundle.events.insert(0, dict(bundle.event("run_start"), metadata=dict(bundle.events[0]["metadata"])))


def _lost_epoch(bundle: EditableBundle) -> None:
    for key in ("epoch_start", "epoch_stop", "eval_start", "eval_accuracy", "eval_stop"):
        bundle.remove(key, 1)


def _lost_evaluation(bundle: EditableBundle) -> None:
    bundle.remove("eval_accuracy", 0)


def _stop_within(bundle: EditableBundle) -> None:
    """One second after run_start, by the clocks and by its place in the log."""
    _early_stop(bundle)
    bundle.events.sort(key=lambda event: event["metadata"]["mono_ns"])


def _early_stop(bundle: EditableBundle) -> None:
    bundle.event("run_stop")["metadata"]["mono_ns"] = bundle.event("run_start")["metadata"]["mono_ns"] + 10**9
    bundle.event("run_stop")["time_ms"] = bundle.event("run_start")["time_ms"] + 1000


def _clock_step(bundle: EditableBundle) -> None:
    for event in bundle.events[bundle.events.index(bundle.event("run_start")) :]:
        event["time_ms"] += 3_600_000


def _lost_step(bundle: EditableBundle) -> None:
    bundle.steps = bundle.steps.drop(index=5).reset_index(drop=True)


def _negative_part(bundle: EditableBundle) -> None:
    bundle.steps.loc[3, "fetch_stall_s"] = -0.5


def _longer_step(bundle: EditableBundle) -> None:
    bundle.steps.loc[len(bundle.steps) - 1, "compute_s"] += 3600.0


RULES = (
    Rule(
        id="log-events",
        sentence="The log has init_start, init_stop, run_start and run_stop once each and in this order.",
        rationale="They bound what is timed.",
        judges_bundle=_events,
        faults=(Fault("no init_stop", _no_init), Fault("two run_starts", _two_starts)),
    ),
    Rule(
        id="epochs-in-order",
        sentence="Within the run, epochs 1, 2, … are each started, finished and evaluated as often as the workload says, none missing.",
        rationale="A missing epoch is missing time.",
        judges_bundle=_epochs,
        faults=(
            Fault("an epoch taken out", _lost_epoch),
            Fault("an evaluation taken out", _lost_evaluation),
            Fault("a run that stops before its last epoch", _stop_within),
        ),
    ),
    Rule(
        id="log-clock",
        sentence="The monotonic clock never goes back from one event to the next, within one boot.",
        rationale="Every duration stands on it.",
        judges_bundle=_monotonic,
        faults=(Fault("run_stop one second after run_start", _early_stop),),
    ),
    Rule(
        id="wall-clock",
        sentence="The wall clock keeps step with the monotonic clock to two seconds.",
        rationale="Edge boards have no battery clock and are set during a run; durations do not suffer, outside records cannot be aligned.",
        severity=Severity.WARNING,
        judges_bundle=_wall_clock,
        faults=(Fault("an hour's step", _clock_step),),
    ),
    Rule(
        id="steps-complete",
        sentence="The step table has every mini-batch of every finished epoch once, in order, and every sample once an epoch.",
        rationale="An epoch is all samples.",
        judges_bundle=_step_counts,
        faults=(Fault("a step taken out", _lost_step),),
    ),
    Rule(
        id="steps-in-time",
        sentence="The parts of a step are not negative, steps follow one another, and each lies between its epoch's start and stop.",
        rationale="Log and step records are two witnesses of the same time.",
        judges_bundle=_step_times,
        faults=(Fault("a negative fetch", _negative_part), Fault("an hour in one step", _longer_step)),
    ),
)
