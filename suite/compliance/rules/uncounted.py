"""What is not counted: logged intervals between epochs and evaluations, few and short"""

import math
from collections import Counter
from collections.abc import Sequence

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.log import Log, LogEvent, run_window
from suite.catalog.frameworks import is_own
from suite.catalog.uncounted_limits import load_uncounted_limits
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import seconds_text
from suite.files.counted import counted
from suite.metrics.counted_time import UncountedInterval, uncounted_intervals

ORDER = 36  # after the order of events and their form

START, STOP = "uncounted_start", "uncounted_stop"
INTERVALS = {"epoch": "epoch", "eval": "the evaluation of epoch"}
COUNTED = tuple(f"{what}_{end}" for what in ("run", "epoch", "eval") for end in ("start", "stop"))
FIX = (
    "the suite's training loop does not log this: hand in the log as the run wrote it, or fix "
    "the implementation"
)
OWN_REASON = "state"
"""What the suite's own training loop logs as uncounted; receipts of a witness are asked for before
and after the run."""
KEEPING = {"--keep-states", "--short"}
"""Options with which the state of every epoch is kept."""
STATE_BYTES = 12  # a parameter: its value, its velocity, and as much again for a model's statistics
SLOWEST_DIGEST_BYTES_PER_S, LONGEST_CALL_S, LONGEST_DELAY_S = 1e7, 0.05, 1.0
"""Reading and digesting a state: SHA-256 of a board without instructions for it, 60 MB/s and more;
real runs of LeNet-5 took 0.2 to 24 ms."""
SHORTER = (
    "if the reason is `state`: write to a faster disk (--output) or run without --keep-states; if "
    "`receipt`: use a witness that answers faster (--witness); if `pause`: continue the run sooner"
)


def _bounded(context: BundleContext) -> Violations:
    for rank, log in context.logs():
        yield from _form(log, log_name(rank))
        yield from _lengths(log, log_name(rank))


def _form(log: Log, name: str) -> Violations:
    """Check that every interval has both ends, a known reason, and lies in the run, outside of
    epochs and evaluations; one finding at most."""
    begun: LogEvent | None = None
    inside: str | None = "the time before run_start"
    for event in log.events:
        if event.key in (START, STOP):
            problem = _problem(event, begun, inside)
            if problem is not None:
                yield Violation(name, *problem, event.line)
                return
            begun = event if event.key == START else None
        elif event.key in COUNTED:
            if begun is not None:
                yield Violation(
                    name,
                    f"{STOP} before {event.key}, for the {START} in line {begun.line}",
                    f"no {STOP}",
                    event.line,
                )
                return
            what, _, end = event.key.partition("_")
            if what == "run":
                inside = None if end == "start" else "the time after run_stop"
            else:
                inside = f"{INTERVALS[what]} {event.epoch}" if end == "start" else None


def _problem(event: LogEvent, begun: LogEvent | None, inside: str | None) -> tuple[str, str] | None:
    """What is wrong with an end of an interval, as (expected, observed); ``begun`` is the open
    interval, ``inside`` what is going on."""
    reason = event.metadata.get("reason")
    if inside is not None:
        expected = f"{event.key} in the run, but outside epochs and evaluations"
        return expected, f"{event.key} within {inside}"
    if event.key == START and begun is not None:
        return f"{STOP} for the {START} in line {begun.line}", f"another {START} before it"
    if event.key == STOP and begun is None:
        return f"{START} before {STOP}", f"{STOP} without {START}"
    if begun is not None and begun.metadata.get("reason") != reason:
        given = f"the reason {begun.metadata.get('reason')!r}"[:100]
        return f"{given}, as in the {START} in line {begun.line}", f"the reason {reason!r}"[:100]
    if load_uncounted_limits().reason(reason) is None:
        return (
            f"one of the reasons {', '.join(one.name for one in load_uncounted_limits().reasons)}",
            f"the reason {reason!r}"[:100],
        )
    return None


