"""Replications at or below the paths, by the entry whose runs were made again."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reporter.data.bundle_rows import BundleRows
from reporter.data.folders import read_each
from reporter.data.frames import ACCEPTED, Row
from reporter.data.shown_replications import ShownReplication
from reporter.data.text import one_line, plain_or_none
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import RECORD
from suite.catalog.organizations import cannot_vouch
from suite.compliance.folders import REPLICATIONS
from suite.errors import SuiteError
from suite.metrics.replication_record import MeasuredRun, Replication, measure_for, read_replication
from suite.submission.evidence import maker_of
from suite.submission.signature import allowed_signers


@dataclass(frozen=True)
class PlacedRun:
    """A run that is shown: its row, and what was read of its bundle."""

    run: Row
    rows: BundleRows


def read_replications(
    paths: Iterable[Path], placed: Mapping[str, PlacedRun]
) -> tuple[dict[str, tuple[ShownReplication, ...]], list[Row]]:
    """Replications by entry id, and rows of the frame ``broken`` for those that cannot be shown;
    ``placed`` are all runs, by run id."""
    pairs, broken = read_each(paths, REPLICATIONS.find, lambda folder, _: _shown(folder, placed))
    found: dict[str, dict[str, ShownReplication]] = {}
    for entry, shown in pairs:
        found.setdefault(entry, {})[shown.replication_id] = shown
    return {
        entry: tuple(by_id[name] for name in sorted(by_id)) for entry, by_id in found.items()
    }, broken


def _shown(folder: Path, placed: Mapping[str, PlacedRun]) -> tuple[str, ShownReplication]:
    """The entry and the replication; raises SuiteError where record, fresh runs and originals do
    not fit."""
    record = read_replication(folder / RECORD)
    finding = next(iter(REPLICATIONS.check(folder).findings), None)
    if finding is not None:
        raise SuiteError(
            f"the replication breaks {finding.rule}: {finding.expected} expected,"
            f" {finding.observed} found"
        )
    for run in record.runs:
        fresh = placed.get(run.run_id)
        if fresh is None or not fresh.rows.verdict.complies:
            raise SuiteError(
                f"the fresh run {run.run_id[:100]} does not comply with the rules of its round"
            )
    entries = {_original(record, run, placed) for run in record.originals}
    rows = [placed[run.run_id].run for run in record.originals]
    submitters = {
        name for row in rows for name in cannot_vouch(row["organization"], row["signed_by"])
    }
    if len(entries) > 1:
        raise SuiteError("the replicated runs belong to several entries")
    (entry,) = entries
    members = {name for name, each in placed.items() if each.run["entry_id"] == entry}
    repeated = {run.seed for run in record.runs}
    is_whole = members <= {run.run_id for run in record.originals if run.seed in repeated}
    return entry, _row(record, folder / RECORD, submitters, is_whole)


def _original(record: Replication, run: MeasuredRun, placed: Mapping[str, PlacedRun]) -> str:
    """The entry of an original; raises SuiteError where it is not among the runs, or not what the
    record says of it."""
    found = placed.get(run.run_id)
    if found is None or found.run["state"] != ACCEPTED:
        raise SuiteError(f"the replicated run {run.run_id[:100]} is not among the accepted runs")
    if measure_for(record, Bundle(Path(found.run["path"]))) != run:
        raise SuiteError(
            f"the replication's record disagrees with the bundle of the replicated run"
            f" {run.run_id[:100]}"
        )
    return str(found.run["entry_id"])


def _row(
    record: Replication, file: Path, submitters: Collection[str | None], is_whole: bool
) -> ShownReplication:
    found = record.comparisons
    parts = (found.losses, found.accuracies, found.times)
    reason = next((part.reason for part in parts if part.reason is not None), None)
    return ShownReplication(
        hashlib.sha256(file.read_bytes()).hexdigest()[:10],
        file.resolve(),
        one_line(record.organization, 60),
        record.is_by_others and record.organization not in submitters,
        maker_of(file, allowed_signers()).signer == record.organization,
        is_whole,
        found.losses.verdict.value,
        found.accuracies.verdict.value,
        found.times.verdict.value,
        found.verdict.value,
        plain_or_none(reason),
        found.times.ratio,
        found.times.low,
        found.times.high,
        tuple(one_line(run.run_id, 120) for run in record.runs),
    )
