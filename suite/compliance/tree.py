"""Judges whatever a path holds: a bundle, a submission, a whole tree of them, or a submission's archive."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from suite.compliance.checker import BundleVerdict, check_bundle, find_bundles
from suite.compliance.finding import Finding
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.errors import SuiteError
from suite.submission.archive import unpack
from suite.submission.tree import find_submissions


@dataclass(frozen=True)
class TreeVerdict:
    """What was said of the bundles that belong to no submission, of the submissions, and what could not be judged, a sentence each."""

    bundles: tuple[BundleVerdict, ...]
    submissions: tuple[SubmissionVerdict, ...]
    broken: tuple[str, ...]

    @property
    def complies(self) -> bool:
        """All of them do, and all could be judged."""
        return not self.broken and all(one.complies for one in self.bundles) and all(one.complies for one in self.submissions)

    def all_findings(self) -> Iterator[tuple[Path, Finding]]:
        """Every finding with the folder that its file's name is relative to."""
        for verdict in (*self.bundles, *(bundle for submission in self.submissions for bundle in submission.bundles)):
            yield from ((verdict.path, finding) for finding in verdict.findings)
        for submission in self.submissions:
            yield from ((submission.path, finding) for finding in submission.findings)


def check_tree(paths: Sequence[Path]) -> TreeVerdict:
    """Judge every submission and every other bundle at or below the paths; archives are unpacked into a folder that is taken away again.

    Raises SuiteError when a path holds neither.
    """
    with ExitStack() as stack:
        roots = [_unpacked(path, stack) if path.is_file() else path for path in paths]
        submissions = list(dict.fromkeys(found for root in roots for found in find_submissions(root)))
        bundles = [bundle for root in roots for bundle in _outside(root, submissions)]
        verdicts, broken = [], []
        for bundle in bundles:
            try:
                verdicts.append(check_bundle(bundle))
            except SuiteError as error:
                broken.append(str(error))
        judged = check_submissions(submissions)
        return TreeVerdict(tuple(verdicts), judged, (*broken, *(words for one in judged for words in one.broken)))


def _unpacked(archive: Path, stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{archive.stem[:40]}-")))
    unpack(archive, folder)
    return folder


def _outside(root: Path, submissions: Iterable[Path]) -> tuple[Path, ...]:
    """Bundles that no submission holds."""
    inside = tuple(submissions)
    try:
        found = find_bundles(root)
    except SuiteError:
        if inside:
            return ()
        raise
    return tuple(bundle for bundle in found if not any(bundle.is_relative_to(submission) for submission in inside))
