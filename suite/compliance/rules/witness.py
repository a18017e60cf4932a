"""Witnesses: receipt and stamp are of this run, and their times bound it."""

from collections.abc import Iterator

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.layout import RUN, SYSTEM
from suite.bundle.log import chain_head
from suite.compliance.faults.fault import both, save_after, unsealed
from suite.compliance.faults.file_edits import set_run
from suite.compliance.faults.log_edits import set_boot
from suite.compliance.faults.witness_edits import (
    edited_after,
    edited_and_heads_fitted,
    exchanged,
    make_shorter,
    slower_answers,
    with_token,
    without_stamp,
    witnessed,
)
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.errors import FileError
from suite.files.signature import SignatureState
from suite.witness.record import NAME, WitnessRecord, read_witness_record
from suite.witness.tokens import TokenVerdict, trust_list
from suite.witness.verdict import WitnessVerdict, judge_tokens

ORDER = 76  # after the log's own times

MAX_START_S, MAX_STOP_S = 60.0, 30.0
"""Longest time from the receipt to init_start (starting Python, loading the framework), and from run_stop to the stamp (ending it)."""
MAX_ANSWER_S = 6.0
OPTION = "--witness"
TOLERANCE_S, DRIFT = 2.0, 5e-4
"""How far two clocks may differ: authorities stamp whole seconds, and NTP slews a clock by up to 500 ppm."""
RESTORE = "restore the bundle as `suite run` sealed it; a witnessed run that was edited is made again"


def _time(context: BundleContext) -> Iterator[Violation]:
    record = read_witness_record(context.bundle.path)
    if record is None:
        words = [str(word) for word in context.run.command]
        if any(word == OPTION or word.startswith(f"{OPTION}=") for word in words):
            observed = f"no {NAME}, which the harness writes even where the witness does not answer"
            yield Violation(RUN, f"the record of the witness that the command names ({OPTION})", observed, RESTORE)
        return
    verdict = witness_verdict(context, record)
    yield from _tokens(verdict)
    yield from _heads(context, record)
    if record.stamp is not None and verdict.receipt is not None and verdict.stamp is not None:
        yield from _answers(record)
        yield from _witness_clock(record, verdict.receipt, verdict.stamp)
        yield from _log_clock(context, record, verdict.receipt, verdict.stamp)


def witness_verdict(context: BundleContext, record: WitnessRecord) -> WitnessVerdict:
    """The verdicts on the record's tokens, by the witnesses that the rulebook knows."""
    request = context.bundle.json(RUN)["request"]
    return context.bundle.cached("witness", lambda: judge_tokens(record, context.run.run_id, request, context.run.nonce, trust_list()))  # type: ignore[no-any-return]


def witnessed_by(context: BundleContext) -> str | None:
    """The witness of the rulebook that saw the run begin and end, and whose times fit the run; None if there is none."""
    try:
        record = read_witness_record(context.bundle.path)
        if record is None or any(True for _ in _time(context)):
            return None
        return witness_verdict(context, record).by
    except FileError:
        return None


def _tokens(verdict: WitnessVerdict) -> Iterator[Violation]:
    """Check that each token is a signature over what run.json and the log hold."""
    over = {"receipt": "the run's id, request and nonce", "stamp": "the run's id, the heads of its logs and the receipt"}
    for name, token in (("receipt", verdict.receipt), ("stamp", verdict.stamp)):
        if token is not None and token.state is SignatureState.BAD:
            yield Violation(NAME, f"a {name} whose signature is over {over[name]}", f"a {name} that cannot be trusted: {token.reason}", RESTORE)
    if verdict.receipt is not None and verdict.stamp is not None and verdict.receipt.witness != verdict.stamp.witness:
        observed = f"a receipt of {verdict.receipt.witness}, a stamp of {verdict.stamp.witness}"
        yield Violation(NAME, "receipt and stamp of one witness, whose one clock they are measured with", observed, RESTORE)


