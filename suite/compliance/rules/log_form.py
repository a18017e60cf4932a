"""Form of the logs: keys, types, initialisation, and time that no event accounts for."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from reference_impls import definitions
from reference_impls.contract import SECONDS_PER_NS, log_name
from reference_impls.definitions import KEYS, POINT, REPEATED
from suite.bundle.log import Log, LogEvent
from suite.compliance.evidence import event_pairs
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import elapsed_s, is_number
from suite.compliance.wording import MAX_NAMES, value_text
from suite.files.counted import counted
from suite.metrics import counted_time

ORDER = 35  # after the order of events

START, STOP = "_start", "_stop"
TYPES = {START: definitions.START, STOP: definitions.STOP}
BY_OTHER_RULES = ("eval_accuracy",)
MAX_INIT_S = 1800.0
NAMESPACE = "edge"
HOLE_S, HOLE_SHARE = 5.0, 0.1
MIN_BUILD_S = 2e-9
"""For a parameter: to draw its initial weight and copy it to the model. Honest runs: 76 ns and
more."""
MAX_PAUSE_S, MAX_PAUSE_SHARE = 0.5, 0.01  # 0.1 ms at most in real runs on a busy machine
WITHOUT_PAUSE = (
    ("run_start", "epoch_start"),
    ("eval_stop", "epoch_start"),
    ("eval_stop", "run_stop"),
)


def _events_once(context: BundleContext) -> Violations:
    for rank, log in context.logs():
        points = [
            event
            for event in log.events
            if not event.key.endswith((START, STOP)) and event.key not in BY_OTHER_RULES
        ]
        counts = Counter((event.key, event.epoch) for event in points)
        for (key, epoch), count in counts.items():
            most = REPEATED.get(key, 1)
            if count > most:
                events = [event for event in points if (event.key, event.epoch) == (key, epoch)]
                of_epoch = "" if epoch is None else f" of epoch {epoch}"
                values = " and ".join(repr(event.value)[:60] for event in events[:2])
                lines = ", ".join(str(event.line) for event in events[:5])
                often = "once" if most == 1 else f"at most {most} times"
                yield Violation(
                    log_name(rank),
                    f"{key[:80]}{of_epoch} {often}",
                    f"{count} times (lines {lines}), with the values {values}",
                    events[-1].line,
                )


def _namespaces(context: BundleContext) -> Violations:
    for rank, log in context.logs():
        others = [event for event in log.events if event.namespace != NAMESPACE]
        if others:
            yield Violation(
                log_name(rank),
                f"the namespace {NAMESPACE!r} in every line",
                f"{others[0].namespace!r} in the event {others[0].key}"[:200]
                + (
                    f", and {counted(len(others) - 1, 'more event')} in another namespace"
                    if len(others) > 1
                    else ""
                ),
                others[0].line,
            )


def _types(context: BundleContext) -> Violations:
    """Check that starts and stops are the ends of intervals, and everything else a point in
    time."""
    for rank, log in context.logs():
        wrong: dict[str, list[LogEvent]] = {}
        for event in log.events:
            if event.event_type != _type_of(event.key):
                wrong.setdefault(event.key, []).append(event)
        for key, events in wrong.items():
            observed = f"event_type {events[0].event_type[:40]!r} in line {events[0].line}"
            observed += f" and {counted(len(events) - 1, 'more line')}" if len(events) > 1 else ""
            yield Violation(
                log_name(rank),
                f"event_type {_type_of(key)!r} for {key[:80]}",
                observed,
                events[0].line,
            )


def _type_of(key: str) -> str:
    return TYPES.get(key[key.rfind("_") :], POINT) if "_" in key else POINT


def _known_keys(context: BundleContext) -> Violations:
    """Report the keys that an implementation logs of its own: the contract allows them, and readers
    should see them."""
    others = {event.key: event for event in context.log.events if event.key not in KEYS}
    if others:
        yield Violation(
            "log.txt",
            "only keys of the contract",
            ", ".join(
                f"{key[:40]} = {value_text(event.value)[:60]}"
                for key, event in list(others.items())[:MAX_NAMES]
            ),
            next(iter(others.values())).line,
        )


def _capped(context: BundleContext) -> Violations:
    begin, start = context.log.first("init_start"), context.log.first("run_start")
    took_s = elapsed_s(begin, start)
    if start is not None and took_s is not None and took_s > MAX_INIT_S:
        yield Violation(
            "log.txt",
            f"run_start at most {MAX_INIT_S:.0f} s after init_start",
            f"{took_s:.1f} s after it",
            start.line,
        )


def _takes(context: BundleContext) -> Violations:
    stop, parameters = context.log.first("init_stop"), context.log.value("parameters")
    took_s = elapsed_s(context.log.first("init_start"), stop)
    if stop is None or took_s is None or not is_number(parameters):
        return
    min_s = MIN_BUILD_S * parameters
    if took_s < min_s:
        yield Violation(
            "log.txt",
            f"at least {min_s * 1e6:.3g} microseconds from init_start to init_stop, to draw"
            f" {parameters:g} initial weights",
            f"{took_s * 1e6:.3g} microseconds",
            stop.line,
        )


def _holes(context: BundleContext) -> Violations:
    """Check that between run_start and run_stop hardly any time lies outside logged intervals
    (epochs, evaluations). Other ranks wait where rank 0 keeps a state, in its uncounted time."""
    kept_s = {
        start.epoch: length_s
        for start, _, length_s in event_pairs(context.log, "uncounted_start", "uncounted_stop")
    }
    for rank, log in context.logs():
        epochs_s = [epoch_s for *_, epoch_s in event_pairs(log, "epoch_start", "epoch_stop")]
        allowed_s = HOLE_S + HOLE_SHARE * (sum(epochs_s) / len(epochs_s) if epochs_s else 0.0)
        for before, after, hole_s in _uncovered_times(log):
            longest_s = allowed_s + (kept_s.get(before.epoch, 0.0) if rank else 0.0)
            if hole_s > longest_s:
                names = [
                    f"{event.key}{'' if event.epoch is None else f' of epoch {event.epoch}'}"
                    for event in (before, after)
                ]
                yield Violation(
                    log_name(rank),
                    f"at most {longest_s:.1f} s between {names[0]} and {names[1]}, where no epoch,"
                    " evaluation or uncounted time is logged",
                    f"{hole_s:.3f} s",
                    after.line,
                )


def _uncovered_times(log: Log) -> Iterator[tuple[LogEvent, LogEvent, float]]:
    """The times within the run that no interval covers: the events around each, and its length in
    seconds."""
    last: LogEvent | None = None
    depth = 0
    for event in log.events:
        if (
            event.mono_ns is None
            or not event.key.endswith((START, STOP))
            or event.key.startswith("init_")
        ):
            continue
        if last is not None and last.mono_ns is not None and depth == 0:
            yield last, event, (event.mono_ns - last.mono_ns) * SECONDS_PER_NS
        if event.key.startswith("run_"):
            last, depth = (event if event.key == "run_start" else None), 0
            continue
        depth = max(0, depth + (1 if event.key.endswith(START) else -1))
        last = None if last is None else event


def _no_pause(context: BundleContext) -> Violations:
    """Check that nothing takes time between an evaluation and the next epoch but what is not
    counted; events in between have their own rules."""

    epochs_s = [
        (steps.ends_s.max() - steps.start_ns.min() * SECONDS_PER_NS)
        for _, steps in context.steps.first_rank.by_epoch()
    ]
    longest_s = MAX_PAUSE_S + MAX_PAUSE_SHARE * float(max(epochs_s, default=0.0))
    left_out = counted_time.uncounted_intervals(context.log)
    for before, after in pairwise(
        event
        for event in context.log.events
        if event.key not in (counted_time.START, counted_time.STOP)
    ):
        if (
            (before.key, after.key) not in WITHOUT_PAUSE
            or before.mono_ns is None
            or after.mono_ns is None
        ):
            continue
        pause_s = counted_time.counted_s((before.mono_ns, after.mono_ns), left_out)
        if pause_s > longest_s:
            yield Violation(
                "log.txt",
                f"{after.key} at most {longest_s:.2f} s after {before.key} (uncounted time"
                " subtracted)",
                f"{pause_s:.2f} s after it, and no event in between",
                after.line,
            )


RULES = (
    Rule(
        "log-form",
        "Each rank logs every key as often as the contract says: most keys once, or once per epoch."
        " All events are in the namespace `edge`. Events named …_start have the event type"
        f" {definitions.START}, those named …_stop {definitions.STOP}, and all others {POINT}.",
        "Every program that reads the log must see the same run, whether it uses a key's first or"
        " last value. Programs for MLPerf logs find intervals by the event types.",
        TRAINING_LOOP,
        (
            OfBundle("log-keys-once", _events_once),
            OfBundle("log-namespace", _namespaces),
            OfBundle("log-event-types", _types),
        ),
    ),
    Rule(
        "log-keys-own",
        "The report lists keys in a closed run's log that are not in the contract"
        " (docs/contract.md), with their values.",
        "An implementation may log further facts, such as loaded weights or another precision, "
        "and readers should see them.",
        "explain these keys in the notes of the submission (`suite package --notes`)",
        (OfBundle("log-keys-own", _known_keys, CLOSED, Severity.NOTE),),
    ),
    Rule(
        "initialisation-time",
        "run_start comes at most 30 minutes after init_start. The time from init_start to init_stop"
        " is at least 2 ns per parameter, because drawing the initial weights takes that long.",
        "What is built, compiled and tuned before run_start is not measured: without a limit,"
        " training could be moved there. If the time from init_start to init_stop is too short for"
        " the model, the model was built before init_start, where no time is recorded.",
        "log init_start before the model is built and init_stop after it; log run_start at most"
        " 30 minutes after init_start, and do longer work during the run",
        (
            OfBundle("initialisation-capped", _capped),
            OfBundle("initialisation-takes", _takes),
        ),
    ),
    Rule(
        "time-accounted",
        "During the run, no stretch of time outside epochs, evaluations and uncounted intervals is"
        " longer than 5 s plus a tenth of the mean duration of an epoch (on other ranks, plus rank"
        " 0's uncounted interval of that epoch, for which they wait). The limit is 0.5 s plus a"
        " hundredth of the longest epoch's duration for two kinds of gap, if rank 0 logs no event"
        " inside them: from run_start or an evaluation to the next epoch, and from the last"
        " evaluation to run_stop. Uncounted intervals inside such a gap do not count.",
        "The loop does nothing between epochs and evaluations. Work that was moved there would not"
        " count in any epoch. An epoch that was removed from the log leaves a gap.",
        TRAINING_LOOP,
        (OfBundle("time-accounted", _holes), OfBundle("no-pause", _no_pause)),
    ),
)
