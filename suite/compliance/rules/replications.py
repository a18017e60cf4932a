"""Replications: the record, its seal, and the fresh runs that it follows from"""

from collections.abc import Iterator
from pathlib import Path

from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import MAX_RUNS, RECORD, fresh_runs, sealed_files
from suite.compliance.folder_rule import FolderRule, check_seal, compare_record
from suite.compliance.rule import Violation
from suite.errors import FileError, SuiteError

ORDER = 100  # after the rules of experiments
AGAIN = "reproduce it again (`suite reproduce`); its records are never edited"


def _sealed(folder: Path) -> Iterator[Violation]:
    """Check the manifest: the record and the manifests of the fresh runs, each with its SHA-256."""
    yield from check_seal(
        folder, sealed_files(folder), f"{RECORD} and of the fresh runs' manifests", AGAIN
    )


def _recomputed(folder: Path) -> Iterator[Violation]:
    """Measure the fresh runs again, compare them with the originals of the record again, and
    compare the result with the record."""
    from suite.metrics.replication import compare_runs  # start-up: loads numpy
    from suite.metrics.replication_record import measure, read_replication  # start-up: loads numpy

    try:
        record = read_replication(folder / RECORD)
        runs = tuple(measure(Bundle(path)) for path in fresh_runs(folder)[:MAX_RUNS])
        computed = {
            "runs": runs,
            "comparisons": compare_runs(record.originals, runs, record.replays),
        }
    except (SuiteError, KeyError, TypeError, ValueError, AttributeError) as error:
        observed = (
            error.what if isinstance(error, FileError) else f"{error}" or type(error).__name__
        )
        yield Violation(
            RECORD,
            "originals and fresh runs that can be compared",
            observed.replace(f"{folder}/", "")[:300],
            AGAIN,
        )
        return
    yield from compare_record(
        RECORD,
        computed,
        {"runs": record.runs, "comparisons": record.comparisons},
        "the fresh runs",
        AGAIN,
    )


def _by_its_maker(folder: Path) -> Iterator[Violation]:
    """Check that the fresh runs were made for the organization of the record, and after the
    originals."""
    from suite.metrics.replication_record import read_replication  # start-up: loads numpy

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
                f"{run.run_id} of {run.organization!r}"[:200],
                AGAIN,
            )
        if run.started_time_ms <= latest:
            yield Violation(
                RECORD,
                "fresh runs that began after the originals",
                f"{run.run_id} began earlier"[:200],
                AGAIN,
            )


RULES = (
    FolderRule(
        id="replication-sealed",
        sentence=(
            f"The manifest of a replication seals {RECORD} and the manifests of its fresh runs."
        ),
        rationale="It shows changed, lost and added runs, and a changed record.",
        check=_sealed,
    ),
    FolderRule(
        id="replication-recomputes",
        sentence=(
            "A replication's figures follow from its fresh runs, and its verdicts from them and the"
            " originals' figures."
        ),
        rationale="Anybody can compute the verdict again; nobody has to believe it.",
        check=_recomputed,
    ),
    FolderRule(
        id="replication-maker",
        sentence=(
            "The fresh runs of a replication were made for its organization, after the originals."
        ),
        rationale="Runs of somebody else, or from before, repeat nothing.",
        check=_by_its_maker,
    ),
)