def _heads(context: BundleContext, record: WitnessRecord) -> Iterator[Violation]:
    """Check that the logs end with the chain values that were stamped."""
    if record.stamp is None:
        return
    ranks = context.request.parallel.ranks
    if len(record.heads) != ranks:
        yield Violation(NAME, f"{ranks} heads, one per rank", f"{len(record.heads)}", RESTORE)
    for rank, stamped in zip(range(ranks), record.heads):  # noqa: B905 - unequal lengths are reported above
        head = chain_head(context.bundle.path / log_name(rank))
        if head != stamped:
            yield Violation(log_name(rank), f"a last line with the stamped chain value {stamped[:64]}", f"{head}", RESTORE)


def _answers(record: WitnessRecord) -> Iterator[Violation]:
    """Check that no answer took longer than the harness waits: its time would be free to choose."""
    for name, answer in (("receipt", record.receipt), ("stamp", record.stamp)):
        took_s = 0.0 if answer is None else (answer.answered_ns - answer.asked_ns) * SECONDS_PER_NS
        if not 0 <= took_s <= MAX_ANSWER_S:
            yield Violation(NAME, f"a {name} that was answered within {MAX_ANSWER_S:g} s", f"{took_s:.3f} s", RESTORE)


def _witness_clock(record: WitnessRecord, receipt: TokenVerdict, stamp: TokenVerdict) -> Iterator[Violation]:
    """Check that the witness's clock ran for as long as this machine's between the two answers."""
    if record.stamp is None or receipt.time_s is None or stamp.time_s is None:
        return
    elapsed_s = stamp.time_s - receipt.time_s
    shortest_s = (record.stamp.asked_ns - record.receipt.answered_ns) * SECONDS_PER_NS
    longest_s = (record.stamp.answered_ns - record.receipt.asked_ns) * SECONDS_PER_NS
    slack_s = _slack_s(elapsed_s)
    if not shortest_s - slack_s <= elapsed_s <= longest_s + slack_s:
        expected = f"{elapsed_s:.3f} s from receipt to stamp, as by the witness's clock, within {slack_s:.3g} s"
        yield Violation(NAME, expected, f"{shortest_s:.3f} to {longest_s:.3f} s by the machine's clock", RESTORE)


def _log_clock(context: BundleContext, record: WitnessRecord, receipt: TokenVerdict, stamp: TokenVerdict) -> Iterator[Violation]:
    """Check that the run fits between the two answers, and that little else does."""
    start, stop = (context.log.first(key) for key in ("init_start", "run_stop"))
    if start is None or stop is None or start.mono_ns is None or stop.mono_ns is None or record.stamp is None:
        return
    run_s = (stop.mono_ns - start.mono_ns) * SECONDS_PER_NS
    if receipt.time_s is not None and stamp.time_s is not None:
        elapsed_s = stamp.time_s - receipt.time_s
        slack_s = _slack_s(elapsed_s)
        least_s = elapsed_s - MAX_START_S - MAX_STOP_S - 2 * MAX_ANSWER_S - slack_s
        if not least_s <= run_s <= elapsed_s + slack_s:
            expected = f"{max(least_s, 0):.3f} to {elapsed_s + slack_s:.3f} s from init_start to run_stop: the witness saw {elapsed_s:.3f} s pass"
            yield Violation("log.txt", expected, f"{run_s:.3f} s", RESTORE, stop.line)
    if start.metadata.get("boot") != context.bundle.json(SYSTEM).get("boot"):
        return  # rank 0 ran on another machine than the harness: their monotonic clocks cannot be compared
    before_s, after_s = (
        (start.mono_ns - record.receipt.answered_ns) * SECONDS_PER_NS,
        (record.stamp.asked_ns - stop.mono_ns) * SECONDS_PER_NS,
    )
    for what, taken_s, most_s, line in (
        ("the receipt to init_start", before_s, MAX_START_S, start.line),
        ("run_stop to the stamp", after_s, MAX_STOP_S, stop.line),
    ):
        if not 0 <= taken_s <= most_s:
            fix = f"{RESTORE}; a machine that honestly needs longer runs without a witness"
            yield Violation("log.txt", f"0 to {most_s:g} s from {what}", f"{taken_s:.3f} s", fix, line)


