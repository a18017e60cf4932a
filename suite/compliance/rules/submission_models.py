"""Submissions: verdicts on their implementations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from suite.bundle.layout import RUN
from suite.catalog.frameworks import REFERENCE, is_own, load_frameworks
from suite.catalog.seeds import describe_implementation
from suite.catalog.workloads import (
    GOLDEN,
    NARROW,
    OF_STATES,
    PARAMETER_COUNT,
    WIDE,
    Workload,
    golden_name,
)
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.compliance.wording import value_text
from suite.errors import FileError, SuiteError
from suite.files.counted import counted
from suite.files.json_file import read_json
from suite.submission.declaration import NAME
from suite.submission.folder_names import PROBES, probe_path

ORDER = 106  # after the comparison of the runs

_SHA256 = re.compile(r"[0-9a-f]{64}")
ROUNDED = ("timed first loss", "timed losses", "timed update")
"""Quantities in which float32 differs from a referee in float64: by 4e-8 to 6e-6 in real
verdicts."""
CPU, GPU = "cpu", "cuda"


class ProbeVerdict(NamedTuple):
    """The verdict on the implementation of a workload: its file in the submission, what it says
    (None where there is none that can be read), and the last run of that implementation."""

    file: str
    plain: Mapping[str, Any] | None
    run: SubmittedRun
    unreadable: str | None = None

    @property
    def trained(self) -> tuple[str, str]:
        """Workload and framework."""
        return self.run.folder.trained

    @property
    def subject(self) -> Mapping[str, Any] | None:
        """The implementation that the verdict is on, with its differences; None where other rules
        report their form."""
        found = self.plain.get("subjects") if self.plain else None
        if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], Mapping):
            return None
        return found[0] if isinstance(found[0].get("differences"), list) else None


def _verdicts_on(
    context: SubmissionContext, runs: Iterable[SubmittedRun]
) -> Iterator[ProbeVerdict]:
    """The verdict on each implementation of these runs."""
    last = {run.folder.trained: run for run in runs}
    for of, run in last.items():
        path = probe_path(context.path, *of)
        file = path.relative_to(context.path).as_posix()
        try:
            plain = read_json(path) if not path.is_symlink() and path.is_file() else None
            yield ProbeVerdict(file, plain, run)
        except FileError as error:
            yield ProbeVerdict(file, None, run, error.what)


def _closed(context: SubmissionContext) -> list[SubmittedRun]:
    return [run for run in context.runs if run.request.get("division") == "closed"]


def _equivalence(context: SubmissionContext) -> Violations:
    for name, verdict, run, unreadable in _verdicts_on(context, _closed(context)):
        workload, framework = run.folder.trained
        fix = _verifying(workload, framework)
        model = run.request.get("model")
        expected = (
            f"a verdict of `suite verify-model` on {framework}, with passed = True, workload ="
            f" {workload!r} and model = {model!r}"
        )
        if verdict is None:
            yield Violation(name, expected, unreadable or "no verdict", fix=fix)
        elif (
            verdict.get("passed") is not True
            or verdict.get("workload") != workload
            or verdict.get("model") != model
        ):
            yield Violation(
                name,
                expected,
                f"passed = {verdict.get('passed')!r}, workload = {verdict.get('workload')!r},"
                f" model = {verdict.get('model')!r}",
                fix=fix,
            )
        elif verdict.get("accelerator", CPU) != (
            trained_on := _accelerator(context, workload, framework)
        ):
            fix = _verifying(workload, framework, f"--accelerator {trained_on}")
            yield Violation(
                name,
                f"a verdict with accelerator = {trained_on!r}, as in the implementation's runs",
                f"accelerator = {verdict.get('accelerator')!r}",
                fix=fix,
            )


def _verifying(workload: str, framework: str, *options: str) -> str:
    """What to do for a submission to have a verdict that counts."""
    which = f"--framework {framework}" if is_own(framework) else "--implementation DIR"
    command = " ".join((f"suite verify-model {workload} {which}", *options, "--output FILE"))
    return f"run `{command}`, then package the submission again with --probe FILE"


def _accelerator(context: SubmissionContext, workload: str, framework: str) -> str:
    """What the runs trained on; the GPU where some did, since the program's steps differ there the
    most."""
    found = {
        str(run.request.get("accelerator"))
        for run in context.runs
        if run.folder.trained == (workload, framework)
    }
    return GPU if GPU in found else CPU


def _verdicts(context: SubmissionContext) -> Violations:
    """Check that each verdict follows from its differences, names the implementation of its file,
    and is of the runs' version of the suite."""
    yield from _orphans(context)
    for each in _verdicts_on(context, context.runs):
        if each.plain is None:
            continue  # submission-equivalence reports it
        fix = _verifying(*each.trained)
        yield from (
            Violation(each.file, expected[:300], observed[:200], fix=fix)
            for expected, observed in _contradictions(each.plain, each.run.folder.framework)
        )
        made_by, proved = each.run.suite_version, each.plain.get("suite_version")
        if proved != made_by:
            expected = f"a verdict made by suite {made_by!r}, the version that made the runs"
            yield Violation(each.file, expected, f"a verdict made by suite {proved!r}", fix=fix)


