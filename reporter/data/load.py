"""Reads bundles and LINPACK records into tidy pandas frames."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pandas

from reporter.data import frames as columns
from reporter.data.bundle_rows import Broken, BundleRows, read_rows
from reporter.data.cache import cache_exists, cached_rows, digest_of_bundle, store_rows
from reporter.data.entries import (
    entry_id,
    make_entries,
    make_entry_figures,
    make_score_figures,
    make_scores,
)
from reporter.data.folders import place_below
from reporter.data.frames import (
    ACCEPTED,
    GENERATED,
    REFUSED,
    SETTINGS,
    STUDIED,
    WITHDRAWN,
    Frames,
    Row,
    make_frame,
)
from reporter.data.linpacks import read_linpacks
from reporter.data.replications import PlacedRun, read_replications
from reporter.data.submissions import SubmissionVerdicts, judge_submissions
from reporter.data.text import one_line, plain_or_none
from reporter.data.workers import Workers
from suite.bundle import replication_folder, stall_folder
from suite.bundle.layout import LINPACK_RECORD, LINPACK_STUDY_RECORD
from suite.bundle.reader import CachedBundle
from suite.catalog.extensions import extensions
from suite.compliance.checker import BundleVerdict, find_bundles
from suite.errors import SuiteError
from suite.files.tree import in_one_spelling
from suite.submission.declaration import NAME, Declaration, read_declaration
from suite.submission.folder_names import find_withdrawal, undeclared_submission
from suite.submission.launches import UNFINISHED
from suite.submission.objections import ObjectionState, read_objections


@dataclass(frozen=True)
class Found:
    """A bundle, the given path at or below which it was found, and its place relative to that
    path."""

    path: Path
    given: Path
    place: str

    def folders(self) -> Iterator[Path]:
        """The folders above the bundle, nearest first, up to the given path."""
        folder = self.path
        while folder not in (self.given, folder.parent):
            folder = folder.parent
            yield folder


@dataclass(frozen=True)
class Placed:
    """A bundle's rows, with the columns of its run that depend on its place."""

    run: Row
    rows: BundleRows
    digest: str | None


def load_frames(paths: str | Path | Iterable[str | Path]) -> Frames:
    """Read every bundle and LINPACK record at or below the paths into frames, ordered by run id.

    A bundle that cannot be read, did not finish, or repeats a run id becomes a row of ``broken``;
    the others are still loaded. Bundles that the same code has read before come from the cache.
    Raises SuiteError for a path without any bundle.
    """
    given = in_one_spelling([Path(paths)] if isinstance(paths, str | Path) else map(Path, paths))
    found = found_below(given)
    with Workers() as workers:
        return load_with(workers, given, found)


def load_with(workers: Workers, given: Sequence[Path], found: Sequence[Found]) -> Frames:
    """As :func:`load_frames`, of what :func:`found_below` found, by these workers, which have more
    to do afterwards."""
    read_of = dict(zip(found, _read_all([one.path for one in found], workers), strict=True))
    submissions = judge_submissions(given, {one.path: rows for one, (_, rows) in read_of.items()})
    read: dict[str, Placed] = {}
    broken: list[Row] = [
        {"place": one_line(place), "reason": reason} for place, reason in submissions.broken
    ]
    for one, (digest, rows) in read_of.items():
        if submissions.are_unjudged(one.path):
            continue
        reason = (
            rows.reason
            if isinstance(rows, Broken)
            else _undeclared(one, rows) or _duplicate(one, rows, read)
        )
        if isinstance(rows, Broken) or reason:
            broken.append({"place": one_line(one.place), "reason": reason})
        else:
            placed = _place(one, rows, digest, submissions)
            read[placed.run["run_id"]] = placed
    linpacks, wrong = read_linpacks(given)
    replications, unfit = read_replications(
        given, {name: PlacedRun(one.run, one.rows) for name, one in read.items()}
    )
    broken = sorted([*broken, *wrong, *unfit], key=lambda row: (row["place"], row["reason"]))
    frames = make_frames([read[name] for name in sorted(read)], broken)
    return replace(
        frames, linpacks=make_frame(linpacks, columns.LINPACKS), replications=replications
    )


def found_below(given: Iterable[Path]) -> list[Found]:
    """The bundles that :func:`load_frames` reads, unread; raises SuiteError for a path without
    any."""
    return list(find([path for path in given if not _holds_a_record(path)]))


