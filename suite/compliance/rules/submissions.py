"""Submissions: what shows only when their runs are compared."""

from collections.abc import Iterable, Iterator
from typing import Any

from suite.bundle.layout import SYSTEM
from suite.catalog.reference_points import load_points
from suite.compliance.faults.fault import Fault, of_first_run, of_submission, sealed
from suite.compliance.faults.file_edits import set_system
from suite.compliance.faults.log_edits import set_everywhere
from suite.compliance.faults.submission_edits import (
    add_file,
    add_file_to_first_run,
    add_link,
    copy_first_run,
    copy_from_second,
    copy_losses,
    copy_readings,
    copy_step_times,
    delete_folder,
    delete_run,
    reach_target_at_once,
    rename_framework,
    rename_run,
    rename_run_and_output,
    rename_workload,
    set_value,
)
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule, SubmittedRun
from suite.errors import FileError
from suite.files.json_file import read_json
from suite.submission.declaration import NAME
from suite.submission.folders import AUDITS, PROBES, probe_path
from suite.submission.package import MACHINE

ORDER = 100  # after the rules of bundles

MIN_RUNS = 3


def _layout(context: SubmissionContext) -> Iterator[Violation]:
    for path in context.unexpected:
        name = path.relative_to(context.path).as_posix()
        yield Violation(name, f"{NAME}, {SYSTEM}, {PROBES}/*.json, {AUDITS}/*.json and <workload>/<framework>/run_<n>/", "another file", "remove it")
    for run in context.runs:
        workload, framework = str(run.request.get("workload")), str(run.request.get("framework"))
        if (workload, framework) != (run.folder.workload, run.folder.framework):
            expected = f"a run of {run.folder.workload} in {run.folder.framework}"
            yield Violation(run.name, expected, f"a run of {workload} in {framework}", "package it again")
    folder = context.path.resolve()
    if (folder.parent.name, folder.name) != (context.declaration.round, context.declaration.organization):
        expected = f"the folder {context.declaration.round}/{context.declaration.organization}"
        yield Violation(NAME, expected, f"{folder.parent.name}/{folder.name}", "package it again")


def _organization(context: SubmissionContext) -> Iterator[Violation]:
    for run in context.runs:
        if run.request.get("organization") not in ("none", context.declaration.organization):
            observed, fix = f"a run of {run.request.get('organization')!r}", "let the organization that made the run submit it"
            yield Violation(run.name, f"a run of {context.declaration.organization}", observed, fix)


def _system(context: SubmissionContext) -> Iterator[Violation]:
    for run in context.runs:
        for name in MACHINE:
            if run.system.get(name) != context.system.get(name):
                observed = f"{run.system.get(name)!r}"[:200]
                yield Violation(f"{run.name}/{SYSTEM}", f"{name} = {context.system.get(name)!r}"[:200], observed, "submit each system separately")


def _entries(context: SubmissionContext) -> dict[tuple[str, ...], list[SubmittedRun]]:
    """Runs that differ in seed only, by workload, framework and the rest of the request."""
    entries: dict[tuple[str, ...], list[SubmittedRun]] = {}
    for run in context.runs:
        shared = {key: value for key, value in run.request.items() if key not in ("seed", "output_directory", "cache_cleared")}
        entries.setdefault((run.folder.workload, run.folder.framework, repr(sorted(shared.items()))), []).append(run)
    return entries


def _runs(context: SubmissionContext) -> Iterator[Violation]:
    for (workload, framework, _), runs in _entries(context).items():
        if len(runs) < MIN_RUNS:
            yield Violation(f"{workload}/{framework}", f"{MIN_RUNS} runs, to be ranked", f"{len(runs)}", "run it with further seeds")


def _seeds(context: SubmissionContext) -> Iterator[Violation]:
    for runs in _entries(context).values():
        seen: dict[Any, str] = {}
        for run in runs:
            seed = run.request.get("seed")
            if seed in seen:
                yield Violation(run.name, "a seed that no other run of the entry has", f"{seed}, as {seen[seed]}", "run it with another --seed")
            seen.setdefault(seed, run.name)


def _duplicates(context: SubmissionContext) -> Iterator[Violation]:
    yield from _same(context, ("run_id", "times", "readings"), "submit each run once")


def _same_losses(context: SubmissionContext) -> Iterator[Violation]:
    yield from _same(context, ("losses",), "state in the review on which machines the runs were made, and from which seeds")


def _same(context: SubmissionContext, names: Iterable[str], fix: str) -> Iterator[Violation]:
    """Values that a run shares with an earlier one, in this submission or another."""
    for name in names:
        seen = {getattr(run, name): f"{run.name} in another submission" for run in context.earlier_runs}
        for run in context.runs:
            value = getattr(run, name)
            if value is not None and value in seen:
                yield Violation(run.name, f"{name.replace('_', ' ')} that no other run has", f"those of {seen[value]}", fix)
            seen.setdefault(value, run.name)


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


def _converges(context: SubmissionContext) -> Iterator[Violation]:
    yield from (violation for violation, as_reference in _faster(context) if as_reference)


def _converges_tuned(context: SubmissionContext) -> Iterator[Violation]:
    yield from (violation for violation, as_reference in _faster(context) if not as_reference)


