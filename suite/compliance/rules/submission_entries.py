"""Submissions: entries, their runs, seeds and launches."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from reference_impls.contract import ASYNCHRONOUS, WAITING
from suite.catalog.frameworks import known_frameworks
from suite.catalog.reference_points import frozen_points
from suite.catalog.scoring import load_scoring
from suite.compliance.finding import Severity
from suite.compliance.rule import CLOSED, Rule, Violation, Violations
from suite.compliance.rules.run_record import is_command
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.compliance.values import is_number
from suite.files.counted import counted
from suite.metrics.convergence import LEVEL, compare_epochs, show_epochs
from suite.submission.declaration import NAME
from suite.submission.entry_keys import entry_settings, is_split, split_key, split_keys, timing_of
from suite.submission.launches import FINISHED, UNFINISHED, DeclaredEntry

ORDER = 104  # after the layout

RUN_ID = re.compile(r"(?P<name>.+)-\d{8}T\d{6}Z-.+", re.ASCII)
EPOCHS = 2
"""Of a run that shows how a step divides: the first epoch's caches are cold."""


def _runs(context: SubmissionContext) -> Violations:
    needed, entries = load_scoring().min_runs, context.entries()
    scored = split_keys(runs[0].request for runs in entries.values())
    for (workload, framework, _), runs in entries.items():
        if len(runs) < needed and not is_split(runs[0].request, scored):
            yield Violation(
                f"{workload}/{framework}",
                f"at least {counted(needed, 'run')}, so that the entry can be ranked",
                counted(len(runs), "run"),
            )


def _seeds(context: SubmissionContext) -> Violations:
    for runs in context.entries().values():
        seen: dict[Any, str] = {}
        for run in runs:
            seed = run.request.get("seed")
            if seed in seen:
                yield Violation(
                    run.name,
                    "a seed that no other run of the entry has",
                    f"seed {seed}, as in {seen[seed]}",
                )
            seen.setdefault(seed, run.name)


def _one_entry(context: SubmissionContext) -> Violations:
    """Settings in which the runs of a declared entry differ."""
    runs = {run.run_id: run for run in context.runs}
    for entry in context.declaration.entries:
        members = [runs[launch.run_id] for launch in entry.launches if launch.run_id in runs]
        settings = [entry_settings(run.request) for run in members]
        common = Counter(repr(sorted(each.items())) for each in settings).most_common(1)
        usual = next((each for each in settings if repr(sorted(each.items())) == common[0][0]), {})
        for run, own in zip(members, settings, strict=True):
            different = sorted(name for name in {*own, *usual} if own.get(name) != usual.get(name))
            if different:
                expected = (
                    f"{different[0]} = {usual.get(different[0], 'nothing')}, as in other runs of"
                    " the entry"
                )
                observed = f"{different[0]} = {own.get(different[0], 'nothing')}"
                yield Violation(run.name, expected[:300], observed[:300])


def _launches(context: SubmissionContext) -> Violations:
    """Check that declared launches and submitted runs are the same, apart from launches that did
    not finish."""
    if not context.declaration.entries:
        yield Violation(NAME, "every entry declared, with all its launches", "no declared entries")
        return
    declared = Counter(
        launch.run_id for entry in context.declaration.entries for launch in entry.launches
    )
    submitted = {run.run_id: run for run in context.runs}
    for run in context.runs:
        if declared[run.run_id] != 1:
            yield Violation(
                run.name,
                f"{run.run_id} exactly once among the declared launches",
                f"{run.run_id} {counted(declared[run.run_id], 'time')}",
            )
    yield from _declared_apart(context)
    for entry in context.declaration.entries:
        yield from _launches_of(entry, submitted)


def _declared_apart(context: SubmissionContext) -> Violations:
    """Entries whose runs are declared as several: each has its own planned runs and launches."""
    for (workload, framework, _), runs in context.entries(with_withdrawn=True).items():
        ids = {run.run_id for run in runs}
        parts = sum(
            not ids.isdisjoint(launch.run_id for launch in entry.launches)
            for entry in context.declaration.entries
        )
        if parts > 1:
            yield Violation(
                f"{workload}/{framework}",
                "one declared entry for all runs that differ in their seeds only",
                f"{parts} declared entries",
            )


