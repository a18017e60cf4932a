"""What a submission must be as a whole."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from suite.bundle.layout import SYSTEM
from suite.compliance.editing import EditableBundle
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, Violation
from suite.compliance.submission_rule import Placed, SubmissionCase, SubmissionFault, SubmissionRule
from suite.errors import FileError
from suite.files.json_file import read_json
from suite.submission.declaration import NAME
from suite.submission.package import MACHINE
from suite.submission.tree import probe_path

FEWEST_RUNS = 3


def _layout(case: SubmissionCase) -> Iterator[Violation]:
    for path in case.stray:
        name = path.relative_to(case.path).as_posix()
        yield Violation(name, "declaration, system, probes/*.json and <workload>/<framework>/run_<n>/", "a file without a place", "take it away")
    for one in case.bundles:
        found = (str(one.request.get("workload")), str(one.request.get("framework")))
        if found != (one.place.workload, one.place.framework):
            yield Violation(one.name, f"a run of {one.place.workload} in {one.place.framework}", f"of {found[0]} in {found[1]}", "pack it again")
    folder = case.path.resolve()
    if (folder.parent.name, folder.name) != (case.declaration.round, case.declaration.organization):
        expected = f"the folder {case.declaration.round}/{case.declaration.organization}"
        yield Violation("declaration.json", expected, f"{folder.parent.name}/{folder.name}", "pack it again")


def _organization(case: SubmissionCase) -> Iterator[Violation]:
    for one in case.bundles:
        if one.request.get("organization") not in ("none", case.declaration.organization):
            yield Violation(one.name, f"a run of {case.declaration.organization}", f"of {one.request.get('organization')!r}", "its owner submits it")


def _system(case: SubmissionCase) -> Iterator[Violation]:
    for one in case.bundles:
        for name in MACHINE:
            if one.system.get(name) != case.system.get(name):
                observed = f"{one.system.get(name)!r}"[:200]
                yield Violation(f"{one.name}/{SYSTEM}", f"{name} = {case.system.get(name)!r}"[:200], observed, "submit each system by itself")


def _entries(case: SubmissionCase) -> dict[tuple[str, ...], list[Placed]]:
    """Runs that differ in seed only, by what they share."""
    entries: dict[tuple[str, ...], list[Placed]] = {}
    for one in case.bundles:
        shared = {key: value for key, value in one.request.items() if key not in ("seed", "output_directory", "cache_cleared")}
        entries.setdefault((one.place.workload, one.place.framework, repr(sorted(shared.items()))), []).append(one)
    return entries


def _runs(case: SubmissionCase) -> Iterator[Violation]:
    for (workload, framework, _), runs in _entries(case).items():
        if len(runs) < FEWEST_RUNS:
            yield Violation(f"{workload}/{framework}", f"{FEWEST_RUNS} runs, to be ranked", f"{len(runs)}", "run it with further seeds")


def _seeds(case: SubmissionCase) -> Iterator[Violation]:
    for runs in _entries(case).values():
        seen: dict[Any, str] = {}
        for one in runs:
            seed = one.request.get("seed")
            if seed in seen:
                yield Violation(one.name, "another seed than the entry's other runs", f"{seed}, as {seen[seed]}", "run it with another --seed")
            seen.setdefault(seed, one.name)


def _duplicates(case: SubmissionCase) -> Iterator[Violation]:
    yield from _same(case, ("run_id", "times", "readings"), "submit each run once")


def _same_losses(case: SubmissionCase) -> Iterator[Violation]:
    yield from _same(case, ("losses",), "say in the review on which machines the runs were made, and from which seeds")


def _same(case: SubmissionCase, names: Iterable[str], fix: str) -> Iterator[Violation]:
    """What a run shares with one before it, here or in another submission."""
    for what in names:
        seen = {getattr(one, what): f"{one.name} in another submission" for one in case.others}
        for one in case.bundles:
            value = getattr(one, what)
            if value is not None and value in seen:
                yield Violation(one.name, f"a run with {what.replace('_', ' ')} of its own", f"those of {seen[value]}", fix)
            seen.setdefault(value, one.name)


def _equivalence(case: SubmissionCase) -> Iterator[Violation]:
    closed = {(one.place.workload, one.place.framework): one for one in case.bundles if one.request.get("division") == "closed"}
    for (workload, framework), one in closed.items():
        path = probe_path(case.path, workload, framework)
        name, fix = (
            path.relative_to(case.path).as_posix(),
            f"suite verify-model {workload} --framework {framework} --output …, and `suite package --probe …`",
        )
        try:
            verdict = read_json(path) if path.is_file() and not path.is_symlink() else None
        except FileError as error:
            verdict = {"passed": error.what}
        expected = f"a verdict of suite verify-model that passes {one.request.get('model')} in {framework}"
        if verdict is None:
            yield Violation(name, expected, "none", fix)
        elif verdict.get("passed") is not True or verdict.get("workload") != workload or verdict.get("model") != one.request.get("model"):
            yield Violation(name, expected, f"passed: {verdict.get('passed')!r}, {verdict.get('workload')!r}, {verdict.get('model')!r}"[:200], fix)


def _converges(case: SubmissionCase) -> Iterator[Violation]:
    yield from (complaint for complaint, as_reference in _faster(case) if as_reference)


def _converges_tuned(case: SubmissionCase) -> Iterator[Violation]:
    yield from (complaint for complaint, as_reference in _faster(case) if not as_reference)


def _faster(case: SubmissionCase) -> Iterator[tuple[Violation, bool]]:
    """Closed entries that reach the target sooner than chance allows, and whether they have the reference's learning rate."""
    from suite.catalog.reference_points import load_points
    from suite.metrics.convergence import LEVEL, compare

    for (workload, framework, _), runs in _entries(case).items():
        request, epochs = runs[0].request, [one.epochs_to_target for one in runs if one.epochs_to_target is not None]
        for point in load_points(workload):
            if request.get("division") != "closed" or not epochs or request.get("global_batch_size") != point.batch_size:
                continue
            found = compare(point.epochs, epochs)
            if found.p_faster <= LEVEL:
                mean = sum(point.epochs) / len(point.epochs)
                observed = f"{', '.join(f'{value:g}' for value in epochs)} (p = {found.p_faster:.2g})"
                fix = "say in the review why it converges so; further runs tell chance from cause"
                rate = request.get("optimizer", {}).get("base_learning_rate")
                yield Violation(f"{workload}/{framework}", f"about {mean:.3g} epochs to the target", observed, fix), rate == point.base_learning_rate


