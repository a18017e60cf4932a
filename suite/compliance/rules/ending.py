"""Ends of evaluations, epochs and the run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.layout import RUN, STEPS
from suite.bundle.log import MAX_TIME_MS, Log
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.rules.course import EVALUATION
from suite.compliance.wording import numbers, seconds, shown

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords

ORDER = 40  # after the order of epochs

MAX_END_DIFFERENCE_S = 0.01
# 0.988 or more in 26 real runs, steps of a millisecond among them: the rest is the loop's own lines
MIN_FILLED_SHARE = 0.9
MAX_CLOCK_DIFFERENCE_S, MAX_SETUP_S, MAX_BEGUN_S = 120.0, 3600.0, 180.0
"""The harness itself begins the log of a run on one rank, right after it has noted the start: 0.01
to 16.7 s later in 374 real runs."""


def _evaluations(context: BundleContext) -> Iterator[Violation]:
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


def _ends_as_requested(context: BundleContext) -> Iterator[Violation]:
    """Check that the run ends at the target, the last epoch or the step limit, whichever comes
    first."""
    request, epochs = context.request, context.log.finished_epochs()
    target, stop = request.target_accuracy, context.log.first("run_stop")
    reached = [
        event
        for event in context.log.all("eval_accuracy")
        if target is not None and isinstance(event.value, int | float) and event.value >= target
    ]
    last = max(epochs, default=context.epochs_before)
    if reached and reached[0].epoch != last:
        yield Violation(
            "log.txt",
            f"the run to end with epoch {reached[0].epoch}, which reached the target",
            f"epochs up to {last}",
            reached[0].line,
        )
    before = context.epochs_before * -(-request.data.train_samples // request.global_batch_size)
    limited = request.steps is not None and before + len(context.steps.first_rank) == request.steps
    if not reached and not limited and last < request.epochs:
        yield Violation(
            "log.txt",
            f"training until the target or epoch {request.epochs}",
            f"the run ended after epoch {last}",
            None if stop is None else stop.line,
        )


def _epoch_ends(context: BundleContext) -> Iterator[Violation]:
    """Check every rank by its own log and clock."""
    for rank, steps in context.steps.by_rank():
        if 0 <= rank < context.request.parallel.ranks:
            yield from _ends_of_rank(rank, context.bundle.log(rank), steps)


def _ends_of_rank(rank: int, log: Log, steps: "StepRecords") -> Iterator[Violation]:
    """Check that epoch_stop has the time of the last step's end, and the number of steps. Where
    steps are not split, it is after the last fetch."""
    name = log_name(rank)
    for stop in log.all("epoch_stop"):
        inside = steps.epoch == stop.epoch
        if not inside.any() or stop.mono_ns is None:
            continue
        late_s = stop.mono_ns * SECONDS_PER_NS - float(steps.ends_s[inside].max())
        if abs(late_s) > MAX_END_DIFFERENCE_S and (steps.is_split or late_s < 0):
            yield Violation(
                name,
                f"epoch_stop of epoch {stop.epoch} at the end of its last step",
                f"{seconds(abs(late_s))} {'after' if late_s > 0 else 'before'} the end of step"
                f" {int(steps.step[inside].max())}",
                stop.line,
            )
        if stop.metadata.get("steps") != int(inside.sum()):
            yield Violation(
                name,
                f"{int(inside.sum())} steps in epoch {stop.epoch}, as in {STEPS}",
                f"steps = {shown(stop.metadata.get('steps'))} in the log",
                stop.line,
            )


def _filled(context: BundleContext) -> Iterator[Violation]:
    """Check the epochs of rank 0; one finding for all of them."""
    stops = {event.epoch: event.mono_ns for event in context.log.all("epoch_stop")}
    shares: dict[int, tuple[float, float, float]] = {}
    for epoch, steps in context.steps.first_rank.by_epoch():
        stop_ns = stops.get(epoch)
        whole_s = 0.0 if stop_ns is None else (stop_ns - int(steps.start_ns[0])) * SECONDS_PER_NS
        parts_s = float(steps.parts_s.sum())
        if whole_s > 0 and parts_s < MIN_FILLED_SHARE * whole_s:
            shares[epoch] = (parts_s / whole_s, parts_s, whole_s)
    if shares:
        worst, (share, parts_s, whole_s) = min(shares.items(), key=lambda item: item[1])
        yield Violation(
            STEPS,
            f"fetch, copy, compute and communication to take {MIN_FILLED_SHARE:.0%} of every epoch"
            " or more",
            f"less in the epochs {numbers(shares)} of {len(stops)}, least in epoch {worst}:"
            f" {seconds(parts_s)} of {seconds(whole_s)} ({share:.0%})",
        )


def _record(context: BundleContext) -> Iterator[Violation]:
    """Check that run.json and the log are of the same run."""
    run, first = context.run, context.log.events[0] if context.log.events else None
    # `suite finish` cannot know how a process ended that nobody waited for
    is_known = run.closed_later is None or run.exit_code is not None
    if (is_known and run.exit_code != 0) or run.message is not None:
        yield Violation(
            RUN,
            "exit code 0 and no message for a finished run",
            f"exit code {run.exit_code!r}, message {run.message!r}",
        )
    if first is None:
        return
    started_ms, fix = run.started_time_ms, "wait until NTP has set the clock, then run again"
    # a larger integer would overflow
    is_time = isinstance(started_ms, int | float) and abs(started_ms) <= MAX_TIME_MS
    most_s = MAX_BEGUN_S if context.request.parallel.ranks == 1 else MAX_SETUP_S
    if (
        not is_time
        or not -MAX_CLOCK_DIFFERENCE_S
        <= (first.time_ms - started_ms) / 1000
        <= most_s + MAX_CLOCK_DIFFERENCE_S
    ):
        yield Violation(
            RUN,
            f"a start in the {most_s / 60:.0f} minutes before the log's first event",
            f"started_time_ms {started_ms!r}"[:100] + f", first event {first.time_ms!r}"[:100],
            fix=fix,
        )


RULES = (
    Rule(
        "evaluations-in-order",
        "An evaluation is eval_start, one eval_accuracy and eval_stop, right after its epoch.",
        "Its time belongs to the run, and an accuracy belongs to one state of the model.",
        TRAINING_LOOP,
        (OfBundle("evaluations-in-order", _evaluations),),
    ),
    Rule(
        "ends-as-asked",
        "A run ends with the evaluation that reaches the target, else with its last epoch or"
        " its step limit.",
        "A raised accuracy would have ended training earlier; a lowered one would have"
        " continued it.",
        TRAINING_LOOP,
        (OfBundle("ends-as-asked", _ends_as_requested),),
    ),
    Rule(
        "epoch-ends",
        "An epoch ends with its last step, to ten milliseconds, and the log counts the steps"
        " that the table has.",
        "End to end is first fetch to last step; log and step records both hold it.",
        TRAINING_LOOP,
        (OfBundle("epoch-ends", _epoch_ends),),
    ),
    Rule(
        "epoch-filled",
        "Fetch, copy, compute and communication take nine tenths of an epoch or more.",
        "The remainder is overhead without an explanation, or parts were made smaller.",
        "find out what took the remaining time (other programs, swapping, logging)",
        (OfBundle("epoch-filled", _filled, needs_split=True),),
    ),
    Rule(
        "run-record",
        "run.json is the record of this run: a successful exit, and a start that fits the log.",
        "Logs and records of different runs do not belong in one bundle.",
        TRAINING_LOOP,
        (OfBundle("run-record", _record),),
    ),
)
