"""Records of several runs or of raw measurements, whatever their kind: their seal and their
figures."""

from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import SuiteError

ORDER = 97  # after the rules of bundles


def _sealed(folder: RecordFolder) -> Violations:
    record = folder.record
    try:
        for each in record.broken(folder.path):
            yield Violation(*each, fix=record.again)
    except (SuiteError, OSError) as error:
        yield _unreadable(folder, "a record that says what it seals", error)


def _recomputes(folder: RecordFolder) -> Violations:
    """Check that a record follows from the other files of its folder, to 1e-9 relative; one of
    which nothing else was kept cannot be recomputed."""
    record = folder.record
    if record.compute is None:
        return
    try:
        found = list(record.differences(folder.path))
    except (SuiteError, OSError) as error:
        yield _unreadable(folder, "figures, and records that they can be computed from", error)
        return
    for name, (expected, observed) in found:
        wanted = f"{name} as recomputed from the records: {expected}"
        yield Violation(record.file, wanted, f"{observed}", fix=record.again)


def _unreadable(folder: RecordFolder, expected: str, error: Exception) -> Violation:
    observed = str(error).replace(f"{folder.path}/", "")
    return Violation(folder.record.file, expected, observed, fix=folder.record.again)


RULES = (
    Rule(
        "record-sealed",
        "A folder with a record (a sweep, a matrix of studies, LINPACK, a stall analysis, a"
        " replication, concurrent training and inference, a student and its teacher, counted steps,"
        " a study of memory) has a manifest that seals the record, and the files or runs that the"
        " record is about.",
        "The manifest shows changed, lost, added and exchanged files.",
        "make the record again; records are never edited",
        (
            OfFolder(
                "record-sealed",
                _sealed,
                formerly=(
                    "stalls-sealed",
                    "beside-sealed",
                    "replication-sealed",
                    "viewpoint-sealed",
                ),
            ),
        ),
    ),
    Rule(
        "record-recomputes",
        "Every figure in the record of such a folder (`record-sealed`) equals the value recomputed"
        " from the runs and raw records beside it, to 1e-9 relative: means, a replication's"
        " verdicts on its originals, latencies from the intended arrivals, labels and accuracies.",
        "Every number can be followed to its raw records: anybody can recompute it, and nobody"
        " has to believe it.",
        "make the record again; records are never edited",
        (
            OfFolder(
                "record-recomputes",
                _recomputes,
                formerly=(
                    "stalls-recompute",
                    "beside-recompute",
                    "replication-recomputes",
                    "viewpoint-recompute",
                ),
            ),
        ),
    ),
)
