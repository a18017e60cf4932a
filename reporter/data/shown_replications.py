"""A replication as pages show it, and the badges that entries earn by replications."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.organizations import PROJECT
from suite.metrics.replication_record import ReplicationVerdict

AVAILABLE, FUNCTIONAL, REPRODUCED = "available", "functional", "reproduced"
SELF_REPORTED = "self-reported"
OWN_REPLAY = "replayed by the project, which made the runs"
AND = " and "
"""Badges, as those of ACM's Artifact Review and Badging: code that everybody can get; runs that
others made again; results that they confirmed."""


@dataclass(frozen=True)
class ShownReplication:
    """A replication whose record complies and whose originals are among the runs shown.

    ``replication_id`` is ten hexadecimal digits of the record's SHA-256, ``file`` the record.
    ``is_signed``: with the organization's own key, by submissions/ALLOWED_SIGNERS.
    ``is_of_all_runs``: every run of the entry is one of its originals, with a fresh run of its
    seed. Verdicts are confirmed, refuted or undecided.
    """

    replication_id: str
    file: Path
    organization: str
    is_by_others: bool
    is_signed: bool
    is_of_all_runs: bool
    losses: str
    accuracy: str
    times: str
    verdict: str
    reason: str | None
    ratio: float | None
    low: float | None
    high: float | None
    runs: tuple[str, ...]

    @property
    def earns_mark(self) -> bool:
        """Whether others made every run of the entry again, signed, and confirmed all of it."""
        return (
            self.is_by_others
            and self.is_signed
            and self.is_of_all_runs
            and self.verdict == ReplicationVerdict.CONFIRMED.value
        )


def provenance_of(
    replications: Sequence[ShownReplication],
    auditors: Sequence[str],
    is_witnessed: bool,
    has_energy: bool = False,
) -> str:
    """What stands behind an entry's figures: *reproduced by X*, *audited by X* or
    *self-reported*. An audit repeats no times: they need somebody else's witness. None of these
    repeats an energy."""
    makers = {each.organization for each in replications if each.earns_mark}
    if not makers and not auditors:
        return SELF_REPORTED
    stated = AND.join(
        [*(["time"] if not (makers or is_witnessed) else []), *(["energy"] if has_energy else [])]
    )
    what, by = ("reproduced", sorted(makers)) if makers else ("audited", auditors)
    who = AND.join("the project" if name == PROJECT else name for name in by)
    return f"{what} by {who}{stated and f', {stated} stated by the submitter'}"


def replication_badges(
    replications: Sequence[ShownReplication], code_is_public: bool
) -> tuple[str, ...]:
    """The badges of an entry: only signed replications by others count; those that refute are told,
    too."""
    others = [each for each in replications if each.is_by_others and each.is_signed]
    confirmed, refuted = ReplicationVerdict.CONFIRMED.value, ReplicationVerdict.REFUTED.value
    earned = (
        (AVAILABLE, code_is_public),
        (FUNCTIONAL, any(each.losses == confirmed for each in others)),
        (REPRODUCED, any(each.earns_mark for each in others)),
    )
    count = (f"{len(others)} replication{'s' if len(others) != 1 else ''}",) if others else ()
    against = sum(each.verdict == refuted for each in others)
    return (
        *(name for name, is_earned in earned if is_earned),
        *count,
        *((f"refuted by {against} of them",) if against else ()),
    )
