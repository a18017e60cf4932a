"""Judges a submission: each bundle by the bundles' rules, and what only shows when they are seen together."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suite.bundle import SYSTEM, Bundle, BundleError, read_json
from suite.compliance.checker import Verdict, check_bundle
from suite.compliance.finding import Finding, Severity
from suite.compliance.registry import SUBMISSION_RULES
from suite.compliance.submission_rule import Placed, SubmissionCase
from suite.errors import SuiteError
from suite.submission.declaration import read_declaration
from suite.submission.tree import Place, places
from suite.summary import target_figures


@dataclass(frozen=True)
class SubmissionVerdict:
    """What the rules say of a submission: of each bundle, of the whole, and which bundles could not be judged at all."""

    path: Path
    bundles: tuple[Verdict, ...]
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


def check_submissions(paths: Sequence[Path]) -> tuple[SubmissionVerdict, ...]:
    """Judge submissions, each beside those before it: a run that is in two of them shows in the second.

    One whose declaration or system cannot be read is broken, and the others are judged.
    """
    verdicts: list[SubmissionVerdict] = []
    seen: tuple[Placed, ...] = ()
    for path in paths:
        try:
            case, bundles, broken = _read_submission(path, seen)
        except SuiteError as error:
            verdicts.append(SubmissionVerdict(path, (), (), (str(error),)))
            continue
        findings = tuple(
            Finding(rule.id, rule.severity, one.file, one.line, one.expected, one.observed, one.fix)
            for rule in SUBMISSION_RULES
            for one in rule.check(case)
        )
        verdicts.append(SubmissionVerdict(path, bundles, findings, broken))
        seen += case.bundles
    return tuple(verdicts)


def _read_submission(path: Path, seen: tuple[Placed, ...]) -> tuple[SubmissionCase, tuple[Verdict, ...], tuple[str, ...]]:
    declaration, system = read_declaration(path), path / SYSTEM
    if system.is_symlink() or not system.is_file():
        raise BundleError(system, "is missing")
    found, stray = places(path)
    if not found:
        raise SuiteError(f"{path} holds no run in <workload>/<framework>/run_<n>/; make it with `suite package`.")
    verdicts, bundles, broken = [], [], []
    for place in found:
        try:
            verdicts.append(check_bundle(place.path))
            bundles.append(_read(path, place))
        except SuiteError as error:
            broken.append(str(error))
    case = SubmissionCase(path, declaration, read_json(system), tuple(bundles), stray, seen)
    return case, tuple(verdicts), tuple(broken)


def _read(path: Path, place: Place) -> Placed:
    bundle = Bundle(place.path)
    run, steps = bundle.run(), bundle.steps()
    epochs = target_figures(bundle.log())["epochs_to_target"].value
    name, times = place.path.relative_to(path).as_posix(), np.diff(steps["start_ns"].to_numpy())
    return Placed(place, name, run.request, run.run_id, bundle.json(SYSTEM), _digest(steps["loss"].to_numpy()), _digest(times), epochs)


def _digest(values: "np.ndarray[Any, Any]") -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()