def _lengths(log: Log, name: str) -> Violations:
    """Check number and length of the intervals, and what they take together."""

    limits, intervals = load_uncounted_limits(), uncounted_intervals(log)
    stops = log.all("epoch_stop")
    for reason in limits.reasons:
        chosen = [interval for interval in intervals if interval.reason == reason.name]
        passed = Counter(sum(stop.line < interval.line for stop in stops) for interval in chosen)
        for number, count in passed.items():
            if count > reason.max_per_epoch:
                since = f"epoch {stops[number - 1].epoch}" if number else "run_start"
                yield Violation(
                    name,
                    f"at most {counted(reason.max_per_epoch, 'uncounted interval')} for the reason"
                    f" `{reason.name}` after {since} and before the end of the next epoch",
                    f"{counted(count, 'uncounted interval')}",
                )
        for interval in chosen:
            if interval.length_s > reason.max_s:
                yield Violation(
                    name,
                    f"at most {reason.max_s:g} s per uncounted interval for the reason"
                    f" `{reason.name}`",
                    seconds_text(interval.length_s),
                    interval.line,
                    fix=SHORTER,
                )
        yield from _in_all(log, name, chosen, reason.max_share, f" for the reason `{reason.name}`")


def _needed(context: BundleContext) -> Violations:
    """Check what all reasons take together, the reasons of the suite's own loop, and the time for
    states that were digested and not kept."""

    for rank, log in context.logs():
        intervals, name = uncounted_intervals(log), log_name(rank)
        share = max(reason.max_share for reason in load_uncounted_limits().reasons)
        yield from _in_all(log, name, intervals, share, " for all reasons together")
        other = next((interval for interval in intervals if interval.reason != OWN_REASON), None)
        if other is not None and is_own(context.request.framework):
            yield Violation(
                name,
                f"no reason except `{OWN_REASON}`, because the suite's own training loop has no"
                " other reason for uncounted time",
                f"the reason {other.reason!r}",
                other.line,
            )
        if KEEPING.isdisjoint(str(word).partition("=")[0] for word in context.run.command):
            yield from _digested(
                context,
                name,
                sorted(
                    interval.length_s for interval in intervals if interval.reason == OWN_REASON
                ),
            )


def _in_all(
    log: Log, name: str, intervals: Sequence[UncountedInterval], share: float, what: str
) -> Violations:
    """Check what intervals take together against a share of the run."""
    free_s, run = load_uncounted_limits().free_s, run_window(log)
    taken_s = sum(interval.length_s for interval in intervals)
    gross_s = math.inf if run is None else (run[1] - run[0]) * SECONDS_PER_NS
    if taken_s > free_s + share * gross_s:
        yield Violation(
            name,
            f"uncounted time of at most {seconds_text(free_s + share * gross_s)}{what}: {free_s:g}"
            f" s + {share:.0%} of the run time of {seconds_text(gross_s)}",
            f"uncounted time of {seconds_text(taken_s)} in {counted(len(intervals), 'interval')}",
            fix=SHORTER,
        )


def _digested(context: BundleContext, name: str, lengths_s: Sequence[float]) -> Violations:
    """Check the times, in ascending order, against a slow digest: most of them, and all together
    with one delay."""
    parameters, count, taken_s = context.workload.parameters, len(lengths_s), sum(lengths_s)
    longest_s = LONGEST_CALL_S + STATE_BYTES * parameters / SLOWEST_DIGEST_BYTES_PER_S
    median_s = lengths_s[(count - 1) // 2] if count else 0.0
    if median_s > longest_s or taken_s > count * longest_s + LONGEST_DELAY_S:
        yield Violation(
            name,
            f"uncounted intervals for the reason `{OWN_REASON}` of at most {longest_s:.3g} s in the"
            f" median and at most {count * longest_s + LONGEST_DELAY_S:.3g} s in all, because the"
            f" run keeps no states: each interval only hashes {parameters} parameters",
            f"{median_s:.3g} s in the median of {counted(count, 'interval')}, {taken_s:.3g} s in"
            " all",
        )


RULES = (
    Rule(
        "uncounted-time",
        "An interval of uncounted time (uncounted_start to uncounted_stop in the log) lies in the"
        " run, outside epochs and evaluations, and has a known reason. For each reason,"
        " rules/uncounted.toml limits the number of intervals per epoch, the length of each, and"
        " their sum. Closed runs have three more limits. All intervals together last at most 2 s"
        " plus 10 % of the run time. The suite's own training loop uses only the reason `state`"
        " (hashing and saving the training state). Without --keep-states and --short, the median"
        " interval for `state` is no longer than a slow machine needs to hash the state once (0.05"
        " s, plus 12 bytes per parameter at 10 MB/s). All n of these intervals together take at"
        " most n times this limit, plus one second.",
        "These intervals are not training: a run hashes or saves its state, asks a witness for a"
        " receipt, or pauses. Without limits, it could train, cool down or read ahead in this"
        " time.",
        FIX,
        (
            OfBundle("uncounted-bounded", _bounded),
            OfBundle("uncounted-needed", _needed, CLOSED),
        ),
    ),
)
