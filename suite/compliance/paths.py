"""Checks what paths hold: a bundle, a submission, folders with several of them, or a submission's archive."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.reader import Bundle
from suite.compliance.checker import BundleVerdict, check_bundle, find_bundles
from suite.compliance.finding import Finding
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.errors import SuiteError
from suite.submission.archive import unpack
from suite.submission.declaration import NAME
from suite.submission.folders import find_submissions, undeclared_submission


@dataclass(frozen=True)
class CheckResult:
    """The results for bundles outside submissions and for submissions, and a sentence for each that could not be checked."""

    bundles: tuple[BundleVerdict, ...]
    submissions: tuple[SubmissionVerdict, ...]
    broken: tuple[str, ...]

    @property
    def complies(self) -> bool:
        """All bundles and submissions comply, and all could be checked."""
        return not self.broken and all(bundle.complies for bundle in self.bundles) and all(submission.complies for submission in self.submissions)

    def all_findings(self) -> Iterator[tuple[Path, Finding]]:
        """Every finding, with the folder that its file's name is relative to."""
        for verdict in (*self.bundles, *(bundle for submission in self.submissions for bundle in submission.bundles)):
            yield from ((verdict.path, finding) for finding in verdict.findings)
        for submission in self.submissions:
            yield from ((submission.path, finding) for finding in submission.findings)


def check_paths(paths: Sequence[Path]) -> CheckResult:
    """Check every submission and every other bundle at or below the paths; archives are unpacked into a temporary folder.

    Raises SuiteError when a path holds neither.
    """
    with ExitStack() as stack:
        roots = [_unpacked(path, stack) if path.is_file() else path for path in paths]
        submissions = list(dict.fromkeys(submission for root in roots for submission in find_submissions(root)))
        bundles = [bundle for root in roots for bundle in _outside(root, submissions)]
        verdicts, broken = [], list(_undeclared(bundles, roots))
        for bundle in bundles:
            try:
                verdicts.append(check_bundle(bundle))
            except SuiteError as error:
                broken.append(str(error))
        checked = check_submissions(submissions)
        return CheckResult(tuple(verdicts), checked, (*broken, *(sentence for verdict in checked for sentence in verdict.broken)))


def _undeclared(bundles: Iterable[Path], roots: Iterable[Path]) -> Iterator[str]:
    """A sentence for each folder, at or below the given ones, whose runs lie as in a submission but that has no declaration."""
    given, folders = [root.resolve() for root in roots], set()
    for bundle in bundles:
        try:
            request = Bundle(bundle).run().request
        except SuiteError:
            continue  # reported when the bundle is checked
        folder = undeclared_submission(bundle, str(request.get("workload")), str(request.get("framework")))
        if folder is not None and any(folder.resolve().is_relative_to(root) for root in given):
            folders.add(folder)
    for folder in sorted(folders):
        yield (
            f"{folder} has the runs of a submission and no {NAME}: its runs were checked one by one, the whole was not. "
            "Package it again with `suite package`."
        )


def _unpacked(archive: Path, stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{archive.stem[:40]}-")))
    unpack(archive, folder)
    return folder


def _outside(root: Path, submissions: Iterable[Path]) -> tuple[Path, ...]:
    """Bundles that are in no submission."""
    inside = tuple(submissions)
    try:
        bundles = find_bundles(root)
    except SuiteError:
        if inside:
            return ()
        raise
    return tuple(bundle for bundle in bundles if not any(bundle.is_relative_to(submission) for submission in inside))