def _orphans(context: SubmissionContext) -> Violations:
    """Verdicts on implementations of which no run is submitted."""
    wanted = {probe_path(context.path, *run.folder.trained) for run in context.runs}
    for path in sorted(set((context.path / PROBES).glob("*.json")) - wanted):
        name = path.relative_to(context.path).as_posix()
        yield Violation(
            name[:200],
            "a verdict on an implementation that has runs in this submission",
            "a verdict on an implementation that has no runs in this submission",
            fix="remove this file, or submit runs of this implementation, too",
        )


def _contradictions(verdict: Mapping[str, Any], framework: str) -> Iterator[tuple[str, str]]:
    """What was expected and observed, for each part of a verdict that contradicts another part."""
    subjects = verdict.get("subjects")
    if not isinstance(subjects, list) or len(subjects) != 1 or not isinstance(subjects[0], Mapping):
        yield "subjects = a list of one implementation", value_text(subjects)
        return
    (subject,) = subjects
    if subject.get("name") != framework:
        expected = f"a verdict on {framework!r}, as the file's name says"
        yield expected, f"a verdict on {subject.get('name')!r}"
    differences = subject.get("differences")
    if (
        not isinstance(differences, list)
        or not differences
        or not all(isinstance(one, Mapping) for one in differences)
    ):
        expected = "a list `differences` with the error of every quantity that was compared"
        yield expected, "no such list"
        return
    passed = [_is_within_tolerance(one) for one in differences]
    for one, is_within in zip(differences, passed, strict=True):
        if one.get("passed") is not is_within:
            expected = (
                f"passed = {is_within} for {one.get('precision')} {one.get('quantity')}, whose"
                f" tolerance is {one.get('tolerance')!r}"
            )
            yield expected, f"passed = {one.get('passed')!r} with an error of {one.get('error')!r}"
    for what, values in (("the implementation", subject), ("the verdict", verdict)):
        if values.get("passed") is not all(passed):
            above = f"errors above the tolerance: {passed.count(False)} of {len(passed)}"
            expected = f"passed = {all(passed)} for {what}; {above}"
            yield expected, f"passed = {values.get('passed')!r}"
    wrong = [
        precision
        for precision, digest in _digests(subject).items()
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest)
    ]
    if wrong:
        expected = "a SHA-256 of the outputs for each precision"
        yield expected, f"no SHA-256 for {', '.join(map(str, wrong))}"


def _is_within_tolerance(difference: Mapping[str, Any]) -> bool:
    error, tolerance = difference.get("error"), difference.get("tolerance")
    are_numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (error, tolerance)
    )
    return bool(are_numbers and error <= tolerance)  # type: ignore[operator]


def _digests(subject: Mapping[str, Any]) -> Mapping[str, Any]:
    digests = subject.get("digests")
    return digests if isinstance(digests, Mapping) else {"any precision": None}


