"""Training states: the digests that every rank logs after every epoch"""

import re
from collections.abc import Iterator

from reference_impls.contract import log_name
from reference_impls.training_state import KINDS
from suite.bundle.log import Log, LogEvent
from suite.compliance.faults.fault import Fault, both, recomputed, unsealed
from suite.compliance.faults.file_edits import Lines, change_lines, rechained, replace_in_line, resealed
from suite.compliance.faults.log_edits import copy_value, remove_event, repeat_event, set_event, set_metadata
from suite.compliance.rule import CLOSED, BundleContext, Rule, Violation

ORDER = 55  # after the ranks' logs

FIX = "run again with the suite's loop: it logs the digests of what Implementation.training_state returns"
SHARED = ("parameter", "velocity")
"""What is equal on all ranks; each normalises with its own statistics."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


def _digests(context: BundleContext) -> Iterator[Violation]:
    logs = list(context.logs())
    for epoch in context.log.finished_epochs():
        first = None
        for rank, log in logs:
            events = [event for event in log.all("state_digests") if event.epoch == epoch]
            if len(events) != 1 or not _is_well_formed(events[0]):
                observed, line = (f"{len(events)}", None) if len(events) != 1 else (f"{events[0].value!r}"[:200], events[0].line)
                yield Violation(log_name(rank), f"one state_digests of epoch {epoch}: SHA-256 of {', '.join(KINDS)}", observed, FIX, line)
                continue
            first = first or events[0]
            for kind in SHARED:
                found, wanted = events[0].value[kind], first.value[kind]
                if found != wanted:
                    expected = f"the {kind} digest of epoch {epoch} as on the other ranks, {wanted[:16]}…"
                    yield Violation(log_name(rank), expected, f"{found[:16]}…", FIX, events[0].line)
    for rank, log in logs:
        yield from _unchanged(log, rank)


def _unchanged(log: Log, rank: int) -> Iterator[Violation]:
    """Epochs after which the parameters are those of an earlier epoch."""
    seen: dict[str, int | None] = {}
    for event in filter(_is_well_formed, log.all("state_digests")):
        digest = event.value["parameter"]
        if digest in seen:
            expected, observed = f"other parameters after epoch {event.epoch} than before", f"those of epoch {seen[digest]}"
            yield Violation(log_name(rank), expected, observed, FIX, event.line)
        seen.setdefault(digest, event.epoch)


def _is_well_formed(event: LogEvent) -> bool:
    value = event.value
    return isinstance(value, dict) and set(value) == set(KINDS) and all(isinstance(one, str) and _DIGEST.fullmatch(one) for one in value.values())


def _faults() -> Iterator[Fault]:
    yield from both("the digests of epoch 2 left out", remove_event("state_digests", 1))
    yield from both("the digests of epoch 2 twice", repeat_event("state_digests"))
    yield recomputed("digests under another epoch", set_metadata("state_digests", epoch_num=2))
    for name, value in (
        ("no", None),
        ("one", "0" * 64),
        ("a digit short", dict.fromkeys(KINDS, "0" * 63)),
        ("of parameters only", {"parameter": "0" * 64}),
    ):
        yield recomputed(f"digests: {name}", set_event("state_digests", value=value))
    yield recomputed("the digests of epoch 1 after epoch 2", copy_value("state_digests", 0, 1))
    for kind in SHARED:
        change = replace_in_line("state_digests", f'"{kind}": "', f'"{kind}": "0')
        yield unsealed(f"rank 1's {kind} digest with a digit more", resealed(change_lines(log_name(1), rechained(change))), ranks=2)
    yield unsealed("rank 1's digests exchanged", resealed(change_lines(log_name(1), rechained(_exchange))), ranks=2)


def _exchange(lines: Lines) -> Lines:
    """Name the digest of the parameters as that of the velocities, and vice versa."""
    for old, new in (("parameter", "other"), ("velocity", "parameter"), ("other", "velocity")):
        lines = replace_in_line("state_digests", f'"{old}": "', f'"{new}": "')(lines)
    return lines


RULES = (
    Rule(
        id="state-digests",
        sentence="Every rank logs digests of parameters, velocities and statistics after every epoch; the first two are equal on all ranks.",
        rationale="They fix every epoch's training state before anybody knows which one an audit will ask for.",
        bundle_check=_digests,
        faults=tuple(_faults()),
        divisions=CLOSED,
    ),
)
