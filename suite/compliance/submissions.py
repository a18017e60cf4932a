"""Judges a submission: each bundle by the bundles' rules, and what only shows when they are seen together."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from suite.bundle.layout import SYSTEM
from suite.bundle.reader import Bundle, CachedBundle
from suite.compliance.checker import BundleVerdict, judge
from suite.compliance.finding import Finding, Severity
from suite.compliance.registry import SUBMISSION_RULES
from suite.compliance.rule import MOST_COMPLAINTS
from suite.compliance.submission_rule import Placed, SubmissionCase
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json
from suite.metrics.summary import target_figures
from suite.submission.declaration import read_declaration
from suite.submission.tree import Place, places

FEWEST, BEGINNING = 10, 100  # fewer values may be the same by chance; a copy may be cut or continued


@dataclass(frozen=True)
class SubmissionVerdict:
    """What the rules say of a submission: of each bundle, of the whole, and which bundles could not be judged at all."""

    path: Path
    bundles: tuple[BundleVerdict, ...]
    findings: tuple[Finding, ...]
    broken: tuple[str, ...]

    @property
    def complies(self) -> bool:
        """Nothing in it is invalid or broken."""
        own = all(finding.severity is not Severity.INVALID for finding in self.findings)
        return own and not self.broken and all(verdict.complies for verdict in self.bundles)


def check_submission(path: Path) -> SubmissionVerdict:
    """Judge a submission."""
    return check_submissions((path,))[0]


def check_submissions(paths: Sequence[Path], verdict_of: Callable[[CachedBundle], BundleVerdict] = judge) -> tuple[SubmissionVerdict, ...]:
    """Judge submissions, each beside those before it: a run that is in two of them shows in the second.

    One whose declaration or system cannot be read is broken, and the others are judged. ``verdict_of`` judges a bundle; who has its verdict
    already need not pay for it twice.
    """
    verdicts: list[SubmissionVerdict] = []
    seen: tuple[Placed, ...] = ()
    for path in paths:
        try:
            case, bundles, broken = _read_submission(path, seen, verdict_of)
        except SuiteError as error:
            verdicts.append(SubmissionVerdict(path, (), (), (str(error),)))
            continue
        findings = tuple(complaint.by(rule.id, rule.severity) for rule in SUBMISSION_RULES for complaint in islice(rule.check(case), MOST_COMPLAINTS))
        verdicts.append(SubmissionVerdict(path, bundles, findings, broken))
        seen += case.bundles
    return tuple(verdicts)


def _read_submission(
    path: Path, seen: tuple[Placed, ...], verdict_of: Callable[[CachedBundle], BundleVerdict]
) -> tuple[SubmissionCase, tuple[BundleVerdict, ...], tuple[str, ...]]:
    declaration, system = read_declaration(path), path / SYSTEM
    if system.is_symlink() or not system.is_file():
        raise FileError(system, "is missing")
    found, stray = places(path)
    if not found:
        raise SuiteError(f"{path} holds no run in <workload>/<framework>/run_<n>/; make it with `suite package`.")
    verdicts, bundles, broken = [], [], []
    for place in found:
        try:
            bundle = CachedBundle(place.path)
            verdicts.append(verdict_of(bundle))
            bundles.append(_read(path, place, bundle))
        except SuiteError as error:
            broken.append(str(error))
    case = SubmissionCase(path, declaration, read_json(system), tuple(bundles), stray, seen)
    return case, tuple(verdicts), tuple(broken)


def _read(path: Path, place: Place, bundle: Bundle) -> Placed:
    run, steps, channels = bundle.run(), bundle.steps(), bundle.channels()
    return Placed(
        place=place,
        name=place.path.relative_to(path).as_posix(),
        request=run.request,
        run_id=run.run_id,
        system=bundle.json(SYSTEM),
        losses=_digest(steps.loss),
        times=_digest(np.diff(steps.start_ns)),
        readings=_digest(np.diff(channels.t_ns)),
        epochs_to_target=target_figures(bundle.log())["epochs_to_target"].value,
    )


def _digest(values: "np.ndarray[Any, Any]") -> str | None:
    return hashlib.sha256(values[:BEGINNING].tobytes()).hexdigest() if len(values) >= FEWEST else None