def find(paths: Iterable[Path]) -> Iterator[Found]:
    """Every bundle at or below the paths, each once; links are not followed."""
    seen: set[Path] = set()
    for given in paths:
        for path in find_bundles(given):
            resolved = path.resolve()
            if resolved not in seen:
                seen.add(resolved)
                yield Found(path, given, place_below(path, given))


def make_frames(read: Sequence[Placed], broken: list[Row]) -> Frames:
    """Frames from the rows of bundles; runs are grouped into entries."""
    runs = [one.run for one in read]
    figures = [figure for one in read for figure in one.rows.figures]
    entries = make_entries(runs)
    epochs = [epoch for one in read for epoch in one.rows.epochs]
    scores = make_scores(entries, runs, figures, epochs)
    tables = {
        "runs": (runs, columns.RUNS),
        "figures": (figures, columns.FIGURES),
        "epochs": (epochs, columns.EPOCHS),
        "entries": (entries, columns.ENTRIES),
        "entry_figures": (
            [*make_entry_figures(runs, figures), *make_score_figures(scores)],
            columns.ENTRY_FIGURES,
        ),
        "broken": (broken, columns.BROKEN),
    }
    return Frames(
        **{name: make_frame(rows, names) for name, (rows, names) in tables.items()},
        verdicts={one.run["run_id"]: one.rows.verdict for one in read},
        digests={one.run["run_id"]: one.digest for one in read},
        scores=scores,
        points=_points(runs),
    )


def _points(runs: Sequence[Row]) -> pandas.DataFrame:
    """The runs of sweeps, with their varied settings as columns; numbers where all values of a
    setting are numbers."""
    studied = [run for run in runs if run.get(SETTINGS) is not None]
    names = [
        name
        for name in dict.fromkeys(name for run in studied for name in run[SETTINGS])
        if name not in columns.POINTS
    ]
    frame = make_frame(studied, columns.POINTS)
    # a setting of another study is unknown here, not a run's own value of that name
    for name in names:
        frame[name] = [run[SETTINGS].get(name) for run in studied]
        values = pandas.to_numeric(frame[name], errors="coerce")
        if values.notna().equals(frame[name].notna()):
            frame[name] = values
    return frame


Read = tuple[str | None, BundleRows | Broken]
"""The digest of a bundle (None if the folder changed while it was read) and its rows."""


def _read_all(paths: Sequence[Path], workers: Workers) -> list[Read]:
    """The rows of each bundle, from the cache or read by worker processes and then cached."""
    digests = _digests(paths) if cache_exists() else [None] * len(paths)
    cached = cached_rows(digests)
    uncached = [path for path, digest in zip(paths, digests, strict=True) if digest not in cached]
    read = dict(zip(uncached, workers.map(_read_with_digest, uncached), strict=True))
    fresh = {
        digest: rows
        for digest, rows in read.values()
        if isinstance(rows, BundleRows) and digest is not None
    }
    if fresh:
        store_rows(fresh)
    return [
        (digest, cached[digest]) if digest in cached else read[path]
        for path, digest in zip(paths, digests, strict=True)
    ]


def _digests(paths: Sequence[Path]) -> list[str | None]:
    with ThreadPoolExecutor() as threads:
        return list(threads.map(digest_of_bundle, paths))


def _read_with_digest(path: Path) -> Read:
    bundle = CachedBundle(path)
    # the check holds the same digests against the manifest
    before = digest_of_bundle(path, bundle.sha256)
    rows = read_rows(bundle)
    return before if digest_of_bundle(path) == before else None, rows


def _undeclared(found: Found, rows: BundleRows) -> str | None:
    place = undeclared_submission(found.path, str(rows.run["workload"]), str(rows.run["framework"]))
    if place is None or place not in found.folders() or (place / NAME).is_file():
        return None
    return (
        f"the run lies in a submission folder that has no {NAME}; package it with `suite package`"
    )


def _duplicate(found: Found, rows: BundleRows, read: Mapping[str, Placed]) -> str | None:
    first = read.get(rows.run["run_id"])
    if first is None:
        return None
    place = first.run["place"]
    path = " in a path given earlier" if place == one_line(found.place) else ""
    return f"the run id {rows.run['run_id']} is already used by {place}{path}"


