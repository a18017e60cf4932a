"""Witnesses: receipt and stamps are of this run and its files, and their times bound it."""

from collections.abc import Sequence
from itertools import pairwise

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.layout import RUN, SYSTEM, WITNESS
from suite.bundle.log import chain_head
from suite.bundle.manifest import evidence_files
from suite.compliance import values
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.errors import FileError
from suite.files.counted import counted
from suite.files.signature import SignatureState
from suite.witness.record import WitnessRecord, read_witness_record
from suite.witness.tokens import TokenVerdict, WitnessVerdict, judge_tokens, trust_list

ORDER = 76  # after the log's own times

MAX_START_S, MAX_STOP_S = 60.0, 30.0
"""Longest time from the receipt to init_start (starting Python, loading the framework), and from
run_stop to the stamp (ending it)."""
MAX_AGAIN = 2.0
"""How much longer an adaptation may take for its old task after training, on a board that is hot by
then, than for all from init_start to the end of the same evaluation before training."""
MAX_ANSWER_S = 6.0
TOLERANCE_S, DRIFT = 2.0, 5e-4
"""How far two clocks may differ: authorities stamp whole seconds, and NTP slews a clock by up to
500 ppm."""
MAX_CLOSE_S = 900.0
"""Longest time from the stamp to the one over the files for which a run is called witnessed: a run
of ten hours is closed in minutes."""
OPTION, MISSING = (
    "--witness",
    "no such file; the harness writes it even if the witness does not answer",
)

RESTORE = "restore the bundle as `suite run` sealed it; if a witnessed run was edited, run again"


def _time(context: BundleContext) -> Violations:
    record = _record(context)
    if record is None:
        return
    verdict = witness_verdict(context, record)
    yield from _tokens(verdict)
    yield from _heads(context, record)
    if record.stamp is not None and verdict.receipt is not None and verdict.stamp is not None:
        yield from _answers(record)
        yield from _witness_clock(record, verdict.receipt, verdict.stamp)
        yield from _log_clock(context, record, verdict.receipt, verdict.stamp)


def _record(context: BundleContext) -> WitnessRecord | None:
    return context.bundle.cached("witness record", lambda: read_witness_record(context.bundle.path))


def witness_verdict(context: BundleContext, record: WitnessRecord) -> WitnessVerdict:
    """The verdicts on the record's tokens, by the witnesses that the rulebook knows."""
    request = context.bundle.json(RUN)["request"]
    return context.bundle.cached(
        "witness",
        lambda: judge_tokens(record, context.run.run_id, request, context.run.nonce, trust_list()),
    )


def witnessed_by(context: BundleContext) -> str | None:
    """The witness of the rulebook that saw the run begin and end, and its files, and whose times
    fit the run; None if there is none."""
    try:
        record = _record(context)
        if record is None or any(True for check in (_time, _files) for _ in check(context)):
            return None
        verdict = witness_verdict(context, record)
        return None if _closing_s(verdict) > MAX_CLOSE_S else verdict.witness
    except FileError:
        return None


def _tokens(verdict: WitnessVerdict) -> Violations:
    """Check that each token is a signature over what run.json and the log hold."""
    over = {
        "receipt": "the run's id, request and nonce",
        "stamp": "the run's id, the last chain values of its logs and the receipt",
    }
    for name, token in (("receipt", verdict.receipt), ("stamp", verdict.stamp)):
        if token is not None and token.state is SignatureState.BAD:
            yield Violation(
                WITNESS,
                f"a {name} whose signature covers {over[name]}",
                f"a {name} that cannot be trusted: {token.reason}",
            )
    if (
        verdict.receipt is not None
        and verdict.stamp is not None
        and verdict.receipt.witness != verdict.stamp.witness
    ):
        yield Violation(
            WITNESS,
            "a receipt and a stamp by the same witness, so that one clock measured both",
            f"a receipt by {verdict.receipt.witness} and a stamp by {verdict.stamp.witness}",
        )


def _heads(context: BundleContext, record: WitnessRecord) -> Violations:
    """Check that the logs end with the chain values that were stamped."""
    if record.stamp is None:
        return
    ranks = context.request.parallel.ranks
    if len(record.heads) != ranks:
        yield Violation(
            WITNESS,
            f"{counted(ranks, 'stamped chain value')}, one for each rank's log",
            counted(len(record.heads), "stamped chain value"),
        )
    for rank, stamped in zip(range(ranks), record.heads):  # noqa: B905 - unequal lengths are reported above
        head = chain_head(context.bundle.path / log_name(rank))
        if head != stamped:
            yield Violation(
                log_name(rank),
                f"a last line with the stamped chain value {stamped[:64]}",
                f"a last line with the chain value {head}" if head else "no chain value",
            )