def _launches_of(entry: DeclaredEntry, submitted: Mapping[str, SubmittedRun]) -> Violations:
    """Check the launches of one entry against the submitted runs, by their ids."""
    where = f"{entry.workload}/{entry.framework}"
    finished = [launch for launch in entry.launches if launch.status == FINISHED]
    for launch in finished:
        if launch.run_id not in submitted:
            yield Violation(
                where,
                f"the run {launch.run_id} in the submission, because its launch finished",
                "no such run",
            )
    for launch in entry.launches:
        named = RUN_ID.fullmatch(launch.run_id)
        if named is not None and named["name"] != f"{entry.workload}-{entry.framework}":
            yield Violation(
                where,
                f"only launches of {entry.workload} in {entry.framework}",
                f"the launch {launch.run_id} (status {launch.status!r})",
            )
        if launch.status != FINISHED and launch.run_id in submitted:
            yield Violation(
                submitted[launch.run_id].name,
                "a run whose launch finished",
                f"a run whose launch has the status {launch.status!r}",
            )
    if len(finished) != entry.planned_runs:
        yield Violation(
            where,
            f"as many finished launches as planned runs: {entry.planned_runs}",
            f"{len(finished)}",
            fix="if too few launches finished, make the missing runs and package again; if"
            " --planned-runs was wrong, package again with the number that was planned before"
            " the first run",
        )


def _unfinished(context: SubmissionContext) -> Violations:
    for entry in context.declaration.entries:
        ended = [launch for launch in entry.launches if launch.status != FINISHED]
        if ended:
            yield Violation(
                f"{entry.workload}/{entry.framework}",
                "only launches that finished",
                f"{len(ended)} of {len(entry.launches)} launches did not finish",
                fix="write in the submission's notes why they did not finish",
            )


def _numbers(context: SubmissionContext) -> Violations:
    """Check that the folders of each workload and framework are run_1, run_2, … without a gap."""
    folders: dict[str, set[int]] = {}
    for run in context.runs:
        where, _, number = run.name.rpartition("/run_")
        folders.setdefault(where, set()).add(int(number) if number.isdigit() else 0)
    for where, numbers in folders.items():
        missing = sorted(set(range(1, max(numbers) + 1)) - numbers)
        if missing:
            yield Violation(
                where,
                f"every folder from run_1 to run_{max(numbers)}",
                f"no run_{', run_'.join(map(str, missing))}",
            )


def _power_meters(context: SubmissionContext) -> Violations:
    """Runs that lack a power meter which read in other runs of their entry."""
    for runs in context.entries().values():
        meters = {source for run in runs for source in run.power_meters}
        for run in runs:
            if missing := sorted(meters - run.power_meters):
                expected = (
                    f"readings of {', '.join(missing)}, as in other runs of the entry (without"
                    " them, the entry's energy is unknown)"
                )
                yield Violation(run.name, expected[:300], "no such readings")


def _split(context: SubmissionContext) -> Violations:
    entries = context.entries()
    shown = {
        (workload, framework, split_key(run.request))
        for (workload, framework, _), runs in entries.items()
        for run in runs
        if timing_of(run.request) == WAITING and _is_long_enough(run.request)
    }
    for (workload, framework, _), runs in entries.items():
        request = runs[0].request
        if timing_of(request) != ASYNCHRONOUS or framework not in known_frameworks():
            continue
        if (workload, framework, split_key(request)) not in shown:
            yield Violation(
                runs[0].name,
                f"another run with this run's settings, in {WAITING} timing and over at least"
                f" {EPOCHS} epochs, which shows the parts of a step",
                f"no such run among {len(context.runs)}",
                fix=_fix(request),
            )


def _is_long_enough(request: Mapping[str, Any]) -> bool:
    return request.get("steps") is None or request["steps"] >= _least_steps(request)