def _place(
    found: Found, rows: BundleRows, digest: str | None, submissions: SubmissionVerdicts
) -> Placed:
    withdrawn = _withdrawal(found)
    verdict = replace(
        rows.verdict,
        path=found.path,
        findings=(*rows.verdict.findings, *submissions.findings_of(found.path)),
    )
    by_others = {
        "signed_by": submissions.signed_by(found.path),
        "audited_in": submissions.audited_in(found.path),
        "audited_by": submissions.audited_by(found.path),
    }
    of_place = {
        "place": one_line(found.place),
        "path": str(found.path.resolve()),
        "withdrawn": withdrawn,
        "code_is_public": None,
    }
    run = {
        **rows.run,
        **{name: plain_or_none(value, 120) for name, value in by_others.items()},
        **of_place,
        **_of_submission(found, rows.run["run_id"]),
    }
    run["state"] = _state(found, rows, withdrawn, verdict)
    run["entry_id"] = entry_id(run)
    return Placed(run, replace(rows, verdict=verdict), digest)


def _state(found: Found, rows: BundleRows, withdrawn: str | None, verdict: BundleVerdict) -> str:
    if withdrawn:
        return WITHDRAWN
    if rows.is_generated:
        return GENERATED
    if rows.is_studied or rows.run["study"] is not None or _is_part_of_analysis(found):
        return STUDIED
    return ACCEPTED if verdict.complies else REFUSED


def _is_part_of_analysis(found: Found) -> bool:
    """Whether the bundle belongs to a stall analysis, whose warm run is recognized by its folder
    only, or to a replication."""
    records = (stall_folder.RECORD, replication_folder.RECORD)
    return found.path != found.given and any(
        (found.path.parent / record).is_file() for record in records
    )


def _withdrawal(found: Found) -> str | None:
    """The reason in the file that withdraws the bundle, beside, in or above it; None without
    one."""
    file = find_withdrawal(found.path, found.given)
    return None if file is None else one_line(file.read_text(encoding="utf-8").strip())


def _declared(declaration: Declaration) -> Row:
    code = declaration.code
    changed = {None: "", True: ", with changes", False: ""}[code.modified]
    return {
        "organization": one_line(declaration.organization),
        "availability": declaration.availability.value,
        "notes": plain_or_none(declaration.notes, 600),
        "code_is_public": None not in (code.address, code.commit) and code.modified is False,
        "code": (
            None
            if code.address is None
            else (
                f"{one_line(code.address)} at "
                f"{one_line(code.commit or 'an unknown commit', 60)}{changed}"
            )
        ),
    }


def _planned(declaration: Declaration, run_id: str) -> Row:
    """What the declaration says of the run's entry."""
    entry = next(
        (
            entry
            for entry in declaration.entries
            if run_id in [launch.run_id for launch in entry.launches]
        ),
        None,
    )
    return (
        {}
        if entry is None
        else {"planned_runs": entry.planned_runs, "launches": len(entry.launches)}
    )


def _launches_accepted(run: Path, submission: Path) -> bool:
    """Whether a reviewer dismissed an objection against the unfinished launches of this run's
    entry."""
    entry = run.relative_to(submission).parts[:2]
    return any(
        each.against == UNFINISHED
        and each.state is ObjectionState.DISMISSED
        and (each.run is None or tuple(each.run.split("/")[:2]) == entry)
        for each in read_objections(submission).by_file.values()
    )


def _of_submission(found: Found, run_id: str) -> Row:
    """What the submission that holds the bundle says of it; nothing outside of one, and if its
    declaration cannot be read."""
    folder = next((folder for folder in found.folders() if (folder / NAME).is_file()), None)
    try:
        declaration = None if folder is None else read_declaration(folder)
    except SuiteError:
        declaration = None
    if folder is None or declaration is None:
        return {}
    return {
        **_declared(declaration),
        **_planned(declaration, run_id),
        "launches_accepted": _launches_accepted(found.path, folder),
    }


def _holds_a_record(path: Path) -> bool:
    """Whether a folder is that of a record, which holds no bundle."""
    names = (
        LINPACK_RECORD,
        LINPACK_STUDY_RECORD,
        *(each.record for each in extensions() if each.record),
    )
    return any((path / name).is_file() for name in names)
