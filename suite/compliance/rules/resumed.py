"""Resumed runs: what they record of the run that they continue, and that the closed division has
none."""

from reference_impls.contract import log_name
from suite.bundle.layout import RUN
from suite.bundle.log import LogEvent
from suite.bundle.resumption import MS_PER_S, Resumption, read_resumption
from suite.catalog.uncounted_limits import load_uncounted_limits
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted

ORDER = 28  # before the log's course, which begins later in a resumed run

RESTORED, OPTION = "state_restored", "--resume"


def _check_not_resumed(context: BundleContext) -> Violations:
    if context.run.resumed is not None:
        yield Violation(
            RUN,
            "a run that does not continue another one (key `resumed`)",
            "a record of the earlier run",
        )


def _agrees(context: BundleContext) -> Violations:
    """Check the record against command and logs: the restored state, and the times before."""
    try:
        resumed = read_resumption(context.run.resumed)
    except ValueError as error:
        expected = "a valid record of the earlier run, or no record (key `resumed`)"
        yield Violation(RUN, expected, str(error))
        return
    yield from _restored(context, resumed)
    if resumed is None:
        return
    command = [str(word).partition("=")[0] for word in context.run.command]
    for expected, is_so, observed in (
        (
            f"1 to {context.request.epochs} epochs trained before this run",
            1 <= resumed.epoch <= context.request.epochs,
            counted(resumed.epoch, "epoch"),
        ),
        (
            "an earlier run on at least one node, and on no more nodes than it has ranks",
            1 <= resumed.nodes <= resumed.ranks,
            f"{counted(resumed.ranks, 'rank')} on {counted(resumed.nodes, 'node')}",
        ),
        (
            "a run id of the earlier run that differs from this run's",
            resumed.run_id != context.run.run_id,
            f"{resumed.run_id[:100]} for both",
        ),
        ("the reason why the earlier run ended", bool(resumed.reason.strip()), "no reason"),
        (
            f"{OPTION} in the command of a resumed run",
            OPTION in command or "run" not in command[:4],
            " ".join(command)[:200],
        ),
    ):
        if not is_so:
            yield Violation(RUN, f"{expected} (key `resumed`)", observed)
    yield from _times(context, resumed)


def _restored(context: BundleContext, resumed: Resumption | None) -> Violations:
    """Check that every rank of a resumed run, and of no other, logged the state that the record
    names."""
    for rank, log in context.logs():
        event = log.first(RESTORED)
        if resumed is None and event is not None:
            yield Violation(
                log_name(rank),
                "a record, in run.json, of the run whose state was restored",
                "none",
                event.line,
            )
        elif resumed is not None and (
            event is None or event.epoch != resumed.epoch or event.value != dict(resumed.state)
        ):
            yield Violation(
                log_name(rank),
                f"an event {RESTORED} of epoch {resumed.epoch}, with the digests that {RUN}"
                " records",
                "no such event" if event is None else f"epoch {event.epoch}, {event.value!r}"[:200],
                None if event is None else event.line,
            )


def _times(context: BundleContext, resumed: Resumption) -> Violations:
    """Check that the run before began, trained and ended before this one began."""
    start = context.log.first("run_start")
    before_s = resumed.before_s(start) if start is not None else None
    if before_s is None or start is None:
        return
    for is_wrong, expected, observed in _order(resumed, start, before_s):
        if is_wrong:
            yield Violation(RUN, f"{expected} (key `resumed`)", observed)
            break
    max_s = _max_uncounted_s(resumed, before_s + resumed.uncounted_s)
    if resumed.uncounted_s > max_s:
        yield Violation(
            RUN,
            f"at most {max_s:.1f} s of uncounted time in the earlier runs (key"
            " `resumed.uncounted_s`), according to the limits in rules/uncounted.toml",
            f"{resumed.uncounted_s:.1f} s",
        )


def _order(
    resumed: Resumption, start: LogEvent, before_s: float
) -> tuple[tuple[bool, str, str], ...]:
    """What must come before what: whether it does not, what is expected and observed."""
    trained_s = (resumed.ended_time_ms - resumed.began_time_ms) / MS_PER_S
    late_s = (resumed.ended_time_ms - start.time_ms) / MS_PER_S
    return (
        (
            trained_s < 0,
            "the earlier run's last event not before the first run's run_start",
            f"{-trained_s:.3f} s before it",
        ),
        (
            late_s > 0,
            "the earlier run's last event not after this run's run_start",
            f"{late_s:.3f} s after it",
        ),
        (
            before_s < 0,
            f"at most {before_s + resumed.uncounted_s:.3f} s of uncounted time: the time from the"
            " first run's run_start to this run's run_start",
            f"{resumed.uncounted_s:.3f} s",
        ),
    )


def _max_uncounted_s(resumed: Resumption, since_s: float) -> float:
    """What the runs since the first run_start, ``since_s`` ago, may have left out: of each of them,
    every reason its free seconds and its share.

    Each of them trained one of the epochs before at least. Their logs, which show the intervals,
    are in other bundles.
    """
    limits = load_uncounted_limits()
    return sum(
        limits.free_s * max(resumed.epoch, 1) + reason.max_share * since_s
        for reason in limits.reasons
    )


RULES = (
    Rule(
        "closed-resumed",
        "A closed run does not continue another run: it trains from its initial weights to its "
        "end.",
        "The bundle of a resumed run has no readings of the first epochs and of the time between"
        " the runs, so energy and disturbances of that time are unknown.",
        "train from the initial weights to the end, or run in the open division",
        (OfBundle("closed-resumed", _check_not_resumed, CLOSED),),
    ),
    Rule(
        "resumed-agrees",
        "A resumed run has a record of the run that it continues: that run's numbers of ranks and"
        " nodes, when the training began, and when and why that run ended. The record also has the"
        " digests of the restored state, and every rank logged these digests. The time to the"
        " target counts from the run_start of the first run, and includes the time between the"
        " runs. The limits of uncounted time apply to the earlier runs, too.",
        "The log of a resumed run shows only the last part of the training. Without the record, the"
        " time of the earlier part would be missing, and nobody would see on how many nodes it"
        " ran.",
        "hand in run.json and the logs as `suite run --resume` wrote them",
        (OfBundle("resumed-agrees", _agrees),),
    ),
)