def _answers(record: WitnessRecord) -> Violations:
    """Check that no answer took longer than the harness waits: its time would be free to choose."""
    for name, answer in (("receipt", record.receipt), ("stamp", record.stamp)):
        took_s = 0.0 if answer is None else (answer.answered_ns - answer.asked_ns) * SECONDS_PER_NS
        if not 0 <= took_s <= MAX_ANSWER_S:
            yield Violation(
                WITNESS,
                f"0 to {MAX_ANSWER_S:g} s from the request to the {name}",
                f"{took_s:.3f} s",
            )


def _files(context: BundleContext) -> Violations:
    """Check that the files are those whose digests the witness stamped when the bundle was
    closed."""
    record = _record(context)
    if record is None:
        return
    token = witness_verdict(context, record).files
    if token is None:
        return
    if token.state is SignatureState.BAD:
        yield Violation(
            WITNESS,
            "a stamp whose signature covers the receipt, the first stamp and the digests of the"
            " files",
            f"a stamp that cannot be trusted: {token.reason}",
        )
    found = evidence_files(context.bundle.path)
    for name in sorted({*record.files, *found}):
        if name not in record.files:
            yield Violation(
                name, "only files that the witness stamped", "a file that the witness did not stamp"
            )
        elif name not in found:
            yield Violation(
                WITNESS, f"the file {name[:200]}, which the witness stamped", "no such file"
            )
        elif (digest := context.bundle.sha256(found[name])) != record.files[name]:
            yield Violation(
                name,
                f"content with the SHA-256 {record.files[name][:12]}…, as the witness stamped it"
                " when the bundle was sealed",
                f"SHA-256 {digest[:12]}…",
            )


def _closing_s(verdict: WitnessVerdict) -> float:
    """Time between the two stamps by the witness's clock; 0 where there are not both."""
    times_s = [None if token is None else token.time_s for token in (verdict.stamp, verdict.files)]
    return 0.0 if times_s[0] is None or times_s[1] is None else times_s[1] - times_s[0]


def _recorded(context: BundleContext) -> Violations:
    """Check that a run which was started with a witness has the record of that witness."""
    address = _witness_address([str(word) for word in context.run.command])
    if address is None:
        return
    record = _record(context)
    if record is None:
        yield Violation(
            WITNESS, f"the record of the witness {address[:200]}, which the command names", MISSING
        )
    elif record.address != address:
        yield Violation(
            WITNESS, f"the witness that the command names, {address[:200]}", record.address
        )


def _witness_address(words: Sequence[str]) -> str | None:
    """The address that a command names last; None if it names no witness."""
    of_option = [after for word, after in pairwise([*words, ""]) if word == OPTION]
    in_one_word = [
        word.removeprefix(f"{OPTION}=") for word in words if word.startswith(f"{OPTION}=")
    ]
    return next(iter([*of_option, *in_one_word][::-1]), None)


def _witness_clock(record: WitnessRecord, receipt: TokenVerdict, stamp: TokenVerdict) -> Violations:
    """Check that the witness's clock ran for as long as this machine's between the two answers."""
    if record.stamp is None or receipt.time_s is None or stamp.time_s is None:
        return
    elapsed_s = stamp.time_s - receipt.time_s
    shortest_s = (record.stamp.asked_ns - record.receipt.answered_ns) * SECONDS_PER_NS
    longest_s = (record.stamp.answered_ns - record.receipt.asked_ns) * SECONDS_PER_NS
    slack_s = _slack_s(elapsed_s)
    if not shortest_s - slack_s <= elapsed_s <= longest_s + slack_s:
        yield Violation(
            WITNESS,
            f"{shortest_s - slack_s:.3f} to {longest_s + slack_s:.3f} s from receipt to stamp by"
            f" the witness's clock, because {shortest_s:.3f} to {longest_s:.3f} s passed by the"
            f" machine's clock (tolerance: {slack_s:.3g} s)",
            f"{elapsed_s:.3f} s by the witness's clock",
        )


