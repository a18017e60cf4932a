"""What is not counted: logged intervals between epochs and evaluations, few and short"""

from collections import Counter
from collections.abc import Iterator

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.log import Log, LogEvent
from suite.catalog.uncounted import load_uncounted_limits
from suite.compliance.faults.fault import Edit, both, in_turn, recomputed
from suite.compliance.faults.log_edits import EPOCHS, delay_later_events, move_into_epoch, remove_event, repeat_interval, set_metadata, swap_events
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.wording import seconds

ORDER = 36  # after the order of events and their form

START, STOP = "uncounted_start", "uncounted_stop"
COUNTED = tuple(f"{what}_{end}" for what in ("run", "epoch", "eval") for end in ("start", "stop"))
FIX = "the suite's training loop does not log this: hand in the log as the run wrote it, or mend the implementation"
SHORTER = "keep states on a faster disk (--output), or without --keep-states"


def _bounded(context: BundleContext) -> Iterator[Violation]:
    for rank, log in context.logs():
        yield from _form(log, log_name(rank))
        yield from _lengths(log, log_name(rank))


def _form(log: Log, name: str) -> Iterator[Violation]:
    """Check that every interval has both ends, a known reason, and lies in the run, outside of epochs and evaluations; one finding at most."""
    begun: LogEvent | None = None
    inside: str | None = "the time before run_start"
    for event in log.events:
        if event.key in (START, STOP):
            problem = _problem(event, begun, inside)
            if problem is not None:
                yield Violation(name, *problem, FIX, event.line)
                return
            begun = event if event.key == START else None
        elif event.key in COUNTED:
            if begun is not None:
                yield Violation(name, f"{STOP} of line {begun.line} before {event.key}", "it was not logged", FIX, event.line)
                return
            what, _, end = event.key.partition("_")
            if what == "run":
                inside = None if end == "start" else "the time after run_stop"
            else:
                inside = f"the {what} of epoch {event.epoch}" if end == "start" else None


def _problem(event: LogEvent, begun: LogEvent | None, inside: str | None) -> tuple[str, str] | None:
    """What is wrong with an end of an interval, as (expected, observed); ``begun`` is the open interval, ``inside`` what is going on."""
    reason = event.metadata.get("reason")
    if inside is not None:
        return f"{event.key} between epochs and evaluations", f"within {inside}"
    if event.key == START and begun is not None:
        return f"{STOP} of line {begun.line} first", START
    if event.key == STOP and begun is None:
        return f"{START} before {STOP}", "no interval was begun"
    if begun is not None and begun.metadata.get("reason") != reason:
        return f"the reason of line {begun.line}, {begun.metadata.get('reason')!r}"[:200], f"{reason!r}"[:100]
    if load_uncounted_limits().reason(reason) is None:
        return f"one of the reasons {', '.join(one.name for one in load_uncounted_limits().reasons)}", f"{reason!r}"[:100]
    return None


def _lengths(log: Log, name: str) -> Iterator[Violation]:
    """Check number and length of the intervals, and what they take together."""
    from suite.bundle.log import run_window  # start-up: loads numpy
    from suite.metrics.uncounted import uncounted_intervals  # start-up: loads numpy

    limits, intervals, run = load_uncounted_limits(), uncounted_intervals(log), run_window(log)
    stops = [event.line for event in log.all("epoch_stop")]
    for reason in limits.reasons:
        chosen = [interval for interval in intervals if interval.reason == reason.name]
        per_epoch = Counter(sum(line < interval.line for line in stops) for interval in chosen)
        for epoch, count in per_epoch.items():
            if count > reason.max_per_epoch:
                yield Violation(name, f"at most {reason.max_per_epoch} uncounted for {reason.name} after epoch {epoch}", f"{count}", FIX)
        for interval in chosen:
            if interval.length_s > reason.max_s:
                expected = f"at most {reason.max_s:g} s uncounted for {reason.name} at a time"
                yield Violation(name, expected, seconds(interval.length_s), SHORTER, interval.line)
        taken_s = sum(interval.length_s for interval in chosen)
        gross_s = 0.0 if run is None else (run[1] - run[0]) * SECONDS_PER_NS
        if run is not None and taken_s > limits.free_s + reason.max_share * gross_s:
            expected = f"at most {limits.free_s:g} s and {reason.max_share:.0%} of the run's {seconds(gross_s)} uncounted for {reason.name}"
            yield Violation(name, expected, f"{seconds(taken_s)} in {len(chosen)} intervals", SHORTER)


def _pause_after_every_epoch() -> Edit:
    named = (set_metadata(key, number, reason="pause") for key in (START, STOP) for number in EPOCHS)
    return in_turn(*named, *(delay_later_events(STOP, number, 600) for number in EPOCHS))


RULES = (
    Rule(
        id="uncounted-bounded",
        sentence="What is not counted into a run's time lies between epochs and evaluations, has a known reason, and is bounded in number, length "
        "and sum (rules/uncounted.toml).",
        rationale="Keeping a training state is evidence and not training; without limits, training, cooling or reading ahead could be moved there.",
        bundle_check=_bounded,
        faults=(
            *both("an uncounted interval that does not end", remove_event(STOP, 1)),
            *both("an uncounted interval that does not begin", remove_event(START, 1)),
            *both("the ends of an uncounted interval exchanged", swap_events(START, STOP)),
            *both(
                "an unknown reason",
                in_turn(set_metadata(START, 1, reason="lunch"), set_metadata(STOP, 1, reason="lunch")),
            ),
            *both("no reason", in_turn(set_metadata(START, 1, reason=None), set_metadata(STOP, 1, reason=None))),
            *both("another reason at the end", set_metadata(STOP, 1, reason="pause")),
            *both("two uncounted intervals after an epoch", repeat_interval(1)),
            *both("the last ten seconds of an epoch uncounted", move_into_epoch(1, 10)),
            recomputed("90 seconds uncounted after epoch 2", delay_later_events(STOP, 1, 90)),
            recomputed("ten minutes uncounted after every epoch, as pauses", _pause_after_every_epoch()),
        ),
    ),
)
