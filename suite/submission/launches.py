"""Launches: every start of a run of an entry, finished or not, as a declaration lists them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from suite.bundle.layout import RUN, SYSTEM
from suite.bundle.machines import different_fields
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import SuiteError
from suite.files.schema import Positive
from suite.submission.entry_keys import entry_key, is_split, split_keys

FINISHED = "finished"
MAX_LAUNCHES = 10_000
UNFINISHED = "submission-unfinished"
"""Check of launches that did not finish; an objection against it that is dismissed accepts them."""
ShortName = Annotated[str, Meta(min_length=1, max_length=200)]
Status = Annotated[str, Meta(pattern=rf"^({FINISHED}|failed|interrupted|running)\Z")]


@dataclass(frozen=True)
class Launch:
    """One launch: the run's id, and how it ended (``running``: its harness was killed)."""

    run_id: ShortName
    status: Status


@dataclass(frozen=True)
class DeclaredEntry:
    """An entry's launches, and how many of them were planned to finish before the first began."""

    workload: ShortName
    framework: ShortName
    planned_runs: Positive
    launches: tuple[Launch, ...]


def declare_entries(
    runs: Sequence[Bundle], scanned: Sequence[Path], planned_runs: int | None
) -> tuple[DeclaredEntry, ...]:
    """The entries of these runs, with every further launch of the same entries at or below
    ``scanned``; runs of a study are none.

    ``planned_runs``: of each entry, except for the one run that shows the split of an entry in
    asynchronous timing; None: as many as finished. Launches are sorted by run id.
    """
    records = {record.run_id: record for record in (bundle.run() for bundle in runs)}
    entries = {entry_key(record.request): record.request for record in records.values()}
    for record in _scan(scanned, runs):
        if record.study is None and entry_key(record.request) in entries:
            records[record.run_id] = record
    split = split_keys(entries.values())
    return tuple(
        _declare(
            request,
            [record for _, record in sorted(records.items()) if entry_key(record.request) == key],
            planned_runs,
            split,
        )
        for key, request in sorted(entries.items())
    )


def _declare(
    request: Mapping[str, Any],
    records: Sequence[RunRecord],
    planned_runs: int | None,
    split: Collection[str],
) -> DeclaredEntry:
    launches = tuple(Launch(record.run_id, record.status) for record in records)
    finished = sum(launch.status == FINISHED for launch in launches)
    shows_split = finished == 1 and is_split(request, split)
    return DeclaredEntry(
        str(request["workload"]),
        str(request["framework"]),
        finished if planned_runs is None or shows_split else planned_runs,
        launches,
    )


def _scan(folders: Sequence[Path], runs: Sequence[Bundle]) -> Iterator[RunRecord]:
    """The record of every run at or below the folders, finished or not, that may be of the same
    submission as ``runs``; raises SuiteError for a folder that does not exist."""
    for folder in folders:
        if not folder.is_dir():
            raise SuiteError(
                f"{folder} is not a folder; give --launches the folder in which the runs were"
                " started."
            )
        for path in sorted(folder.rglob(RUN)):
            bundle = Bundle(path.parent)
            if not path.is_symlink() and _is_beside(bundle, runs[0]):
                yield bundle.run()


def _is_beside(launch: Bundle, run: Bundle) -> bool:
    """Whether a launch has the round, the version of the suite and the system of a run; one that
    ended before it described its system may have been on any."""
    record, other = launch.run(), run.run()
    if (record.round, record.suite_version) != (other.round, other.suite_version):
        return False
    is_described = (launch.path / SYSTEM).is_file()
    return not (is_described and different_fields(launch.json(SYSTEM), run.json(SYSTEM)))