def _faster(context: SubmissionContext) -> Iterator[tuple[Violation, bool]]:
    """Closed entries that need significantly fewer epochs than the reference, and whether they have the reference's learning rate."""
    from suite.metrics.convergence import LEVEL, compare  # start-up: loads numpy

    for (workload, framework, _), runs in _entries(context).items():
        request, epochs = runs[0].request, [run.epochs_to_target for run in runs if run.epochs_to_target is not None]
        for point in load_points(workload):
            if request.get("division") != "closed" or not epochs or request.get("global_batch_size") != point.batch_size:
                continue
            comparison = compare(point.epochs, epochs)
            if comparison.p_faster <= LEVEL:
                mean = sum(point.epochs) / len(point.epochs)
                observed = f"{', '.join(f'{value:g}' for value in epochs)} (p = {comparison.p_faster:.2g})"
                fix = "explain the convergence in the review; further runs show whether it was chance"
                rate = request.get("optimizer", {}).get("base_learning_rate")
                yield Violation(f"{workload}/{framework}", f"about {mean:.3g} epochs to the target", observed, fix), rate == point.base_learning_rate


OTHER_PROBES = (("passed", False), ("passed", "yes"), ("workload", "vgg11"), ("model", "lenet4"))


def _layout_faults() -> Iterator[Fault]:
    """Files, folders and names out of place."""
    yield of_submission("a file without a place", add_file("notes.txt"))
    yield of_submission("a file without a place, in a run's folder", add_file_to_first_run("extra/file"))
    yield of_submission("a link without a place", add_link("more", "/etc"))
    yield of_submission("a link in a run's folder", add_link("lenet/pytorch/run_2/more.txt", "/etc/passwd"))
    yield of_submission("another framework's folder", rename_framework("tensorflow"))
    yield of_submission("another workload's folder", rename_workload("resnet18"))
    yield of_submission("another organization", set_value(NAME, "organization", "globex"))
    yield of_submission("another round", set_value(NAME, "round", "v9"))


RULES = (
    SubmissionRule(
        id="submission-layout",
        sentence="Every file of a submission has its place, and the folders name what they hold.",
        rationale="A result must have one identity, wherever it is read.",
        check=_layout,
        faults=tuple(_layout_faults()),
    ),
    SubmissionRule(
        id="submission-organization",
        sentence="A run is submitted by the organization that it was made for.",
        rationale="Nobody submits the runs of others.",
        check=_organization,
        faults=(of_first_run(sealed("a run for another organization", set_everywhere("organization", "globex"))),),
    ),
    SubmissionRule(
        id="submission-system",
        sentence="All runs of a submission are of the one system that it describes.",
        rationale="A result belongs to one system.",
        check=_system,
        faults=(
            *(of_first_run(sealed(f"one run on another {name}", set_system(name, "another"))) for name in MACHINE if name != "device"),
            *(
                of_submission(f"another {name} in the submission's system.json", set_value(SYSTEM, name, "another"))
                for name in ("cpu_model", "memory_size_bytes", "kernel")
            ),
        ),
    ),
    SubmissionRule(
        id="submission-runs",
        sentence="An entry has three runs or more.",
        rationale="Fewer runs cannot be distinguished from chance.",
        check=_runs,
        faults=(
            of_submission("two runs only", delete_run(3)),
            of_first_run(sealed("another learning rate within its range, in one run", set_everywhere("optimizer.base_learning_rate", 0.01))),
        ),
        severity=Severity.WARNING,
    ),
    SubmissionRule(
        id="submission-seeds",
        sentence="The runs of an entry have different seeds.",
        rationale="Repeating a seed measures the spread of the machine, not of training.",
        check=_seeds,
        faults=(of_first_run(sealed("the seed of run 2", set_everywhere("seed", 2))),),
    ),
    SubmissionRule(
        id="submission-duplicates",
        sentence="No run is submitted twice: its id, the times between its first steps and between its first readings are in no other run.",
        rationale="A copied run narrows the spread.",
        check=_duplicates,
        faults=(
            of_submission("run 1 again as run 4", copy_first_run()),
            of_submission("run 1 again as run 4, under another id and seed", copy_first_run(rename_run)),
            of_submission("run 1 again as run 4, another file renamed", copy_first_run(rename_run_and_output)),
            of_submission("run 1 with run 2's step times", copy_from_second(copy_step_times)),
            of_submission("run 1 with run 2's readings", copy_from_second(copy_readings)),
        ),
    ),
    SubmissionRule(
        id="submission-losses",
        sentence="No two runs begin with the same losses.",
        rationale="Equal machines compute equal losses from equal seeds, and so does a copy whose times were edited: a reviewer decides.",
        check=_same_losses,
        faults=(of_submission("run 1 with run 2's losses", copy_from_second(copy_losses)),),
        severity=Severity.WARNING,
    ),
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
        id="submission-convergence",
        sentence="A closed entry needs no fewer epochs to the target than the reference at its batch size and learning rate, beyond chance (p 0.01).",
        rationale="The same mathematics converges alike; an entry that needs fewer epochs computes something else.",
        check=_converges,
        faults=(of_submission("every run at the target after one epoch", reach_target_at_once()),),
        divisions=CLOSED,
    ),
    SubmissionRule(
        id="submission-convergence-tuned",
        sentence="A closed entry that needs fewer epochs than the reference at another learning rate is reviewed.",
        rationale="A better learning rate within the range is allowed, and becomes a reference point.",
        check=_converges_tuned,
        faults=(of_submission("every run at the target after one epoch, at another learning rate", reach_target_at_once(0.01)),),
        divisions=CLOSED,
        severity=Severity.WARNING,
    ),
)
