"""Submissions: runs that are copies of others, or overlap with others in time."""

from collections.abc import Iterable
from functools import partial
from itertools import product

from reference_impls.contract import SECONDS_PER_NS
from suite.compliance.copies import POWER_LENGTH
from suite.compliance.finding import Severity
from suite.compliance.rule import Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.files.counted import counted

ORDER = 105  # after the entries

ONE_BOOT_S = 0.5
"""A machine takes longer to start again; the wall clock runs off the monotonic one by less between
two runs, unless it is set."""
MIN_SHARED_ROWS = 2
"""Places of the sample at which two runs have the same power, memory or losses: eleven in a row.
For a power sensor with ten values of equal chance, 4e-8 a pair of runs of an hour."""

SHARED = {
    "run_id": "the same run id",
    "times": "the same times between the first steps",
    "readings": "the same times between the first readings",
    "moment_of_digests": "the same time stamp of the data's digests",
    "losses": "the same first losses",
}


def _shared_values(names: Iterable[str], fix: str, context: SubmissionContext) -> Violations:
    """Values that a run shares with one that began before it, in this submission or another."""
    for name, run in product(names, context.runs):
        value = getattr(run, name)
        alike = (
            other
            for other in (*context.runs, *context.other_runs)
            if other is not run and value is not None and getattr(other, name) == value
        )
        other = next((other for other in alike if _is_later(context, run, other)), None)
        if other is not None:
            where = (
                other.name
                if other.submission == run.submission
                else f"{other.full_name}, {_order(other, run)}"
            )
            yield Violation(
                run.name,
                f"no other run with {SHARED[name]}",
                f"{SHARED[name]} as in {where}",
                fix=fix,
            )


def _is_later(context: SubmissionContext, run: SubmittedRun, other: SubmittedRun) -> bool:
    """Whether a run began after the other, by what both record.

    Of runs that began at the same time, the one that comes first in a submission is the earlier
    one; in two submissions neither is.
    """
    if run.started_time_ms != other.started_time_ms or run.submission != other.submission:
        return run.started_time_ms >= other.started_time_ms
    return context.runs.index(run) > context.runs.index(other)


def _order(first: SubmittedRun, second: SubmittedRun) -> str:
    earlier_s = (second.started_time_ms - first.started_time_ms) / 1000
    return (
        f"which began {earlier_s:.0f} s earlier according to its record"
        if earlier_s
        else "which began at the same time according to its record"
    )


def _near_copies(context: SubmissionContext) -> Violations:
    """The later run of each pair, by what both record: a copy may say that it was first, so the
    finding names both. Of one id they are duplicates."""
    for copied in (copied for copied in context.copies if copied.run.run_id != copied.other.run_id):
        if _is_later(context, copied.run, copied.other):
            yield Violation(
                copied.run.name,
                "step times and losses that vary independently of those of any other run",
                f"{copied.what}; the other run is {copied.other.full_name},"
                f" {_order(copied.other, copied.run)}",
            )
    for what in ("power", "memory"):
        yield from _shared_readings(context, what)


def _shared_readings(context: SubmissionContext, what: str) -> Violations:
    """Runs that have power readings, or readings of the used memory, in a row of a run that began
    before."""
    for run in context.runs:
        sample: frozenset[int] = getattr(run, what)
        for other in (*context.runs, *context.other_runs):
            shared = len(sample & getattr(other, what)) if other.run_id != run.run_id else 0
            if shared >= MIN_SHARED_ROWS and _is_later(context, run, other):
                yield Violation(
                    run.name,
                    f"at most {MIN_SHARED_ROWS - 1} sequence of {POWER_LENGTH} consecutive {what}"
                    " readings that another run has, too",
                    f"{shared} of {len(sample)} sequences compared, shared with"
                    f" {other.full_name}, {_order(other, run)}",
                    fix="hand in the readings as they were recorded, or run again",
                )
                break


def _seed_losses(context: SubmissionContext) -> Violations:
    """Runs that share their first losses, or losses in a row anywhere, with a run of another
    seed."""
    for run in context.runs:
        for other in (*context.runs, *context.other_runs):
            if run.request.get("seed") == other.request.get("seed"):
                continue
            has_first = run.losses is not None and run.losses == other.losses
            shared = len(run.loss_rows & other.loss_rows)
            if has_first or shared >= MIN_SHARED_ROWS:
                expected, observed = (
                    ("first losses that no run with another seed has", "the first losses of")
                    if has_first
                    else (
                        f"at most {MIN_SHARED_ROWS - 1} sequence of {POWER_LENGTH} consecutive"
                        " losses that a run with another seed has, too",
                        f"{shared} of {len(run.loss_rows)} sequences compared, shared with",
                    )
                )
                yield Violation(run.name, _of_seed(expected, run), f"{observed} {_named(other)}")
                break


def _of_seed(expected: str, run: SubmittedRun) -> str:
    return f"{expected} (this run's seed: {run.request.get('seed')!r})"


def _named(run: SubmittedRun) -> str:
    return f"{run.full_name}, whose seed is {run.request.get('seed')!r}"