def _slack_s(elapsed_s: float) -> float:
    return TOLERANCE_S + DRIFT * abs(elapsed_s)


def _known(context: BundleContext) -> Iterator[Violation]:
    record = read_witness_record(context.bundle.path)
    if record is None:
        return
    verdict = witness_verdict(context, record)
    for name, answer, token in (("receipt", record.receipt, verdict.receipt), ("stamp", record.stamp, verdict.stamp)):
        if token is None:
            observed = "it was not asked for" if answer is None else answer.reason or "none, without a reason"
            yield Violation(NAME, f"a {name} of the witness {record.address[:200]}", observed, "start the witness before the next run")
        elif token.state is SignatureState.UNKNOWN:
            fix = f"let the reviewers add its key to {trust_list().parent.name}/{trust_list().name}"
            yield Violation(NAME, f"a {name} of a witness that the rulebook knows", f"{token.witness or 'a witness'}: {token.reason}", fix)
        elif token.state is SignatureState.UNVERIFIED:
            yield Violation(
                NAME, f"a {name} whose signature can be verified here", f"{token.reason}", "check it where OpenSSH and OpenSSL are installed"
            )


RULES = (
    Rule(
        id="witness-time",
        sentence="A witness's receipt and stamp are of this run and this log, and the time between them, by its own clock, is that of the run: at "
        "most 60 s pass from the receipt to init_start and 30 s from run_stop to the stamp.",
        rationale="Somebody else's clock bounds the times that the machine recorded; a log that was edited afterwards has another head.",
        bundle_check=_time,
        faults=(
            unsealed("a tenth off all times afterwards", edited_after(save_after(make_shorter(0.9), recompute=True))),
            unsealed("a tenth off all times, and the new head in the record", edited_and_heads_fitted(save_after(make_shorter(0.9), recompute=True))),
            unsealed("a tenth more on all times afterwards", edited_after(save_after(make_shorter(1.1), recompute=True))),
            unsealed("another boot in the log afterwards", edited_after(save_after(set_boot("submission_benchmark")))),
            unsealed("the witness's clock ran 100 s longer", witnessed(shorter_s=-100)),
            unsealed("the witness's clock ran a third shorter", witnessed(shorter_s=10)),
            unsealed("the receipt after init_start", witnessed(before_s=-1)),
            unsealed("the stamp before run_stop", witnessed(after_s=-1)),
            unsealed("100 s from the receipt to init_start", witnessed(before_s=100)),
            unsealed("40 s from run_stop to the stamp", witnessed(after_s=40)),
            *both("a command that names a witness, and no record", set_run("command", ["suite", "run", "--witness", "http://lab:8731"])),
            unsealed("an answer that took a minute", witnessed(change=slower_answers(60))),
            unsealed("receipt and stamp exchanged", witnessed(change=exchanged)),
            *(
                unsealed(f"the stamp with {name} = {value!r}", witnessed(change=with_token(**{name: value})))
                for name, value in (
                    ("kind", "word of honour"),
                    ("kind", "rfc3161"),
                    ("statement", "{}"),
                    ("statement", 1),
                    ("signature", ""),
                    ("signature", 1),
                )
            ),
        ),
    ),
    Rule(
        id="witness-known",
        sentence="A run's witness answered, and is one of those that the rulebook knows (rules/witnesses).",
        rationale="The leaderboard calls a run witnessed only where readers know by whom.",
        bundle_check=_known,
        faults=(
            unsealed("a witness that nobody knows", witnessed()),
            unsealed("a witness that did not answer at the end", witnessed(change=without_stamp)),
        ),
        severity=Severity.NOTE,
    ),
)
