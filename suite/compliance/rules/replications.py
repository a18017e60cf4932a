"""Replications: the record, its seal, and the fresh runs that it follows from"""

from collections.abc import Iterator
from pathlib import Path

from suite.bundle.replication_folder import RECORD
from suite.compliance.folder_rule import OfFolder, check_figures, check_seal
from suite.compliance.rule import Rule, Violation
from suite.errors import SuiteError
from suite.metrics.replication import REPLICATION
from suite.metrics.replication_record import read_replication

ORDER = 100  # after the rules of experiments


def _by_its_maker(folder: Path) -> Iterator[Violation]:
    """Check that the fresh runs were made for the organization of the record, and after the
    originals."""
    try:
        record = read_replication(folder / RECORD)
    except SuiteError:
        return  # replication-recomputes reports it
    latest = max(run.started_time_ms for run in record.originals)
    for run in record.runs:
        if run.organization != record.organization:
            yield Violation(
                RECORD,
                f"fresh runs of {record.organization!r}",
                f"{run.run_id} of {run.organization!r}",
            )
        if run.started_time_ms <= latest:
            yield Violation(
                RECORD,
                "fresh runs that began after the originals",
                f"{run.run_id} began earlier",
            )


RULES = (
    Rule(
        "replication-sealed",
        f"The manifest of a replication seals {RECORD} and the manifests of its fresh runs.",
        "It shows changed, lost and added runs, and a changed record.",
        REPLICATION.again,
        (OfFolder("replication-sealed", check_seal(REPLICATION)),),
    ),
    Rule(
        "replication-recomputes",
        "A replication's figures follow from its fresh runs, and its verdicts from them and the"
        " originals' figures.",
        "Anybody can compute the verdict again; nobody has to believe it.",
        REPLICATION.again,
        (OfFolder("replication-recomputes", check_figures(REPLICATION)),),
    ),
    Rule(
        "replication-maker",
        "The fresh runs of a replication were made for its organization, after the originals.",
        "Runs of somebody else, or from before, repeat nothing.",
        REPLICATION.again,
        (OfFolder("replication-maker", _by_its_maker),),
    ),
)
