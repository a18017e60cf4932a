"""The last result of a proof: ``result.json`` and the text that it printed, ``report.md``, in its folder."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path

import psutil

from proofs.proof import Proof
from suite.files.paths import repository_root

RECORD, REPORT = "result.json", "report.md"


class Verdict(str, Enum):
    """Whether the proof showed what it is to show."""

    HOLDS = "holds"
    FAILS = "fails"


@dataclass(frozen=True)
class Result:
    """``date``: day in UTC. ``commit``: what was proved, with ``+`` where files had been changed since. ``parts``: digest of each folder that
    the proof depends on; None where nobody recorded them, so that the result is stale. ``time_s`` is None where it was not recorded.
    """

    date: str
    commit: str | None
    machine: str
    time_s: float | None
    verdict: Verdict
    figures: Mapping[str, float | str | None]
    parts: Mapping[str, str] | None


def read(proof: Proof) -> Result | None:
    """The last result; None: there is none."""
    path = proof.folder / RECORD
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    return Result(**{**record, "verdict": Verdict(record["verdict"])})


def write(proof: Proof, result: Result, report: str) -> None:
    """Replace the last result."""
    (proof.folder / RECORD).write_text(json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8")
    (proof.folder / REPORT).write_text(report.strip() + "\n", encoding="utf-8")


def today() -> str:
    """The day, in UTC."""
    return datetime.now(timezone.utc).date().isoformat()


def commit(root: Path | None = None) -> str | None:
    """The commit that is checked out, with ``+`` where other files than results differ from it; None outside of a repository."""
    results = [f":(exclude)proofs/*/{name}" for name in (RECORD, REPORT)]
    name = _git(root, "rev-parse", "--short=8", "HEAD")
    return name and name + ("+" if _git(root, "status", "--porcelain", "--", ".", ":(exclude)docs/evidence", *results) else "")


def _git(root: Path | None, *words: str) -> str | None:
    command = ["git", "-C", str(root or repository_root()), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None


def machine() -> str:
    """The kind of machine, without anything that names it."""
    cores, memory_gib = psutil.cpu_count(), psutil.virtual_memory().total / 2**30
    return f"{platform.machine()}, {cores} cores, {memory_gib:.0f} GiB, {platform.system()} {platform.release().split('-')[0]}"
