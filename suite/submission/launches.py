"""Launches: every start of a run of an entry, finished or not, as a declaration lists them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import SuiteError
from suite.submission.entries import entry_key

STATUSES = ("finished", "failed", "interrupted", "running")
FINISHED = STATUSES[0]
MAX_LAUNCHES = 10_000


@dataclass(frozen=True)
class Launch:
    """One launch: the run's id, and how it ended (``running``: its harness was killed)."""

    run_id: str
    status: str


@dataclass(frozen=True)
class DeclaredEntry:
    """An entry's launches, and how many of them were planned to finish before the first began."""

    workload: str
    framework: str
    planned_runs: int
    launches: tuple[Launch, ...]


def declare_entries(
    runs: Sequence[Bundle], scanned: Sequence[Path], planned_runs: int | None
) -> tuple[DeclaredEntry, ...]:
    """The entries of these runs, with every further launch of the same entries at or below
    ``scanned``.

    ``planned_runs``: of each entry; None: as many as finished. Launches are sorted by run id.
    """
    records = {record.run_id: record for record in (bundle.run() for bundle in runs)}
    entries = {entry_key(record.request): record.request for record in records.values()}
    records.update(
        {record.run_id: record for record in _scan(scanned) if entry_key(record.request) in entries}
    )
    return tuple(
        _declare(
            request,
            [record for _, record in sorted(records.items()) if entry_key(record.request) == key],
            planned_runs,
        )
        for key, request in sorted(entries.items())
    )


def _declare(
    request: Mapping[str, Any], records: Sequence[RunRecord], planned_runs: int | None
) -> DeclaredEntry:
    launches = tuple(Launch(record.run_id, record.status) for record in records)
    finished = sum(launch.status == FINISHED for launch in launches)
    return DeclaredEntry(
        str(request["workload"]),
        str(request["framework"]),
        finished if planned_runs is None else planned_runs,
        launches,
    )


def _scan(folders: Sequence[Path]) -> Iterator[RunRecord]:
    """The record of every run at or below the folders, whether it finished or not; raises
    SuiteError for a folder that does not exist."""
    for folder in folders:
        if not folder.is_dir():
            raise SuiteError(
                f"{folder} is not a folder; give --launches the folder in which the runs were"
                " started."
            )
        for path in sorted(folder.rglob(RUN)):
            if not path.is_symlink():
                yield Bundle(path.parent).run()


def build_entries(values: Any) -> tuple[DeclaredEntry, ...]:
    """Entries from the plain values of a declaration; raises TypeError, KeyError or ValueError for
    any other form."""
    if (
        not isinstance(values, list)
        or sum(len(entry["launches"]) for entry in values) > MAX_LAUNCHES
    ):
        raise ValueError(f"entries must be a list with {MAX_LAUNCHES} launches at most")
    return tuple(_build(entry) for entry in values)


def _build(values: Mapping[str, Any]) -> DeclaredEntry:
    if set(values) != set(DeclaredEntry.__dataclass_fields__):
        raise ValueError(
            f"an entry must have the keys {', '.join(DeclaredEntry.__dataclass_fields__)}"
        )
    planned, launches = (
        values["planned_runs"],
        tuple(Launch(**launch) for launch in values["launches"]),
    )
    texts = (values["workload"], values["framework"], *(launch.run_id for launch in launches))
    if (
        type(planned) is not int
        or planned < 1
        or not all(isinstance(text, str) and 0 < len(text) <= 200 for text in texts)
    ):
        raise ValueError("an entry has names that are not text, or planned_runs below 1")
    if any(launch.status not in STATUSES for launch in launches):
        raise ValueError(f"the status of a launch must be one of {', '.join(STATUSES)}")
    return DeclaredEntry(values["workload"], values["framework"], planned, launches)