def _tolerances(context: SubmissionContext) -> Violations:
    """Recompute pass or fail from the errors of a verdict and the tolerances of the workload."""
    for each in _verdicts_on(context, context.runs):
        if each.plain is None or each.subject is None:
            continue  # submission-equivalence and submission-verdicts report it
        fix = f"{_verifying(*each.trained)}; do not edit FILE"
        try:
            workload = context.round.workload(str(each.run.request.get("workload")))
        except SuiteError:
            continue  # another rule reports the workload
        if each.plain.get("reference") != REFERENCE:
            observed = f"a comparison with {each.plain.get('reference')!r}"
            yield Violation(each.file, f"a comparison with {REFERENCE!r}", observed, fix=fix)
        for values, key in ((each.plain, "expected_parameters"), (each.subject, "parameters")):
            if values.get(key) != workload.parameters:
                expected = f"{key} = {workload.parameters}"
                yield Violation(each.file, expected, f"{key} = {values.get(key)!r}", fix=fix)
        tolerances = _expected(
            workload, each.trained[1], each.plain.get("accelerator"), _shows_states(each.subject)
        )
        for expected, observed in _errors(each.subject, tolerances):
            yield Violation(each.file, expected, observed, fix=fix)


def _errors(
    subject: Mapping[str, Any], tolerances: Mapping[tuple[str, str], float]
) -> Iterator[tuple[str, str]]:
    """What was expected and observed, for each error of a subject beyond the workload's tolerance,
    and where none of them is rounded."""
    found = {
        (str(one.get("precision")), str(one.get("quantity"))): one
        for one in subject["differences"]
        if isinstance(one, Mapping)
    }
    for (precision, quantity), tolerance in tolerances.items():
        one = found.get((precision, quantity), {})
        if one.get("tolerance") != tolerance or not _is_within_tolerance(one):
            stated = f"error {one.get('error')!r}, tolerance {one.get('tolerance')!r}"
            yield (
                f"{quantity} in {precision}: error at most {tolerance:g}, tolerance {tolerance:g}",
                stated[:200] if one else "no such comparison in the verdict",
            )
    rounded = [found[NARROW, name].get("error") for name in ROUNDED if (NARROW, name) in found]
    if rounded and not any(rounded):
        yield (
            f"an error above 0 in {', '.join(ROUNDED[:-1])} or {ROUNDED[-1]}, because results in"
            f" {NARROW} are compared with results in {WIDE}",
            "an error of 0 in all of these",
        )


def _shows_states(subject: Mapping[str, Any]) -> bool:
    """Whether a verdict compares training states, as every one of the checkout's does."""
    return is_own(str(subject.get("name"))) or any(
        isinstance(one, Mapping) and one.get("quantity") in OF_STATES
        for one in subject["differences"]
    )


def _states(context: SubmissionContext) -> Violations:
    for each in _verdicts_on(context, _closed(context)):
        if each.subject is not None and not _shows_states(each.subject):
            yield Violation(
                each.file,
                "results of comparing the training states of the timed steps: update, rate, decay"
                " and path",
                "none of these comparisons in the verdict",
                fix=_verifying(*each.trained),
            )


def _expected(
    workload: Workload, framework: str, accelerator: object, shows_states: bool
) -> dict[tuple[str, str], float]:
    """The tolerance of every quantity of a verdict.

    Of the reference on a CPU, where it is compared with itself, the number of parameters, the
    pinned numbers and the timed steps; of an implementation that ``shows_states`` not, their losses
    and evaluations.
    """
    timed = (
        {}
        if workload.verification.timed is None
        else workload.verification.timed.tolerances.by_quantity()
    )
    on_gpu = accelerator == GPU
    by_precision = workload.verification.tolerances.by_precision(GPU if on_gpu else CPU)
    golden = (
        {}
        if workload.verification.golden is None
        else {(WIDE, golden_name(name)): by_precision[WIDE][name] for name in GOLDEN}
    )
    steps = {
        (NARROW, name): value
        for name, value in timed.items()
        if shows_states or name not in OF_STATES
    }
    expected = {(WIDE, PARAMETER_COUNT): 0.0} | golden | steps
    if framework == REFERENCE and not on_gpu:
        return expected
    return expected | {
        (precision, quantity): value
        for precision, values in by_precision.items()
        for quantity, value in values.items()
    }


