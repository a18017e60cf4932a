"""Training states: the digests that every rank logs after every epoch"""

import hashlib
import re

from reference_impls.contract import log_name
from reference_impls.training_state import KINDS
from suite.bundle.log import Log, LogEvent
from suite.catalog.divisions import Division
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted

ORDER = 55  # after the ranks' logs

FIX = (
    "run again with the suite's loop: it logs the digests of what Implementation.training_state"
    " returns"
)
SHARED = ("parameter", "velocity")
"""What changes in every epoch: the statistics of a model without batch normalisation do not."""

NOTHING = hashlib.sha256().hexdigest()

_DIGEST = re.compile(r"[0-9a-f]{64}")


def _digests(context: BundleContext) -> Violations:
    logs = list(context.logs())
    is_closed = context.request.division == Division.CLOSED.value
    for epoch in context.log.finished_epochs():
        first = None
        for rank, log in logs:
            events = [event for event in log.all("state_digests") if event.epoch == epoch]
            if not events and not is_closed:
                continue
            if len(events) != 1 or not _is_well_formed(events[0]):
                observed, line = (
                    (f"{counted(len(events), 'event')}", None)
                    if len(events) != 1
                    else (f"{events[0].value!r}"[:200], events[0].line)
                )
                yield Violation(
                    log_name(rank),
                    f"one event state_digests of epoch {epoch}, with one SHA-256 for each of"
                    f" {', '.join(KINDS)}",
                    observed,
                    line,
                )
                continue
            first = first or (rank, events[0].value)
            for kind in KINDS:
                found, wanted = events[0].value[kind], first[1][kind]
                if found != wanted:
                    yield Violation(
                        log_name(rank),
                        f"{wanted[:16]}…, the {kind} digest that rank {first[0]} logged for epoch"
                        f" {epoch}",
                        f"{found[:16]}…",
                        events[0].line,
                    )
    for rank, log in logs:
        yield from _unchanged(log, rank)
        if is_closed or context.request.model == context.workload.model:
            yield from _shared_digests(log, rank, context.workload.normalisation_statistics)


def _unchanged(log: Log, rank: int) -> Violations:
    """Epochs after which parameters or velocities are those of an earlier epoch."""
    seen: dict[str, int | None] = {}
    for event in filter(_is_well_formed, log.all("state_digests")):
        for kind in SHARED:
            digest = event.value[kind]
            if digest in seen and seen[digest] != event.epoch:
                expected = f"a new {kind} digest after epoch {event.epoch}"
                observed = f"the digest of epoch {seen[digest]}"
                yield Violation(log_name(rank), expected, observed, event.line)
            seen.setdefault(digest, event.epoch)


def _shared_digests(log: Log, rank: int, has_statistics: bool) -> Violations:
    """Digests that two kinds share, or of statistics that the model does not have."""
    for event in filter(_is_well_formed, log.all("state_digests")):
        if event.value["parameter"] == event.value["velocity"]:
            yield Violation(
                log_name(rank),
                f"different digests of parameters and velocities after epoch {event.epoch}",
                f"{event.value['parameter'][:16]}… for both",
                event.line,
            )
        statistics = event.value["statistic"]
        if (statistics == NOTHING) == has_statistics:
            name = f"{NOTHING[:16]}… (SHA-256 of an empty input)"
            expected = (
                f"a statistic digest other than {name}, because the model has normalisation"
                " statistics"
                if has_statistics
                else (
                    f"the statistic digest {name}, because the model has no normalisation"
                    " statistics"
                )
            )
            yield Violation(
                log_name(rank),
                f"after epoch {event.epoch}, {expected}",
                f"{statistics[:16]}…",
                event.line,
            )


def _is_well_formed(event: LogEvent) -> bool:
    value = event.value
    return (
        isinstance(value, dict)
        and set(value) == set(KINDS)
        and all(isinstance(one, str) and _DIGEST.fullmatch(one) for one in value.values())
    )


RULES = (
    Rule(
        "state-digests",
        "After every epoch, every rank of a closed run logs three digests: of the model's"
        " parameters, of the optimizer's velocities, and of the normalisation statistics. An open"
        " run may leave them out. All ranks log the same three digests after the same epoch."
        " The parameter digest and the velocity digest are new after every epoch, and differ from"
        " each other. The statistic digest is the SHA-256 of an empty input if the model has no"
        " normalisation statistics, and another digest if it has some.",
        "The digests fix every epoch's training state before anybody knows which epoch an audit"
        " will ask for. Ranks that train together have the same state. Each epoch changes"
        " parameters and velocities, so a repeated digest was copied, or nothing was trained.",
        FIX,
        (OfBundle("state-digests", _digests),),
    ),
)
