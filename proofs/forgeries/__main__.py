"""Audits of the reference runs agree in every framework, and forgeries of them are contradicted:
`make prove forgeries`.

`python -m proofs.forgeries [DATA]`: DATA is the folder of the prepared MNIST data set (default:
that of `suite data prepare`).
"""

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from proofs.figures import hand_over
from proofs.forgeries.forgeries import Forgery, all_forgeries, forge, sample
from proofs.forgeries.worker import persistent_workers
from suite import api
from suite.catalog.frameworks import load_frameworks
from suite.datasets.locate import find_data_set
from suite.files.generated import markdown_table
from suite.files.paths import repository_root
from suite.metrics.audit_record import AuditRecord
from suite.metrics.replayed_losses import AuditVerdict

REFERENCE = repository_root() / "submissions" / "v0.1" / "reference" / "lenet"
FRAMEWORKS = tuple(one.name for one in load_frameworks() if one.serves_closed)
FORGED = "chainer"
"""The framework whose reference runs are forged: it starts fastest."""

MIN_REFUTED = 38


def reference_runs() -> list[Path]:
    """The nine reference runs."""
    return sorted(REFERENCE.glob("*/run_*"))


def audit_reference(data: Path) -> list[tuple[Path, AuditRecord]]:
    """Every reference run, audited in every framework."""
    return [
        (run, api.audit(run, framework=name, data=data))
        for run in reference_runs()
        for name in FRAMEWORKS
    ]


def audit_forgeries(data: Path) -> list[tuple[Forgery, AuditRecord]]:
    """Every forgery, made of one reference run after the other, audited in its framework."""
    audited, runs = [], [run for run in reference_runs() if run.parent.name == FORGED]
    for number, forgery in enumerate(all_forgeries()):
        with tempfile.TemporaryDirectory(prefix="forgery-") as folder:
            forged = forge(
                forgery, sample(runs[number % len(runs)], data, Path(folder)), Path(folder) / "run"
            )
            audited.append((forgery, api.audit(forged, data=data)))
        print(
            f"{forgery.kind}: {forgery.name}: {audited[-1][1].verdict.value}",
            file=sys.stderr,
            flush=True,
        )
    return audited


def reference_table(audited: list[tuple[Path, AuditRecord]]) -> str:
    """One row per framework of the run and of the replay."""
    groups = defaultdict(list)
    for run, record in audited:
        groups[run.parent.name, record.replayer.framework].append(record)
    rows = []
    for (own, other), records in groups.items():
        largest = max(
            one.comparison.step.difference for one in records if one.comparison.step is not None
        )
        rates = [one.rate_error_found for one in records if one.rate_error_found is not None]
        agree = sum(one.verdict is AuditVerdict.AGREES for one in records)
        time_s = sum(one.time_s for one in records) / len(records)
        rows.append(
            (
                own,
                other,
                f"{agree} of {len(records)}",
                f"{largest:.1e}",
                f"{max(rates):.1%}" if rates else "—",
                f"{time_s:.0f} s",
            )
        )
    return markdown_table(
        (
            "run",
            "replay",
            "agree",
            "difference nearest to its tolerance",
            "rate error found",
            "time",
        ),
        rows,
    )


def forgery_table(audited: list[tuple[Forgery, AuditRecord]]) -> str:
    """One row per kind."""
    groups = defaultdict(list)
    for forgery, record in audited:
        groups[forgery.kind].append((forgery, record))
    rows = []
    for kind, entries in groups.items():
        refuted = [record for _, record in entries if record.verdict is AuditVerdict.CONTRADICTS]
        steps = [record.comparison.step for record in refuted if record.comparison.step is not None]
        smallest = min((step.difference / step.tolerance for step in steps), default=float("nan"))
        missed = (
            "; ".join(
                forgery.name
                for forgery, record in entries
                if record.verdict is not AuditVerdict.CONTRADICTS
            )
            or "—"
        )
        first = ", ".join(sorted({str(step.step) for step in steps}, key=int))
        rows.append((kind, f"{len(refuted)} of {len(entries)}", first, f"{smallest:.0f}", missed))
    return markdown_table(
        ("forgery", "refuted", "at step", "least difference, in tolerances", "not refuted"), rows
    )


def main() -> int:
    """Print both tables; exit code 1 unless all reference runs agree and enough forgeries are
    refuted."""
    data = find_data_set("mnist", Path(sys.argv[1]) if len(sys.argv) > 1 else None).directory
    started_s = time.monotonic()
    genuine = audit_reference(data)
    print(reference_table(genuine), end="\n\n", flush=True)
    with persistent_workers():
        forged = audit_forgeries(data)
    print(forgery_table(forged))
    refuted = sum(record.verdict is AuditVerdict.CONTRADICTS for _, record in forged)
    agree = sum(record.verdict is AuditVerdict.AGREES for _, record in genuine)
    print(
        f"\n{agree} of {len(genuine)} audits of reference runs agree; {refuted} of {len(forged)}"
        " forgeries are refuted."
    )
    print(f"All of this took {time.monotonic() - started_s:.0f} s.")
    hand_over(
        audits=len(genuine),
        audits_that_agree=agree,
        forgeries=len(forged),
        forgeries_refuted=refuted,
    )
    return 0 if agree == len(genuine) and refuted >= MIN_REFUTED else 1


if __name__ == "__main__":
    sys.exit(main())
