"""Checks submissions: each bundle by the rules of bundles, then the whole by the rules of submissions."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from suite.bundle.layout import SYSTEM
from suite.bundle.reader import Bundle, CachedBundle
from suite.compliance.checker import BundleVerdict, check_cached_bundle
from suite.compliance.finding import Finding, Severity
from suite.compliance.registry import SUBMISSION_RULES
from suite.compliance.rule import MAX_VIOLATIONS
from suite.compliance.submission_rule import SubmissionContext, SubmittedRun
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json
from suite.metrics.summary import target_figures
from suite.submission.declaration import read_declaration
from suite.submission.folders import RunFolder, read_folders

MIN_VALUES, MAX_VALUES = 10, 100  # fewer values may be equal by chance; a copy may be cut off or continued after them


@dataclass(frozen=True)
class SubmissionVerdict:
    """The result for a submission: each bundle's, the findings about the whole, and a sentence for each bundle that could not be checked."""

    path: Path
    bundles: tuple[BundleVerdict, ...]
    findings: tuple[Finding, ...]
    broken: tuple[str, ...]

    @property
    def complies(self) -> bool:
        """No finding is invalid and every bundle could be checked."""
        is_valid = all(finding.severity is not Severity.INVALID for finding in self.findings)
        return is_valid and not self.broken and all(verdict.complies for verdict in self.bundles)


def check_submission(path: Path) -> SubmissionVerdict:
    """Check a submission."""
    return check_submissions((path,))[0]


def check_submissions(
    paths: Sequence[Path], verdict_of: Callable[[CachedBundle], BundleVerdict] = check_cached_bundle
) -> tuple[SubmissionVerdict, ...]:
    """Check submissions in order; a run that is in two of them is reported for the second.

    A submission whose declaration or system cannot be read is ``broken``; the remaining ones are checked. ``verdict_of`` checks a bundle;
    callers that have its verdict already can return it.
    """
    verdicts: list[SubmissionVerdict] = []
    earlier_runs: tuple[SubmittedRun, ...] = ()
    for path in paths:
        try:
            context, bundles, broken = _read_submission(path, earlier_runs, verdict_of)
        except SuiteError as error:
            verdicts.append(SubmissionVerdict(path, (), (), (str(error),)))
            continue
        findings = tuple(
            violation.finding(rule.id, rule.severity) for rule in SUBMISSION_RULES for violation in islice(rule.check(context), MAX_VIOLATIONS)
        )
        verdicts.append(SubmissionVerdict(path, bundles, findings, broken))
        earlier_runs += context.runs
    return tuple(verdicts)


def _read_submission(
    path: Path, earlier_runs: tuple[SubmittedRun, ...], verdict_of: Callable[[CachedBundle], BundleVerdict]
) -> tuple[SubmissionContext, tuple[BundleVerdict, ...], tuple[str, ...]]:
    declaration, system = read_declaration(path), path / SYSTEM
    if system.is_symlink() or not system.is_file():
        raise FileError(system, "is missing")
    folders, unexpected = read_folders(path)
    if not folders:
        raise SuiteError(f"{path} holds no run in <workload>/<framework>/run_<n>/; make it with `suite package`.")
    verdicts, runs, broken = [], [], []
    for folder in folders:
        try:
            bundle = CachedBundle(folder.path)
            verdicts.append(verdict_of(bundle))
            runs.append(_read(path, folder, bundle))
        except SuiteError as error:
            broken.append(str(error))
    context = SubmissionContext(path, declaration, read_json(system), tuple(runs), unexpected, earlier_runs)
    return context, tuple(verdicts), tuple(broken)


def _read(path: Path, folder: RunFolder, bundle: Bundle) -> SubmittedRun:
    run, steps, channels = bundle.run(), bundle.steps(), bundle.channels()
    return SubmittedRun(
        folder=folder,
        name=folder.path.relative_to(path).as_posix(),
        request=run.request,
        run_id=run.run_id,
        system=bundle.json(SYSTEM),
        losses=_digest(steps.loss),
        times=_digest(np.diff(steps.start_ns)),
        readings=_digest(np.diff(channels.head_ns)),
        epochs_to_target=target_figures(bundle.log())["epochs_to_target"].value,
    )


def _digest(values: "np.ndarray[Any, Any]") -> str | None:
    return hashlib.sha256(values[:MAX_VALUES].tobytes()).hexdigest() if len(values) >= MIN_VALUES else None