def _batch_sizes(context: SubmissionContext) -> Violations:
    """Compare the mini-batches of the verdicts' timed steps with the largest that one rank of the
    closed runs computes at once."""
    closed = _closed(context)
    for each in _verdicts_on(context, closed):
        size = max(_at_once(run.request) for run in closed if run.folder.trained == each.trained)
        proved = None if each.plain is None else each.plain.get("timed_batch_size")
        if isinstance(proved, int) and proved < size:
            yield Violation(
                each.file,
                f"timed steps with mini-batches of at least {size} samples, the most that a rank"
                " of the closed runs computes at once",
                f"mini-batches of {counted(proved, 'sample')}",
                fix=_verifying(*each.trained, f"--batch-size {size}"),
            )


def _at_once(request: Mapping[str, Any]) -> int:
    """Samples of a rank's mini-batch; 0 where the request does not say."""
    parallel, samples = request.get("parallel"), request.get("global_batch_size")
    ranks = parallel.get("ranks") if isinstance(parallel, Mapping) else None
    return (
        -(-samples // ranks)
        if isinstance(samples, int) and isinstance(ranks, int) and ranks > 0
        else 0
    )


def _implementation(context: SubmissionContext) -> Violations:
    """Check that runs, verdict and declaration have the same digest of the implementation's
    files."""
    declared = {each.name: each.sha256 for each in context.declaration.implementations}
    first: dict[str, str] = {}
    for run in context.runs:
        framework, digest = run.folder.framework, (run.implementation or {}).get("sha256")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            yield Violation(
                f"{run.name}/{RUN}",
                "the SHA-256 of the implementation's files (implementation.sha256)",
                f"{digest!r}",
            )
            continue
        wanted = first.setdefault(framework, digest)
        if digest != wanted:
            yield Violation(
                f"{run.name}/{RUN}",
                f"implementation files with the SHA-256 {wanted[:16]}…, as in the first run with"
                f" {framework}",
                f"files with the SHA-256 {digest[:16]}…",
                fix="submit the runs of each version of the implementation separately",
            )
    for run in context.runs:
        yield from _described(run)
    for framework, digest in first.items():
        if declared.get(framework) != digest:
            yield Violation(
                NAME,
                f"{framework} among the declared implementations, with the SHA-256 that its runs"
                f" record ({digest[:16]}…)",
                f"{framework} with the SHA-256 {declared[framework][:16]}…"
                if framework in declared
                else f"no declaration of {framework}",
                fix="package the submission again with `suite package`",
            )
    yield from _verdicts_on_other_files(context, first)


def _verdicts_on_other_files(context: SubmissionContext, made_by: Mapping[str, str]) -> Violations:
    """Verdicts on other files than those that made the runs, by framework."""
    for each in _verdicts_on(context, context.runs):
        workload, framework = each.trained
        if framework not in made_by or each.subject is None:
            continue
        proved = each.subject.get("implementation_sha256")
        if proved != made_by[framework]:
            yield Violation(
                each.file,
                f"a verdict on the runs' implementation files (SHA-256 {made_by[framework][:16]}…)",
                f"a verdict on files with the SHA-256 {proved[:16]}…"
                if isinstance(proved, str)
                else "a verdict that states no SHA-256 of files",
                fix=f"{_verifying(workload, framework)}; verify the files that made the runs",
            )


@cache
def _own_descriptions() -> Mapping[str, Mapping[str, Any]]:
    """What run.json records of each implementation of this checkout, by its name."""
    return {framework.name: describe_implementation(framework) for framework in load_frameworks()}


def _described(run: SubmittedRun) -> Violations:
    """Check title, language and command of an implementation whose files are those of this
    checkout: one of them states all three."""
    stated = run.implementation or {}
    own = next(
        (each for each in _own_descriptions().values() if each["sha256"] == stated.get("sha256")),
        {},
    )
    for key, value in own.items():
        if stated.get(key) != value:
            yield Violation(
                f"{run.name}/{RUN}",
                f"implementation.{key} = {value!r}, as in the suite's description of the"
                " implementation with these files",
                f"{stated.get(key)!r}",
                fix="hand in run.json as `suite run` wrote it",
            )


def _own_files(context: SubmissionContext) -> Violations:
    """Check that closed runs under the name of one of the suite's implementations were made by its
    files."""
    for run in _closed(context):
        own = _own_descriptions().get(run.folder.framework)
        if own is None:
            continue
        digest = str((run.implementation or {}).get("sha256"))
        if digest not in (own["sha256"], *context.round.implementations):
            yield Violation(
                f"{run.name}/{RUN}",
                f"the suite's {run.folder.framework} implementation (SHA-256"
                f" {own['sha256'][:16]}…), or one that round {context.round.name} lists",
                f"an implementation with the SHA-256 {digest[:16]}…",
            )


RULES = (
    Rule(
        "submission-equivalence",
        "For each implementation in a closed submission, a verdict of `suite verify-model` proves"
        " that the implementation computes the workload's model. The verdict was made on the"
        " accelerator on which the runs trained. It also proves that"
        " the implementation's training steps, made as in a run (the timed steps), change"
        " parameters and statistics as the workload prescribes. The mini-batches of the timed steps"
        " are at least as large as a rank's share of a mini-batch in the closed runs.",
        "A model's name and number of parameters do not prove what it computes, and what is right"
        " on a CPU may be wrong on a GPU. Losses of a few steps hardly show a missing weight decay"
        " or a halved learning rate; parameters show both. An implementation could train on all of"
        " a small mini-batch but on only part of a large one, so a verdict with small"
        " mini-batches proves too little.",
        "make the verdict with `suite verify-model … --output FILE` (the implementation must write"
        " its training states: docs/implementing.md#training-states), then `suite package … --probe"
        " FILE`; or run again with --division open, and submit those runs",
        (
            OfSubmission("submission-equivalence", _equivalence, CLOSED),
            OfSubmission("submission-timed-states", _states, CLOSED),
            OfSubmission("submission-batch-size", _batch_sizes, CLOSED, Severity.WARNING),
        ),
    ),
    Rule(
        "submission-verdicts",
        "Every verdict is on an implementation with runs in the submission, and was made by the"
        " suite version that made these runs. It states an error for every quantity for"
        " which the workload has a tolerance. It passes if, and only if, every error is within the"
        " workload's tolerance. The timed steps are computed in float32 and compared with float64."
        " Such results never agree to the last bit, so at least one error of the timed steps is"
        " above 0.",
        "The checker recomputes pass or fail from the errors and the workload's tolerances, so"
        " nobody can turn a failed verdict into a passed one by editing only its result. If"
        " somebody set all errors to 0, the errors of the timed steps would show it. A verdict on"
        " another implementation, or by another version of the suite, proves nothing about these"
        " runs.",
        "make the verdict with `suite verify-model … --output FILE`, then package this file"
        " unchanged with `suite package … --probe FILE`",
        (
            OfSubmission("submission-verdicts", _verdicts, CLOSED),
            OfSubmission("submission-tolerances", _tolerances, CLOSED),
        ),
    ),
    Rule(
        "submission-implementation",
        "The runs of an implementation, its verdict and its declaration state the same SHA-256 of"
        " its files. If these are the files of one of the suite's own implementations, the runs"
        " record"
        " the title, language and command of that implementation. If a closed run names one of"
        " the suite's own implementations, it was made by that implementation's files: the current"
        " ones, or files whose SHA-256 the round lists.",
        "A verdict on other code proves nothing about the code that ran. Even a verdict on the"
        " same code covers only a model and some steps, not every line. So files that somebody"
        " changed make a separate implementation, which is submitted under its own name.",
        "submit the runs of each version of an implementation separately, with a verdict on that"
        " version; submit an implementation whose files you changed as your own, with a name of"
        " its own (docs/implementing.md)",
        (
            OfSubmission("submission-implementation", _implementation),
            OfSubmission("submission-own-files", _own_files, CLOSED),
        ),
    ),
)
