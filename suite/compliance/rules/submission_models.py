"""Submissions: verdicts on their implementations, and the version of the suite."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from suite.compliance.faults.fault import of_submission
from suite.compliance.faults.submission_edits import delete_folder, set_value
from suite.compliance.rule import CLOSED, Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule
from suite.errors import FileError
from suite.files.json_file import read_json
from suite.submission.declaration import NAME
from suite.submission.folders import PROBES, probe_path

_SHA256 = re.compile(r"[0-9a-f]{64}")

ORDER = 103  # after the comparison of the runs

OTHER_PROBES = (("passed", False), ("passed", "yes"), ("workload", "vgg11"), ("model", "lenet4"))


def _equivalence(context: SubmissionContext) -> Iterator[Violation]:
    closed = {(run.folder.workload, run.folder.framework): run for run in context.runs if run.request.get("division") == "closed"}
    for (workload, framework), run in closed.items():
        path = probe_path(context.path, workload, framework)
        name = path.relative_to(context.path).as_posix()
        fix = f"suite verify-model {workload} --framework {framework} --output FILE, then package it again with --probe FILE"
        try:
            verdict = read_json(path) if path.is_file() and not path.is_symlink() else None
        except FileError as error:
            verdict = {"passed": error.what}
        expected = f"a verdict of suite verify-model that passes {run.request.get('model')} in {framework}"
        if verdict is None:
            yield Violation(name, expected, "none", fix)
        elif verdict.get("passed") is not True or verdict.get("workload") != workload or verdict.get("model") != run.request.get("model"):
            yield Violation(name, expected, f"passed: {verdict.get('passed')!r}, {verdict.get('workload')!r}, {verdict.get('model')!r}"[:200], fix)


def _verdicts(context: SubmissionContext) -> Iterator[Violation]:
    """Check that each verdict follows from its differences, names the implementation of its file, and is of the runs' version of the suite."""
    versions = {(run.folder.workload, run.folder.framework): run.suite_version for run in context.runs}
    for (workload, framework), version in versions.items():
        path = probe_path(context.path, workload, framework)
        name = path.relative_to(context.path).as_posix()
        try:
            verdict = read_json(path) if path.is_file() and not path.is_symlink() else None
        except FileError:
            continue  # submission-equivalence reports it
        if verdict is None:
            continue
        fix = f"suite verify-model {workload} --framework {framework} --output FILE, then package it again with --probe FILE"
        yield from (Violation(name, expected[:300], observed[:200], fix) for expected, observed in _contradictions(verdict, framework))
        if verdict.get("suite_version") != version:
            yield Violation(name, f"a verdict of suite {version}, which made the runs", f"of suite {verdict.get('suite_version')!r}"[:200], fix)


def _contradictions(verdict: Mapping[str, Any], framework: str) -> Iterator[tuple[str, str]]:
    """What was expected and observed, for each part of a verdict that contradicts another part."""
    subjects = verdict.get("subjects")
    if not isinstance(subjects, list) or len(subjects) != 1 or not isinstance(subjects[0], Mapping):
        yield "a verdict on one implementation", f"{type(subjects).__name__} of subjects"
        return
    (subject,) = subjects
    if subject.get("name") != framework:
        yield f"a verdict on {framework}, as the file's name says", f"on {subject.get('name')!r}"
    differences = subject.get("differences")
    if not isinstance(differences, list) or not differences or not all(isinstance(one, Mapping) for one in differences):
        yield "the differences that the verdict follows from", "none"
        return
    passed = [_within(one) for one in differences]
    for one, is_within in zip(differences, passed, strict=True):
        if one.get("passed") is not is_within:
            expected = f"passed = {is_within} for {one.get('precision')} {one.get('quantity')}, whose tolerance is {one.get('tolerance')!r}"
            yield expected, f"passed = {one.get('passed')!r} with an error of {one.get('error')!r}"
    for what, values in (("the implementation", subject), ("the verdict", verdict)):
        if values.get("passed") is not all(passed):
            yield f"passed = {all(passed)} for {what}, which follows from {passed.count(False)} failed differences", f"{values.get('passed')!r}"
    wrong = [precision for precision, digest in _digests(subject).items() if not isinstance(digest, str) or not _SHA256.fullmatch(digest)]
    if wrong:
        yield "a SHA-256 of the outputs in each precision", f"none in {', '.join(map(str, wrong))}"


def _within(difference: Mapping[str, Any]) -> bool:
    error, tolerance = difference.get("error"), difference.get("tolerance")
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (error, tolerance))
    return bool(are_numbers and error <= tolerance)  # type: ignore[operator]


def _digests(subject: Mapping[str, Any]) -> Mapping[str, Any]:
    digests = subject.get("digests")
    return digests if isinstance(digests, Mapping) else {"every precision": None}


def _versions(context: SubmissionContext) -> Iterator[Violation]:
    for run in context.runs:
        if run.suite_version != context.declaration.suite_version:
            expected = f"a run by suite {context.declaration.suite_version}, as {NAME} declares"
            yield Violation(
                run.name, expected, f"by suite {run.suite_version!r}"[:200], "package it with the version of the suite that made the runs"
            )


FIRST = "subjects.0.differences.0"
OTHER_RESULTS: tuple[tuple[str, object], ...] = (
    (f"{FIRST}.error", 0.37), (f"{FIRST}.error", None), (f"{FIRST}.passed", False), ("subjects.0.differences", []), ("subjects.0.name", "numpy"),
    ("subjects.0.digests", {"float64": "0"}), ("suite_version", "0.1.0"), ("subjects", []),
)  # fmt: skip


RULES = (
    SubmissionRule(
        id="submission-equivalence",
        sentence="A closed submission proves, for each implementation, that it computes the workload's model.",
        rationale="A name and a number of parameters prove nothing.",
        check=_equivalence,
        faults=(
            of_submission("no verdict on the model", delete_folder(PROBES)),
            *(of_submission(f"a verdict with {name} = {value!r}", set_value(f"{PROBES}/*.json", name, value)) for name, value in OTHER_PROBES),
        ),
        divisions=CLOSED,
    ),
    SubmissionRule(
        id="submission-verdicts",
        sentence="A verdict on an implementation follows from its own differences, and is of the implementation and suite version of the runs.",
        rationale="A verdict that was edited, or that is of another implementation, proves nothing.",
        check=_verdicts,
        faults=tuple(
            of_submission(f"a verdict with {name} = {value!r}", set_value(f"{PROBES}/*.json", name, value)) for name, value in OTHER_RESULTS
        ),
        divisions=CLOSED,
    ),
    SubmissionRule(
        id="submission-suite-version",
        sentence="The runs of a submission were made by the version of the suite that it declares.",
        rationale="Versions may differ in what they measure.",
        check=_versions,
        faults=(of_submission("another version declared", set_value(NAME, "suite_version", "0.1.0")),),
    ),
)
