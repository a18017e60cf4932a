"""Checks what paths hold: a bundle, a submission, folders with several of them, or a submission's
archive."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls.contract import log_name
from reference_impls.turns.messages import STEP_TIMES
from suite.bundle.layout import RUN, STEPS, SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import BatchSource
from suite.compliance.checker import BundleVerdict, check_bundle, find_bundles
from suite.compliance.finding import Finding
from suite.compliance.folders import STALLS, FolderKind, FolderVerdict, folder_kinds
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.errors import SuiteError
from suite.files.archive import unpack_archive
from suite.files.tree import files_below, folders_below, in_one_spelling, refuse_site
from suite.submission.declaration import NAME
from suite.submission.folder_names import RUN_FOLDER, find_submissions, undeclared_submission

REMAINS = (log_name(0), STEPS, SUMMARY)
"""Files that only a bundle has."""

ALLOWED = "data-read"
"""The rule that runs of a stall analysis break on purpose: they are no results."""


@dataclass(frozen=True)
class CheckResult:
    """The results for bundles outside submissions, for submissions, and for folders with a record
    of their own (``analyses``), and a sentence for each that could not be checked."""

    bundles: tuple[BundleVerdict, ...]
    submissions: tuple[SubmissionVerdict, ...]
    broken: tuple[str, ...]
    analyses: tuple[FolderVerdict, ...] = ()

    @property
    def complies(self) -> bool:
        """All bundles, submissions and analyses comply, and all could be checked."""
        verdicts: tuple[BundleVerdict | SubmissionVerdict | FolderVerdict, ...] = (
            *self.bundles,
            *self.submissions,
            *self.analyses,
        )
        return not self.broken and all(verdict.complies for verdict in verdicts)

    def all_findings(self) -> Iterator[tuple[Path, Finding]]:
        """Every finding, with the folder that its file's name is relative to."""
        verdicts: tuple[BundleVerdict | FolderVerdict, ...] = (*self.bundles, *self.analyses)
        for verdict in verdicts:
            yield from ((verdict.path, finding) for finding in verdict.findings)
        for submission in self.submissions:
            yield from submission.all_findings()


def check_paths(paths: Sequence[Path]) -> CheckResult:
    """Check every submission, folder with a record (suite.compliance.folders) and other bundle at
    or below the paths; archives are unpacked temporarily.

    Folders that are left over from a bundle cannot be checked: one sentence for each, as for a path
    that holds none of all these. Raises SuiteError for such a path if it is the only one.
    """
    paths = in_one_spelling(paths)
    with ExitStack() as stack:
        unpacked: dict[Path, Path] = {}
        roots, unread = _roots(paths, unpacked, stack)
        submissions = list(
            dict.fromkeys(submission for root in roots for submission in find_submissions(root))
        )
        records = {
            folder: kind for root in roots for kind in folder_kinds() for folder in kind.find(root)
        }
        leftovers = dict.fromkeys(
            sentence for root in roots for sentence in _leftovers(root, records)
        )
        bundles: list[Path] = []
        for root in roots:
            try:
                bundles += _bundles_outside(
                    root,
                    submissions,
                    is_empty=not (submissions or records or leftovers),
                )
            except SuiteError as error:
                if len(paths) == 1:
                    raise
                unread.append(str(error))
        verdicts, broken = [], [*unread, *leftovers, *_undeclared(bundles, roots)]
        for bundle in dict.fromkeys(bundles):
            try:
                verdict = check_bundle(bundle)
                verdicts.append(_as_part(verdict) if _is_part(bundle, records) else verdict)
            except SuiteError as error:
                broken.append(str(error))
        checked = check_submissions(submissions)
        broken += [sentence for verdict in checked for sentence in verdict.broken]
        wholes = tuple(kind.check(folder) for folder, kind in records.items())
        return _with_archive_names(
            CheckResult(tuple(verdicts), checked, tuple(broken), wholes), unpacked
        )


def _with_archive_names(result: CheckResult, unpacked: Mapping[Path, Path]) -> CheckResult:
    """The result with the archives' names in place of the folders where they were unpacked, which
    nobody gave and which are gone."""
    if not unpacked:
        return result

    def shown(text: str) -> str:
        for folder, archive in unpacked.items():
            text = text.replace(str(folder), str(archive))
        return text

    def place(path: Path) -> Path:
        return Path(shown(str(path)))

    bundles = tuple(replace(verdict, path=place(verdict.path)) for verdict in result.bundles)
    analyses = tuple(replace(verdict, path=place(verdict.path)) for verdict in result.analyses)
    submissions = tuple(
        replace(
            verdict,
            path=place(verdict.path),
            bundles=tuple(replace(each, path=place(each.path)) for each in verdict.bundles),
            broken=tuple(map(shown, verdict.broken)),
            audits={place(run): badge for run, badge in verdict.audits.items()},
            audited_by={place(run): names for run, names in verdict.audited_by.items()},
        )
        for verdict in result.submissions
    )
    return CheckResult(bundles, submissions, tuple(map(shown, result.broken)), analyses)


