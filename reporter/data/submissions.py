"""The checker's findings on whole submissions, in addition to the verdict on each of their
bundles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from reporter.data.bundle_rows import Broken, BundleRows
from reporter.data.folders import place_below
from reporter.data.shown_replications import AND
from reporter.data.text import one_line
from suite.bundle.reader import CachedBundle
from suite.compliance.checker import BundleVerdict
from suite.compliance.finding import Finding
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.errors import SuiteError
from suite.submission.folder_names import find_submissions


@dataclass(frozen=True)
class SubmissionVerdicts:
    """The verdicts, and the submissions that could not be judged, as (place relative to the given
    path, reason): none of their runs is shown."""

    verdicts: tuple[SubmissionVerdict, ...]
    broken: tuple[tuple[str, str], ...]

    def are_unjudged(self, bundle: Path) -> bool:
        """Whether the submission that holds the bundle could not be judged."""
        folders = (bundle, *bundle.parents)
        return any(_is_unjudged(each) and each.path in folders for each in self.verdicts)

    def findings_of(self, bundle: Path) -> tuple[Finding, ...]:
        """The findings on the submission that holds the bundle."""
        around = (bundle, *bundle.parents)
        return next((self._by_path[each] for each in around if each in self._by_path), ())

    def signed_by(self, bundle: Path) -> str | None:
        """Whose key signed the submission that holds the bundle."""
        around = (bundle, *bundle.parents)
        return next((each.signed_by for each in self.verdicts if each.path in around), None)

    def audited_in(self, bundle: Path) -> str | None:
        """The framework in which the bundle's first steps were trained again, with losses that
        agree, by an unsigned record of its submission."""
        words = (each.audits[bundle] for each in self.verdicts if bundle in each.audits)
        return next(words, None)

    def audited_by(self, bundle: Path) -> str | None:
        """Who replayed the bundle from a state that they drew, and found that it agrees."""
        makers = next(
            (each.audited_by[bundle] for each in self.verdicts if bundle in each.audited_by), ()
        )
        return AND.join(makers) or None

    @cached_property
    def _by_path(self) -> dict[Path, tuple[Finding, ...]]:
        return {verdict.path: verdict.findings for verdict in self.verdicts}


def judge_submissions(
    given: Iterable[Path], rows_of: Mapping[Path, BundleRows | Broken]
) -> SubmissionVerdicts:
    """Judge every submission at or below the paths, with the verdicts on its bundles from
    ``rows_of``."""

    def verdict_of(bundle: CachedBundle) -> BundleVerdict:
        rows = rows_of.get(bundle.path)
        if isinstance(rows, BundleRows):
            return replace(rows.verdict, path=bundle.path)  # the cache's has none
        raise SuiteError(f"{bundle.path}{f': {rows.reason}' if rows else ' was not read'}")

    places = {path: place_below(path, root) for root in given for path in find_submissions(root)}
    verdicts = check_submissions(list(places), verdict_of) if places else ()
    broken = [
        (places[verdict.path], one_line(reason.replace(f"{verdict.path}/", ""), 400))
        for verdict in verdicts
        if _is_unjudged(verdict)
        for reason in verdict.broken
    ]
    return SubmissionVerdicts(verdicts, tuple(broken))


def _is_unjudged(verdict: SubmissionVerdict) -> bool:
    return bool(verdict.broken) and not verdict.bundles