def _at_once(submission: Path, rate: float | None = None) -> None:
    """Every run ends at the target after its first epoch; at the reference's learning rate, or another."""
    from suite.catalog.reference_points import load_points

    for path in sorted(submission.glob("lenet/*/run_*")):
        bundle = EditableBundle(path)
        (reference,) = (point for point in load_points("lenet") if point.batch_size == bundle.request["global_batch_size"])
        bundle.request["optimizer"]["base_learning_rate"] = rate or reference.base_learning_rate
        bundle.event("opt_base_learning_rate")["value"] = rate or reference.base_learning_rate
        evaluated = bundle.event("eval_accuracy")
        evaluated["metadata"]["correct"] = bundle.request["data"]["eval_samples"] - 1
        evaluated["value"] = evaluated["metadata"]["correct"] / bundle.request["data"]["eval_samples"]
        _cut_after_first_epoch(bundle)
        bundle.save(recomputed=True)


def _cut_after_first_epoch(bundle: EditableBundle) -> None:
    stop = bundle.event("run_stop")
    left_out = stop["metadata"]["mono_ns"] - bundle.event("eval_stop")["metadata"]["mono_ns"]
    bundle.events = [event for event in bundle.events if event["metadata"].get("epoch_num", 1) == 1]
    bundle.steps = bundle.steps[bundle.steps["epoch"] == 1]
    stop["metadata"]["mono_ns"] -= left_out - 1
    stop["time_ms"] -= left_out // 10**6


def _run(submission: Path, number: int) -> Path:
    return next(iter(sorted(submission.glob(f"*/*/run_{number}"))))


def _edit_run(submission: Path, number: int, **request: Any) -> None:
    bundle = EditableBundle(_run(submission, number))
    bundle.request.update(request)
    bundle.save()


def _edit_declaration(submission: Path, **values: Any) -> None:
    path = submission / NAME
    path.write_text(json.dumps({**read_json(path), **values}), encoding="utf-8")


def _stray(submission: Path) -> None:
    (_run(submission, 1) / "extra").mkdir()
    (_run(submission, 1) / "extra" / "file").write_text("x", encoding="utf-8")


def _another_machine(submission: Path) -> None:
    bundle = EditableBundle(_run(submission, 3))
    bundle.system["cpu_model"] = "another"
    bundle.save()


