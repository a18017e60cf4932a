"""The last result of a proof: ``result.json`` and the text that it printed, ``report.md``, in its
folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from enum import Enum

from benchmarks.runner.record import this_commit, this_machine
from proofs.proof import Proof

RECORD, REPORT = "result.json", "report.md"


class Verdict(str, Enum):
    """Whether the proof showed what it is to show; ``MEASURED``: it has no bound to miss."""

    HOLDS = "holds"
    FAILS = "fails"
    MEASURED = "measured"


@dataclass(frozen=True)
class ProofResult:
    """``date``: day in UTC. ``commit``: what was proved, with ``+changes`` where files differed
    from it. ``parts``: digest of each folder that the proof depends on; None where nobody recorded
    them, so that the result is stale. ``time_s``: with the tries of the same files that were broken
    off and continued; None where it was not recorded.
    """

    date: str
    commit: str | None
    machine: str
    time_s: float | None
    verdict: Verdict
    figures: Mapping[str, float | str | None]
    parts: Mapping[str, str] | None


def read_result(proof: Proof) -> ProofResult | None:
    """The last result; None: there is none."""
    path = proof.folder / RECORD
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    return ProofResult(**{**record, "verdict": Verdict(record["verdict"])})


def write_result(proof: Proof, result: ProofResult, report: str) -> None:
    """Replace the last result."""
    (proof.folder / RECORD).write_text(
        json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8"
    )
    (proof.folder / REPORT).write_text(report.strip() + "\n", encoding="utf-8")


def today_utc() -> str:
    """The day, in UTC."""
    return datetime.now(timezone.utc).date().isoformat()


def current_commit() -> str:
    """The commit that is checked out; the results of proofs do not count as changes."""
    return this_commit(
        results=(*(f"proofs/*/{name}" for name in (RECORD, REPORT)), "docs/evidence")
    )


def machine_kind() -> str:
    """The kind of machine, without anything that names it."""
    here = this_machine()
    return (
        f"{here.processor}, {here.cores} cores, {here.memory_gib:g} GiB, {platform.system()}"
        f" {here.kernel.split('-')[0]}"
    )