def _log_clock(
    context: BundleContext, record: WitnessRecord, receipt: TokenVerdict, stamp: TokenVerdict
) -> Violations:
    """Check that the run fits between the two answers, and that little else does."""
    start, stop = (context.log.first(key) for key in ("init_start", "run_stop"))
    if (
        start is None
        or stop is None
        or start.mono_ns is None
        or stop.mono_ns is None
        or record.stamp is None
    ):
        return
    run_s = (stop.mono_ns - start.mono_ns) * SECONDS_PER_NS
    if receipt.time_s is not None and stamp.time_s is not None:
        elapsed_s = stamp.time_s - receipt.time_s
        slack_s = _slack_s(elapsed_s)
        min_s = elapsed_s - MAX_START_S - _max_stop_s(context) - 2 * MAX_ANSWER_S - slack_s
        if not min_s <= run_s <= elapsed_s + slack_s:
            yield Violation(
                "log.txt",
                f"{max(min_s, 0):.3f} to {elapsed_s + slack_s:.3f} s from init_start to run_stop:"
                f" by the witness's clock, {elapsed_s:.3f} s passed from receipt to stamp",
                f"{run_s:.3f} s",
                stop.line,
            )
    if start.metadata.get("boot") != context.bundle.json(SYSTEM).get("boot"):
        # rank 0 ran on another machine than the harness: their monotonic clocks cannot be compared
        return
    before_s = (start.mono_ns - record.receipt.answered_ns) * SECONDS_PER_NS
    after_s = (record.stamp.asked_ns - stop.mono_ns) * SECONDS_PER_NS
    for what, taken_s, max_s, line in (
        ("the receipt to init_start", before_s, MAX_START_S, start.line),
        ("run_stop to the stamp", after_s, _max_stop_s(context), stop.line),
    ):
        if not 0 <= taken_s <= max_s:
            yield Violation(
                "log.txt",
                f"0 to {max_s:g} s from {what}",
                f"{taken_s:.3f} s",
                line,
                fix=f"{RESTORE}; if the machine needs longer, run without a witness",
            )


def _max_stop_s(context: BundleContext) -> float:
    """Longest time from run_stop to the stamp: an adaptation evaluates its old task in between."""
    first = context.log.first("old_task_accuracy")
    took_s = values.elapsed_s(context.log.first("init_start"), first)
    if context.request.old_task is None or took_s is None:
        return MAX_STOP_S
    return MAX_STOP_S + MAX_AGAIN * took_s


def _slack_s(elapsed_s: float) -> float:
    return TOLERANCE_S + DRIFT * abs(elapsed_s)


def _check_witness(context: BundleContext) -> Violations:
    record = _record(context)
    if record is None:
        return
    verdict = witness_verdict(context, record)
    answers = (
        ("receipt", record.receipt, verdict.receipt),
        ("stamp", record.stamp, verdict.stamp),
        ("stamp over the files", record.files_stamp, verdict.files),
    )
    for name, answer, token in answers:
        if token is None:
            yield Violation(
                WITNESS,
                f"a {name}, made by the witness {record.address[:200]}",
                "none, because it was not requested"
                if answer is None
                else answer.reason or "none, without a reason",
                fix="start the witness before the next run",
            )
        elif token.state is SignatureState.UNKNOWN:
            yield Violation(
                WITNESS,
                f"a {name}, made by a witness that the rulebook lists",
                f"{token.witness or 'a witness'}: {token.reason}",
                fix="ask the reviewers to add the witness's key to"
                f" {trust_list().parent.name}/{trust_list().name}",
            )
        elif token.state is SignatureState.UNVERIFIED:
            yield Violation(
                WITNESS,
                f"a {name}, with a signature that can be verified on this machine",
                f"{token.reason}",
                fix="check the bundle on a machine with OpenSSH and OpenSSL",
            )
    if _closing_s(verdict) > MAX_CLOSE_S:
        yield Violation(
            WITNESS,
            f"a stamp over the files at most {MAX_CLOSE_S:g} s after the stamp over the log",
            f"{_closing_s(verdict):.0f} s: the files may have been changed in between",
        )


RULES = (
    Rule(
        "witness-stamps",
        "If a run's command names a witness, the bundle has the witness's record. The witness"
        " signs a receipt over this run's request before the run, and a stamp over its logs after"
        f" the run, each within {MAX_ANSWER_S:g} s of being asked. The witness's clock and the"
        " machine's clock measure the same time between receipt and stamp, to within"
        f" {TOLERANCE_S:g} s plus {DRIFT:.2%}. At most {MAX_START_S:g} s pass from the receipt to"
        f" init_start, and at most {MAX_STOP_S:g} s from run_stop to the stamp; an adaptation"
        " may evaluate its old task then, in at most twice the time from init_start to the end of"
        " its first evaluation. Every file has the digest that the witness stamped when the bundle"
        " was sealed.",
        "The witness's clock shows whether the times that the machine recorded are possible. If a"
        " file was edited after the witness stamped it, its digest is another one. The harness"
        " writes the record before the implementation starts, even if the witness does not answer,"
        " so a missing record was lost or removed.",
        RESTORE,
        (
            OfBundle("witness-time", _time),
            OfBundle("witness-files", _files),
            OfBundle("witness-recorded", _recorded),
        ),
    ),
    Rule(
        "witness-known",
        "The witness of a run answered every request, stamped the bundle's files at most 15 minutes"
        " after it stamped the logs, and is listed in rules/witnesses.",
        "The leaderboard calls a run witnessed only if readers know who witnessed it.",
        "start the witness before the next run, and keep it running until the bundle is sealed",
        (OfBundle("witness-known", _check_witness, severity=Severity.NOTE),),
    ),
)
