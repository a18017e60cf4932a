"""Form of the logs: keys, types and clocks of events, initialisation, and time that no event
accounts for."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from reference_impls import definitions
from reference_impls.contract import SECONDS_PER_NS, log_name
from reference_impls.definitions import KEYS, POINT, REPEATED
from suite.bundle.log import Log, LogEvent
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import MAX_NAMES, shown

ORDER = 35  # after the order of events

START, STOP = "_start", "_stop"
TYPES = {START: definitions.START, STOP: definitions.STOP}
BY_OTHER_RULES = ("eval_accuracy",)
MIN_CLOCK_INTERVALS, MIN_CLOCK_INTERVAL_S, CLOCK_RATES = 3, 0.5, (0.5, 2.0)
MAX_INIT_S = 1800.0
NAMESPACE = "edge"
HOLE_S, HOLE_SHARE = 5.0, 0.1


def _once(context: BundleContext) -> Iterator[Violation]:
    for rank, log in context.logs():
        points = [
            event
            for event in log.events
            if not event.key.endswith((START, STOP)) and event.key not in BY_OTHER_RULES
        ]
        counts = Counter((event.key, event.epoch) for event in points)
        for (key, epoch), count in counts.items():
            if count > REPEATED.get(key, 1):
                events = [event for event in points if (event.key, event.epoch) == (key, epoch)]
                of_epoch = "" if epoch is None else f" of epoch {epoch}"
                values = " and ".join(repr(event.value)[:60] for event in events[:2])
                lines = ", ".join(str(event.line) for event in events[:5])
                yield Violation(
                    log_name(rank),
                    f"{key[:80]}{of_epoch} once",
                    f"{count} times (lines {lines}), with the values {values}",
                    events[-1].line,
                )


def _namespaces(context: BundleContext) -> Iterator[Violation]:
    for rank, log in context.logs():
        others = [event for event in log.events if event.namespace != NAMESPACE]
        if others:
            yield Violation(
                log_name(rank),
                f"the namespace {NAMESPACE!r} in every line",
                f"{others[0].namespace!r} of {others[0].key}"[:200]
                + (f", and of {len(others) - 1} more events" if len(others) > 1 else ""),
                others[0].line,
            )


def _known_keys(context: BundleContext) -> Iterator[Violation]:
    """Report the keys that an implementation logs of its own: the contract allows them, and readers
    should see them."""
    others = {event.key: event for event in context.log.events if event.key not in KEYS}
    if others:
        yield Violation(
            "log.txt",
            "the keys of the contract",
            ", ".join(
                f"{key[:40]} = {shown(event.value)[:60]}"
                for key, event in list(others.items())[:MAX_NAMES]
            ),
            next(iter(others.values())).line,
        )


def _types(context: BundleContext) -> Iterator[Violation]:
    """Check that starts and stops are the ends of intervals, and everything else a point in
    time."""
    for rank, log in context.logs():
        wrong: dict[str, list[LogEvent]] = {}
        for event in log.events:
            if event.event_type != _type_of(event.key):
                wrong.setdefault(event.key, []).append(event)
        for key, events in wrong.items():
            observed = f"event_type {events[0].event_type[:40]!r} in line {events[0].line}"
            observed += f" and {len(events) - 1} more" if len(events) > 1 else ""
            yield Violation(
                log_name(rank),
                f"event_type {_type_of(key)!r} for {key[:80]}",
                observed,
                events[0].line,
            )


def _type_of(key: str) -> str:
    return TYPES.get(key[key.rfind("_") :], POINT) if "_" in key else POINT


def _clocks(context: BundleContext) -> Iterator[Violation]:
    """Check that monotonic times are not negative, and that the wall clock runs: it may be set, but
    it does not stand still."""
    for rank, log in context.logs():
        early = next(
            (event for event in log.events if event.mono_ns is not None and event.mono_ns < 0), None
        )
        if early is not None:
            yield Violation(
                log_name(rank),
                "a monotonic clock that counts from the boot",
                f"mono_ns = {early.mono_ns}",
                early.line,
            )
        timed = [
            (event.time_ms / 1000, event.mono_ns * SECONDS_PER_NS)
            for event in log.events
            if event.mono_ns is not None
        ]
        intervals = [
            (later[0] - wall_s, later[1] - mono_s) for (wall_s, mono_s), later in pairwise(timed)
        ]
        rates = [wall_s / mono_s for wall_s, mono_s in intervals if mono_s >= MIN_CLOCK_INTERVAL_S]
        if (
            len(rates) >= MIN_CLOCK_INTERVALS
            and not CLOCK_RATES[0] <= median(rates) <= CLOCK_RATES[1]
        ):
            yield Violation(
                log_name(rank),
                "a wall clock (time_ms) that runs as fast as the monotonic clock between most"
                " events",
                f"{median(rates):.2g} s a second, the median of {len(rates)} intervals",
            )


def _initialisation(context: BundleContext) -> Iterator[Violation]:
    begin, start = context.log.first("init_start"), context.log.first("run_start")
    if begin is None or start is None or begin.mono_ns is None or start.mono_ns is None:
        return
    took_s = (start.mono_ns - begin.mono_ns) * SECONDS_PER_NS
    if took_s > MAX_INIT_S:
        yield Violation(
            "log.txt",
            f"run_start at most {MAX_INIT_S:.0f} s after init_start",
            f"{took_s:.1f} s after it",
            start.line,
        )


def _holes(context: BundleContext) -> Iterator[Violation]:
    """Check that between run_start and run_stop hardly any time lies outside logged intervals
    (epochs, evaluations)."""
    for rank, log in context.logs():
        epochs_s = _lengths_s(log)
        allowed_s = HOLE_S + HOLE_SHARE * (sum(epochs_s) / len(epochs_s) if epochs_s else 0.0)
        for before, after, hole_s in _outside(log):
            if hole_s > allowed_s:
                names = [
                    f"{event.key}{'' if event.epoch is None else f' of epoch {event.epoch}'}"
                    for event in (before, after)
                ]
                yield Violation(
                    log_name(rank),
                    f"at most {allowed_s:.1f} s between {names[0]} and {names[1]}, which no logged"
                    " interval covers",
                    f"{hole_s:.3f} s",
                    after.line,
                )


def _lengths_s(log: Log) -> list[float]:
    starts = {event.epoch: event.mono_ns for event in log.all("epoch_start")}
    lengths = []
    for stop in log.all("epoch_stop"):
        start_ns = starts.get(stop.epoch)
        if start_ns is not None and stop.mono_ns is not None:
            lengths.append((stop.mono_ns - start_ns) * SECONDS_PER_NS)
    return lengths


def _outside(log: Log) -> Iterator[tuple[LogEvent, LogEvent, float]]:
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


RULES = (
    Rule(
        "log-keys-once",
        "A rank logs each value once, or once an epoch.",
        "Readers that take the first and readers that take the last value must see the same run.",
        TRAINING_LOOP,
        (OfBundle("log-keys-once", _once),),
    ),
    Rule(
        "log-namespace",
        "Every line of a log has the namespace edge.",
        "The contract writes it; lines of another namespace are another program's.",
        TRAINING_LOOP,
        (OfBundle("log-namespace", _namespaces),),
    ),
    Rule(
        "log-keys-own",
        "Keys in the log of a closed run that are not the contract's are reported with their"
        " values.",
        "An implementation may log more of itself. A reader should see it: weights that were"
        " loaded, or another precision.",
        "explain them in the notes of the submission",
        (OfBundle("log-keys-own", _known_keys, divisions=CLOSED, severity=Severity.NOTE),),
    ),
    Rule(
        "log-event-types",
        "Events named …_start and …_stop are the ends of intervals (INTERVAL_START,"
        " INTERVAL_END), all others points (POINT_IN_TIME).",
        "Readers of MLPerf logs take the intervals from the event types.",
        TRAINING_LOOP,
        (OfBundle("log-event-types", _types),),
    ),
    Rule(
        "log-clocks-run",
        "Monotonic times are not negative, and the wall clock runs between most events.",
        "A log that a script wrote afterwards has times of one moment, or of before the boot.",
        TRAINING_LOOP,
        (OfBundle("log-clocks-run", _clocks),),
    ),
    Rule(
        "initialisation-capped",
        "The run starts at most 30 minutes after its initialisation does.",
        "What is built, compiled and tuned before run_start is not measured: without a limit,"
        " training could be moved there.",
        "build, compile and tune in less time before run_start; what takes longer belongs to"
        " the run",
        (OfBundle("initialisation-capped", _initialisation),),
    ),
    Rule(
        "time-accounted",
        "Between run_start and run_stop no gap between epochs and evaluations is longer than"
        " five seconds and a tenth of an epoch.",
        "A gap is time of which nothing is known: an epoch that was taken out leaves one.",
        TRAINING_LOOP,
        (OfBundle("time-accounted", _holes),),
    ),
)