def _least_steps(request: Mapping[str, Any]) -> int:
    return EPOCHS * int(-(-request["data"]["train_samples"] // request["global_batch_size"]))


def _fix(request: Mapping[str, Any]) -> str:
    return (
        f"make a run with the same options, but --timing {WAITING} and another --seed, and package"
        " it, too; for a shorter run, add --division open --steps"
        f" {_least_steps(request)} (or more steps)"
    )


def _no_study(context: SubmissionContext) -> Violations:
    """Runs that carry the mark of a study, or whose command made one; a command with a mark taken
    out still says it."""
    for run in context.runs:
        if run.study is not None:
            title = run.study.get("title")
            yield Violation(
                run.name,
                "a run that was not made for a study",
                f"a run of the study {title!r}",
            )
        elif is_command(run.command, "sweep"):
            yield Violation(
                run.name, "a run that `suite sweep` did not make", " ".join(run.command)
            )


def _faster(as_reference: bool, context: SubmissionContext) -> Violations:
    """Closed entries that need significantly fewer epochs than the reference: those with the
    reference's learning rate, or those with another."""
    tolerance = load_scoring().rate_tolerance
    for (workload, framework, _), runs in context.entries().items():
        request = runs[0].request
        epochs = [run.epochs_to_target for run in runs if run.epochs_to_target is not None]
        for point in frozen_points(context.round, workload):
            if (
                request.get("division") != "closed"
                or not epochs
                or request.get("global_batch_size") != point.batch_size
            ):
                continue
            comparison = compare_epochs(point.epochs, epochs)
            if comparison.p_faster <= LEVEL:
                expected = (
                    "no run that reaches the target, because no reference run with this"
                    " mini-batch size reached it"
                    if point.expected_epochs is None
                    else (
                        f"about {point.expected_epochs:.3g} epochs to the target, as many as the"
                        " reference runs with this mini-batch size needed, or not significantly"
                        f" fewer (p > {LEVEL:g})"
                    )
                )
                observed = (
                    f"epochs to the target: {', '.join(map(show_epochs, epochs))}"
                    f" (p = {comparison.p_faster:.2g})"
                )
                rate = request.get("optimizer", {}).get("base_learning_rate")
                is_near = is_number(rate) and abs(rate / point.base_learning_rate - 1) <= tolerance
                if is_near is as_reference:
                    yield Violation(f"{workload}/{framework}", expected, observed)


RULES = (
    Rule(
        "submission-runs",
        "An entry has at least three runs. One run is enough for an entry that only shows the"
        " parts of a step (submission-split).",
        "With fewer runs, a difference between entries cannot be distinguished from chance.",
        "make further runs with the same options, except the seed: another --seed, or with --nonce"
        " the next --run-number",
        (OfSubmission("submission-runs", _runs, severity=Severity.WARNING),),
    ),
    Rule(
        "submission-entries",
        "The runs of a declared entry differ in their seeds, and in nothing else.",
        "An average over different settings describes none of them. Runs with the same seed show"
        " how much the machine varies, but not how much the training varies.",
        "if settings differ, submit the runs with other settings as a separate entry; if two runs"
        " have the same seed, repeat one of them with another --seed, or with --nonce and the next"
        " --run-number",
        (
            OfSubmission("submission-seeds", _seeds),
            OfSubmission("submission-entries", _one_entry),
        ),
    ),
    Rule(
        "submission-launches",
        "An entry is declared once, with all of its launches, and no launch of another workload or"
        " framework."
        " The submitted runs are those of the launches that finished. As many launches finished as"
        " runs were planned. The run folders of a workload and framework are numbered from 1"
        " without a gap. Launches"
        " that did not finish are a warning; an entry with more unfinished launches than planned"
        " runs is unranked until a reviewer accepts them.",
        "Submitters who leave out runs, or stop as soon as a result suits them, choose the result.",
        "package all planned runs of the entry again, with `suite package … --launches FOLDER`"
        " (the folder in which they were started); a withdrawn run stays in the submission, with"
        " the file that says why it was withdrawn",
        (
            OfSubmission("submission-launches", _launches),
            OfSubmission("submission-numbers", _numbers),
            OfSubmission(UNFINISHED, _unfinished, severity=Severity.WARNING),
        ),
    ),
    Rule(
        "submission-power-meters",
        "All runs of an entry were measured with the same power meters.",
        "The energy of an entry is unknown unless the energy of every run is known. If a meter is"
        " missing in one run, a reader may ask whether it was left out on purpose.",
        "to publish the entry's energy, make all of its runs again with the meter connected",
        (OfSubmission("submission-power-meters", _power_meters, severity=Severity.WARNING),),
    ),
    Rule(
        "submission-split",
        "If an entry of one of the suite's frameworks uses asynchronous timing, the submission"
        f" also has a run in synchronised timing with the same settings, of at least {EPOCHS}"
        " epochs. Only the division, --steps and the seed of this run may differ.",
        "The score comes from asynchronous timing, and only a run in synchronised timing shows the"
        " parts of a step.",
        "make a run in synchronised timing with the same settings, and package it, too",
        (OfSubmission("submission-split", _split),),
    ),
    Rule(
        "submission-studies",
        "No run of a submission was made for a study: no run.json names a study, and no run was"
        " made by `suite sweep`.",
        "A study tries many settings, and the best of many runs makes its setting look better than"
        " it is. An entry is planned, and all of its runs count.",
        "submit runs that `suite run` made for the entry, and plan their number before the first"
        " run; `suite report` shows a study on a separate page",
        (OfSubmission("submission-studies", _no_study),),
    ),
    Rule(
        "submission-convergence",
        "A closed entry does not reach the target in significantly fewer epochs (p ≤ 0.01) than the"
        " reference with the same batch size and learning rate (within one percent). If the batch"
        " size is the same but the learning rate is not, an entry that needs significantly fewer"
        " epochs is reviewed.",
        "An implementation that computes the same training needs about as many epochs. An entry"
        " that needs significantly fewer computes something else, or has a better learning rate."
        " Another learning rate within the workload's range is allowed; if the review accepts it,"
        " reference runs are made with it.",
        "explain the convergence to the reviewer; further runs show whether it was chance",
        (
            OfSubmission("submission-convergence", partial(_faster, True), CLOSED),
            OfSubmission(
                "submission-convergence-tuned", partial(_faster, False), CLOSED, Severity.WARNING
            ),
        ),
    ),
)
