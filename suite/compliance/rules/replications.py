"""Replications: the fresh runs that a record follows from"""

from suite.bundle.replication_folder import RECORD
from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import SuiteError
from suite.metrics.replication import REPLICATION
from suite.metrics.replication_record import read_replication

ORDER = 100  # after the rules of experiments


def _by_its_maker(folder: RecordFolder) -> Violations:
    """Check that the fresh runs were made for the organization of the record, and after the
    originals."""
    try:
        record = read_replication(folder.path / RECORD)
    except SuiteError:
        return  # record-recomputes reports it
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
        "replication-maker",
        "The fresh runs of a replication were made for its organization, after the originals.",
        "Runs that somebody else made, or that are older than the originals, repeat nothing.",
        REPLICATION.again,
        (OfFolder("replication-maker", _by_its_maker),),
    ),
)
