"""What the checker says of submissions as a whole: it stands beside the verdict of each bundle in them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reporter.data.bundle_rows import Broken, BundleRows
from reporter.data.text import plain
from suite.bundle.reader import CachedBundle
from suite.compliance.checker import BundleVerdict
from suite.compliance.finding import Finding
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.errors import SuiteError
from suite.submission.folders import find_submissions


@dataclass(frozen=True)
class SubmissionVerdicts:
    """The verdicts, and the submissions that could not be judged, as (place relative to the given path, reason)."""

    verdicts: tuple[SubmissionVerdict, ...]
    broken: tuple[tuple[str, str], ...]

    def findings_of(self, bundle: Path) -> tuple[Finding, ...]:
        """What is said of the submission that holds the bundle."""
        return next((self._by_path[folder] for folder in (bundle, *bundle.parents) if folder in self._by_path), ())

    @cached_property
    def _by_path(self) -> dict[Path, tuple[Finding, ...]]:
        return {verdict.path: verdict.findings for verdict in self.verdicts}


def judge_submissions(given: Iterable[Path], rows_of: Mapping[Path, BundleRows | Broken]) -> SubmissionVerdicts:
    """Judge every submission at or below the paths; the bundles' own verdicts are there already, in ``rows_of``."""

    def known(bundle: CachedBundle) -> BundleVerdict:
        rows = rows_of.get(bundle.path)
        if isinstance(rows, BundleRows):
            return rows.verdict
        raise SuiteError(rows.reason if rows else f"{bundle.path} was not read")

    places = {path: path.relative_to(root).as_posix() if path != root else path.resolve().name for root in given for path in find_submissions(root)}
    verdicts = check_submissions(list(places), known) if places else ()
    broken = [
        (places[verdict.path], plain(reason.replace(f"{verdict.path}/", ""), 400))
        for verdict in verdicts
        if not verdict.bundles
        for reason in verdict.broken
    ]
    return SubmissionVerdicts(verdicts, tuple(broken))