def _states(context: SubmissionContext) -> Violations:
    """Runs that share a training state with a run of another seed."""
    for run in context.runs:
        for other in (*context.runs, *context.other_runs):
            shared = run.states & other.states
            if shared and run.request.get("seed") != other.request.get("seed"):
                observed = (
                    f"{counted(len(shared), 'digest')} of training states, such as"
                    f" {min(shared)[:16]}…, shared with {_named(other)}"
                )
                expected = _of_seed("training states that no run with another seed has", run)
                yield Violation(run.name, expected, observed[:300])
                break


def _overlaps(context: SubmissionContext) -> Violations:
    """Runs whose log, or whose idle measurement, lies within the time of another run since the same
    boot; of one id they are duplicates."""
    for run in context.runs:
        for other in (*context.runs, *context.other_runs):
            if (
                other.run_id == run.run_id
                or run.boot is None
                or run.boot != other.boot
                or run.span_ns is None
                or other.span_ns is None
            ):
                continue
            for what, span_ns in (("the run", run.span_ns), ("its idle measurement", run.idle_ns)):
                shared_ns = (
                    0
                    if span_ns is None
                    else min(span_ns[1], other.span_ns[1]) - max(span_ns[0], other.span_ns[0])
                )
                if shared_ns > 0:
                    yield Violation(
                        run.name,
                        "one run at a time on a machine",
                        f"{what} and {other.full_name} overlap by {shared_ns * SECONDS_PER_NS:.1f}"
                        f" s (boot id {run.boot[:40]})",
                    )


def _boots(context: SubmissionContext) -> Violations:
    """Runs with another boot id than the first one's, whose clocks began at the same time."""
    for run in context.runs[1:]:
        first = context.runs[0]
        if (
            None not in (run.boot, first.boot)
            and run.boot != first.boot
            and run.booted_apart_s(first) < ONE_BOOT_S
        ):
            yield Violation(
                run.name,
                f"the boot id of {first.name}, because both runs' monotonic clocks began within"
                f" {ONE_BOOT_S:g} s of each other",
                "another boot id",
            )


RULES = (
    Rule(
        "submission-copies",
        "No run is submitted twice, and no run is a copy of another run in this or another"
        " submission. No two runs have the same id, the same times between their first steps or"
        " first"
        " readings, or the same time at which their data was hashed. No two runs have step times"
        " that vary together, or that are the same in another order. Two runs share at most one"
        " sequence of ten successive power readings, and at most one of ten successive readings of"
        " the used memory. No two closed runs with different seeds have losses that vary together."
        " Two runs that begin with the same losses are a warning.",
        "A copied run makes an entry's spread look smaller. Disturbances slow different steps in"
        " every run, and with another seed every mini-batch has other samples. So the step times of"
        " two runs vary independently, and so do the losses. The step times and losses of a copy"
        " vary with those of the original, even if somebody adds noise. The noise of power and"
        " memory readings never repeats in another run."
        " Equal losses may come from equal machines and seeds, or from a copy with edited times, so"
        " a reviewer decides about them.",
        "submit each run once, with its own files as they were recorded; if this run is the"
        " original, show the reviewer a witness's receipt for it, or the commit that first"
        " contained it",
        (
            OfSubmission(
                "submission-duplicates",
                partial(
                    _shared_values,
                    ("run_id", "times", "readings", "moment_of_digests"),
                    "submit each run once, with its own files",
                ),
            ),
            OfSubmission("submission-near-copies", _near_copies),
            OfSubmission(
                "submission-losses",
                partial(
                    _shared_values,
                    ("losses",),
                    "tell the reviewer on which machines and with which seeds the runs were made",
                ),
                severity=Severity.WARNING,
            ),
        ),
    ),
    Rule(
        "submission-seed-losses",
        "Two runs with different seeds do not begin with the same losses, and share at most one"
        " sequence of ten consecutive losses. They share no training state; the states are"
        " compared by digests of their parameters and velocities.",
        "The seed decides the initial weights and the order of samples, so runs with different"
        " seeds have different losses, and different training states after every epoch. If a run's"
        " record was copied and given another seed, losses or states would show it.",
        "repeat this run with the seed that its run.json records",
        (
            OfSubmission("submission-seed-losses", _seed_losses),
            OfSubmission("submission-states", _states),
        ),
    ),
    Rule(
        "submission-overlap",
        "Two runs with the same boot id do not overlap in time; a run includes its measurement of"
        f" the idle machine. If a run has another boot id than the submission's first run, the"
        f" monotonic clocks of the two began at least {ONE_BOOT_S:g} s apart.",
        "Two runs at once slow each other down, or one of them never took place. Overlaps are"
        " looked for only among runs with the same boot id, so a changed boot id would hide them."
        " The monotonic clock begins when the machine starts: if it began at the same time for"
        " both runs, the machine did not start again between them.",
        "make the runs one after another, and hand in the logs as the runs wrote them",
        (
            OfSubmission("submission-overlap", _overlaps),
            OfSubmission("submission-boots", _boots),
        ),
    ),
)