def _copied(submission: Path) -> None:
    run = _run(submission, 1)
    target = run.with_name("run_4")
    shutil.copytree(run, target)
    bundle = EditableBundle(target)
    bundle.run["run_id"] = f"{bundle.run['run_id'][:-6]}fffff9"
    bundle.request["seed"] = 99
    bundle.save()


def _borrowed_losses(submission: Path) -> None:
    """As many as both runs have."""
    bundle, other = EditableBundle(_run(submission, 1)), EditableBundle(_run(submission, 2))
    both = min(len(bundle.steps), len(other.steps))
    bundle.steps.loc[: both - 1, "loss"] = other.steps["loss"].iloc[:both]
    bundle.save(recomputed=True)


def _failed_probe(submission: Path) -> None:
    for path in (submission / "probes").iterdir():
        path.write_text(json.dumps({**read_json(path), "passed": False}), encoding="utf-8")


def _moved(submission: Path) -> None:
    folder = _run(submission, 1).parent
    folder.rename(folder.with_name("other"))


LAYOUT_FAULTS = (
    SubmissionFault("a file without a place", _stray),
    SubmissionFault("a link", lambda path: (_run(path, 2) / "more.txt").symlink_to("/etc/passwd")),
    SubmissionFault("runs in another framework's folder", _moved),
    SubmissionFault("another organization in the declaration", lambda path: _edit_declaration(path, organization="other")),
    SubmissionFault("another round in the declaration", lambda path: _edit_declaration(path, round="v9")),
)

RULES = (
    SubmissionRule(
        "submission-layout",
        "Every file of a submission has a place, and its place says what it is.",
        "A row's identity must be the same wherever it is read.",
        _layout,
        LAYOUT_FAULTS,
    ),
    SubmissionRule(
        "submission-organization",
        "A run is submitted by whoever it was run for.",
        "Nobody submits another's runs.",
        _organization,
        (SubmissionFault("a run for somebody else", lambda path: _edit_run(path, 1, organization="globex")),),
    ),
    SubmissionRule(
        "submission-system",
        "All runs of a submission are of the one system that it describes.",
        "A row is one system's.",
        _system,
        (SubmissionFault("a run of another machine", _another_machine),),
    ),
    SubmissionRule(
        "submission-runs",
        "An entry has three runs or more.",
        "With fewer nothing can be told from chance.",
        _runs,
        (SubmissionFault("two runs only", lambda path: shutil.rmtree(_run(path, 3))),),
        severity=Severity.WARNING,
    ),
    SubmissionRule(
        "submission-seeds",
        "The runs of an entry have different seeds.",
        "The same seed again measures the machine, not the training.",
        _seeds,
        (SubmissionFault("the same seed twice", lambda path: _edit_run(path, 2, seed=EditableBundle(_run(path, 1)).request["seed"])),),
    ),
    SubmissionRule(
        "submission-duplicates",
        "No run is submitted twice: its id, the times between its first steps and between its first readings are in no other.",
        "A run that is copied narrows the spread.",
        _duplicates,
        (SubmissionFault("a run copied under another id and seed", _copied),),
    ),
    SubmissionRule(
        "submission-losses",
        "No two runs begin with the same losses.",
        "Like machines compute the same from like seeds, bit for bit; so does a copy whose times were edited: a reviewer has to look.",
        _same_losses,
        (SubmissionFault("another run's losses", _borrowed_losses),),
        severity=Severity.WARNING,
    ),
    SubmissionRule(
        "submission-equivalence",
        "A closed submission shows that each implementation computes the workload's model.",
        "A name and a number of parameters prove nothing.",
        _equivalence,
        (SubmissionFault("no verdict", lambda path: shutil.rmtree(path / "probes")), SubmissionFault("a verdict that failed", _failed_probe)),
        divisions=CLOSED,
    ),
    SubmissionRule(
        "submission-convergence",
        "A closed entry does not need fewer epochs to the target than the reference at its batch size and learning rate, beyond chance (p 0.01).",
        "The same mathematics converges alike; who is faster by epochs does something else.",
        _converges,
        (SubmissionFault("every run at the target after one epoch", _at_once),),
        divisions=CLOSED,
    ),
    SubmissionRule(
        "submission-convergence-tuned",
        "An entry that converges faster than the reference at another learning rate is looked at.",
        "A better learning rate within the range is allowed, and becomes a reference point.",
        _converges_tuned,
        (SubmissionFault("after one epoch at another learning rate", lambda path: _at_once(path, 0.01)),),
        divisions=CLOSED,
        severity=Severity.WARNING,
    ),
)