def _roots(
    paths: Sequence[Path], unpacked: dict[Path, Path], stack: ExitStack
) -> tuple[list[Path], list[str]]:
    """The folders to be looked through, archives unpacked (``unpacked`` gets folder and archive of
    each), and a sentence for each file that is none; raises SuiteError if it is the only path."""
    roots, unread = [], []
    for path in paths:
        try:
            _refuse_file_of_run(path)
            root = _unpacked(path, stack) if path.is_file() else path
            refuse_site(root)
            roots.append(root)
            if root != path:
                unpacked[root] = path
        except SuiteError as error:
            if len(paths) == 1:
                raise
            unread.append(str(error))
    return roots, unread


def _refuse_file_of_run(path: Path) -> None:
    if path.is_file() and (path.parent / RUN).is_file():
        raise SuiteError(f"{path} is a file of a run; give the run's folder, {path.parent}.")


def _is_part(bundle: Path, records: Mapping[Path, FolderKind]) -> bool:
    """Whether the bundle is one of the three of a stall analysis."""
    return records.get(bundle.parent) is STALLS and bundle.name in [
        each.value for each in BatchSource
    ]


def _as_part(verdict: BundleVerdict) -> BundleVerdict:
    """The verdict on a run of a stall analysis, which is no result."""
    return replace(
        verdict, findings=tuple(finding for finding in verdict.findings if finding.rule != ALLOWED)
    )


def _leftovers(root: Path, records: Iterable[Path]) -> Iterator[str]:
    """A sentence for each folder that was a bundle and has no run.json any more."""
    for folder in [root, *folders_below(root)]:
        if (folder / STEP_TIMES).is_file():
            continue  # the training of a measurement that was interrupted
        parts = [name for name in REMAINS if (folder / name).is_file()]
        if (parts or _is_empty_run(folder, records)) and not _is_in_bundle(folder, root):
            what = f"it has {', '.join(parts)}" if parts else "it is named like a run"
            yield (
                f"{folder} has no {RUN}, but {what}; copy the whole run directory again, or remove"
                " what is left of it."
            )


def _is_empty_run(folder: Path, records: Iterable[Path]) -> bool:
    """Whether a folder is named like a run, and neither a run nor a record is at or below it."""
    if not RUN_FOLDER.fullmatch(folder.name):
        return False
    found = (*records, *files_below(folder, RUN))
    return not any(each.is_relative_to(folder) for each in found)


def _is_in_bundle(folder: Path, root: Path) -> bool:
    return any(
        (above / RUN).is_file() for above in (folder, *folder.parents) if above.is_relative_to(root)
    )


def _undeclared(bundles: Iterable[Path], roots: Iterable[Path]) -> Iterator[str]:
    """A sentence for each folder, at or below the given ones, whose runs lie as in a submission but
    that has no declaration."""
    given, folders = [root.resolve() for root in roots], set()
    for bundle in bundles:
        try:
            request = Bundle(bundle).run().request
        except SuiteError:
            continue  # reported when the bundle is checked
        folder = undeclared_submission(
            bundle, str(request.get("workload")), str(request.get("framework"))
        )
        if folder is not None and any(folder.resolve().is_relative_to(root) for root in given):
            folders.add(folder)
    for folder in sorted(folders):
        yield (
            f"{folder} holds the runs of a submission but no {NAME}: the runs were checked one "
            "by one, not as a submission. Package it again with `suite package`."
        )


def _unpacked(archive: Path, stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{archive.stem[:40]}-")))
    unpack_archive(archive, folder)
    return folder


def _bundles_outside(root: Path, submissions: Iterable[Path], is_empty: bool) -> tuple[Path, ...]:
    """Bundles that are in no submission; raises SuiteError if there are none, and nothing else to
    be checked either (``is_empty``)."""
    try:
        bundles = find_bundles(root)
    except SuiteError:
        if not is_empty and root.exists():
            return ()
        raise
    return tuple(
        bundle
        for bundle in bundles
        if not any(bundle.is_relative_to(submission) for submission in submissions)
    )
