"""Records of several runs or of raw measurements, whatever their kind: their seal and their
figures."""

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import AGAIN, RECORD
from suite.bundle.stall_folder import BatchSource
from suite.compliance.agreement import ExpectedField, differing_fields
from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import FileError, SuiteError
from suite.metrics.stall_analysis import STALLS

ORDER = 97  # after the rules of bundles


def _sealed(folder: RecordFolder) -> Violations:
    record = folder.record
    try:
        for each in record.broken(folder.path):
            yield Violation(*each, fix=record.again)
    except (SuiteError, OSError) as error:
        yield _unreadable(folder, "a record that lists the files and runs that it seals", error)


def _recomputes(folder: RecordFolder) -> Violations:
    """Check that a record follows from the other files of its folder, to 1e-9 relative; one of
    which nothing else was kept cannot be recomputed."""
    record = folder.record
    if record.compute is None:
        return
    try:
        found = list(record.differences(folder.path))
    except (SuiteError, OSError) as error:
        yield _unreadable(folder, "figures that can be computed from the records", error)
        return
    for name, (expected, observed) in found:
        wanted = f"{name} as recomputed from the records: {expected}"
        yield Violation(record.file, wanted, f"{observed}", fix=record.again)


def _unreadable(folder: RecordFolder, expected: str, error: Exception) -> Violation:
    observed = str(error).replace(f"{folder.path}/", "")
    return Violation(folder.record.file, expected, observed, fix=folder.record.again)


def _sources(folder: RecordFolder) -> Violations:
    """Check that each run has the batches and the page cache of its source, and that the three are
    three."""
    seen: dict[str, str] = {}
    for source in BatchSource:
        name = f"{source.value}/{RUN}"
        try:
            run = Bundle(folder.path / source.value).run()
        except FileError as error:
            yield Violation(name, f"the {source.value} run", error.what)
            continue
        batches = "synthetic" if source is BatchSource.SYNTHETIC else "read"
        why = f" in the {source.value} run"
        rows = (
            ExpectedField("batches", batches, why),
            ExpectedField("drop_cache_every_epoch", source is BatchSource.COLD, why),
        )
        yield from differing_fields(name, run.request.get, rows)
        if source is BatchSource.COLD and run.request.get("cache_cleared") is False:
            expected = "an empty page cache at the start of the cold run"
            yield Violation(name, expected, "cache_cleared = False")
        if str(run.run_id) in seen:
            observed = f"the same run id as the {seen[str(run.run_id)]} run"
            yield Violation(name, "a separate run", observed)
        seen.setdefault(str(run.run_id), source.value)


def _by_its_maker(folder: RecordFolder) -> Violations:
    """Check that the fresh runs were made for the organization of the record, and after the
    originals."""
    from suite.metrics.replication_record import read_replication  # start-up: few are replications

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
                f"the run {run.run_id} of {run.organization!r}",
            )
        if run.started_time_ms <= latest:
            yield Violation(
                RECORD,
                "fresh runs that began after the last original",
                f"the run {run.run_id}, which did not begin after it",
            )


OF_ALL = (
    Rule(
        "record-sealed",
        "If a folder has a record, the folder's manifest lists the SHA-256 of the record and of the"
        " files or runs that the record is about. The kinds of records are: sweep, matrix of"
        " studies, LINPACK, stall"
        " analysis, replication, concurrent training and inference, student and teacher,"
        " instruction counts of training steps, study of memory.",
        "If somebody changed, lost, added or exchanged a file, the manifest shows it.",
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
        "Every figure in a folder's record equals the value recomputed from the folder's runs and"
        " raw records, with a relative error of at most 1e-9. Such figures are means, numbers of"
        " labels and of wrong labels, accuracies, latencies (measured from each image's intended"
        " arrival) and a replication's verdicts on the original runs. `record-sealed` lists the"
        " kinds of records.",
        "Every figure can be recomputed from the runs and raw records, so an edited figure would"
        " differ from the recomputed value.",
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
OF_STALLS = (
    Rule(
        "stalls-sources",
        "A stall analysis has three different runs. The cold run starts with an empty page cache,"
        " and drops the cache in every epoch. The warm run reads its batches without dropping the"
        " page cache. The synthetic run reads nothing.",
        "A stall is computed as the difference between the times of two of these runs. With other"
        " runs, the difference is not a stall.",
        STALLS.again,
        (OfFolder("stalls-sources", _sources),),
    ),
)
OF_REPLICATIONS = (
    Rule(
        "replication-maker",
        "The fresh runs of a replication were made for the organization that its record names, and"
        " began after the original runs.",
        "Runs that another organization made, or that are older than the original runs, are not a"
        " replication by this organization.",
        AGAIN,
        (OfFolder("replication-maker", _by_its_maker),),
    ),
)
RULES = (*OF_ALL, *OF_STALLS, *OF_REPLICATIONS)
