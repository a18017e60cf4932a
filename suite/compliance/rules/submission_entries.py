"""Submissions: entries, their runs, seeds and launches."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from reference_impls.contract import ASYNCHRONOUS, WAITING
from suite.catalog.scoring import load_scoring
from suite.compliance.finding import Severity
from suite.compliance.rule import Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule, SubmittedRun
from suite.submission.declaration import NAME
from suite.submission.entry_keys import entry_settings, split_key, timing_of
from suite.submission.launches import FINISHED

ORDER = 104  # after the layout

RUN_ID = re.compile(r"(?P<name>.+)-\d{8}T\d{6}Z-.+", re.ASCII)


def _runs(context: SubmissionContext) -> Iterator[Violation]:
    needed, entries = load_scoring().min_runs, context.entries()
    scored = {
        split_key(runs[0].request)
        for runs in entries.values()
        if timing_of(runs[0].request) == ASYNCHRONOUS
    }
    for (workload, framework, _), runs in entries.items():
        shows_split = timing_of(runs[0].request) == WAITING and split_key(runs[0].request) in scored
        if len(runs) < needed and not shows_split:
            yield Violation(
                f"{workload}/{framework}",
                f"{needed} runs, to be ranked",
                f"{len(runs)}",
                "make further runs (--run-number, or other seeds)",
            )


def _seeds(context: SubmissionContext) -> Iterator[Violation]:
    for runs in context.entries().values():
        seen: dict[Any, str] = {}
        for run in runs:
            seed = run.request.get("seed")
            if seed in seen:
                fix = (
                    "submit one of them; a further run takes the next --run-number, or a seed that"
                    " no run has"
                )
                yield Violation(
                    run.name,
                    "a seed that no other run of the entry has",
                    f"{seed}, as {seen[seed]}",
                    fix,
                )
            seen.setdefault(seed, run.name)


def _one_entry(context: SubmissionContext) -> Iterator[Violation]:
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
                    f"{different[0]} = {usual.get(different[0], 'nothing')}, as in the entry's"
                    " other runs"
                )
                yield Violation(
                    run.name,
                    expected[:300],
                    own.get(different[0], "nothing")[:200],
                    "submit it as an entry of its own, or run it again",
                )


def _launches(context: SubmissionContext) -> Iterator[Violation]:
    """Check that declared launches and submitted runs are the same, apart from launches that did
    not finish."""
    fix = (
        "package all runs of the entry again, with --launches for the folder in which they were"
        " started"
    )
    if not context.declaration.entries:
        yield Violation(NAME, "every launch of every entry, declared", "no entries", fix)
        return
    declared = Counter(
        launch.run_id for entry in context.declaration.entries for launch in entry.launches
    )
    submitted = {run.run_id: run for run in context.runs}
    for run in context.runs:
        if declared[run.run_id] != 1:
            yield Violation(
                run.name,
                f"{run.run_id} declared once among the launches"[:300],
                f"{declared[run.run_id]} times",
                fix,
            )
    for entry in context.declaration.entries:
        where, finished = (
            f"{entry.workload}/{entry.framework}",
            [launch for launch in entry.launches if launch.status == FINISHED],
        )
        for launch in finished:
            if launch.run_id not in submitted:
                yield Violation(
                    where,
                    f"the run of the launch {launch.run_id}, which finished"[:300],
                    "no such run",
                    fix,
                )
        for launch in entry.launches:
            named = RUN_ID.fullmatch(launch.run_id)
            if named is not None and named["name"] != f"{entry.workload}-{entry.framework}":
                yield Violation(
                    where,
                    f"launches of {entry.workload} in {entry.framework}",
                    f"{launch.run_id}, {launch.status}"[:200],
                    fix,
                )
            if launch.status != FINISHED and launch.run_id in submitted:
                yield Violation(
                    submitted[launch.run_id].name,
                    f"a launch that {launch.status}, as declared",
                    "a finished run",
                    fix,
                )
        if len(finished) != entry.planned_runs:
            yield Violation(
                where,
                f"{entry.planned_runs} finished runs, as planned",
                f"{len(finished)}",
                "make as many runs as were planned, no more and no fewer",
            )


def _numbers(context: SubmissionContext) -> Iterator[Violation]:
    """Check that the folders of each workload and framework are run_1, run_2, … without a gap."""
    folders: dict[str, set[int]] = {}
    for run in context.runs:
        where, _, number = run.name.rpartition("/run_")
        folders.setdefault(where, set()).add(int(number) if number.isdigit() else 0)
    for where, numbers in folders.items():
        missing = sorted(set(range(1, max(numbers) + 1)) - numbers)
        if missing:
            expected = f"run_1 to run_{max(numbers)}, each of them"
            yield Violation(
                where,
                expected,
                f"no run_{', run_'.join(map(str, missing))}"[:200],
                "submit every run; a withdrawn one stays beside its reason",
            )


def _power_meters(context: SubmissionContext) -> Iterator[Violation]:
    """Runs that lack a power meter which read in other runs of their entry."""
    for runs in context.entries().values():
        meters = {source for run in runs for source in run.power_meters}
        for run in runs:
            if missing := sorted(meters - run.power_meters):
                expected = (
                    f"readings of {', '.join(missing)}, as in the entry's other runs: the entry's"
                    " energy is unknown without them"
                )
                yield Violation(
                    run.name,
                    expected[:300],
                    "none",
                    "run the entry again with the meter connected, to publish its energy",
                )


def _software(context: SubmissionContext) -> Iterator[Violation]:
    """Runs of an entry with other versions than its first run: Python, the framework, or a
    library."""
    for runs in context.entries().values():
        for run in runs[1:]:
            own, first = _versions(run), _versions(runs[0])
            different = sorted(name for name in {*own, *first} if own.get(name) != first.get(name))
            if different:
                expected = (
                    f"{different[0]} {first.get(different[0], 'left out')}, as in {runs[0].name}"
                )
                fix = "make all runs of the entry in one environment (`suite env create`)"
                yield Violation(
                    run.name, expected[:300], str(own.get(different[0], "left out"))[:200], fix
                )


def _versions(run: SubmittedRun) -> dict[str, Any]:
    libraries = run.system.get("libraries")
    listed = libraries if isinstance(libraries, Mapping) else {}
    return {
        **listed,
        "Python": run.system.get("python"),
        "framework": run.system.get("framework_version"),
    }


RULES = (
    SubmissionRule(
        id="submission-runs",
        sentence=(
            "An entry has three runs or more; one that only shows how the steps of another divide"
            " (submission-split) needs one."
        ),
        rationale="Fewer runs cannot be distinguished from chance.",
        check=_runs,
        severity=Severity.WARNING,
    ),
    SubmissionRule(
        id="submission-seeds",
        sentence="The runs of an entry have different seeds.",
        rationale="Repeating a seed measures the spread of the machine, not of training.",
        check=_seeds,
    ),
    SubmissionRule(
        id="submission-entries",
        sentence="The runs of a declared entry differ in their seeds only.",
        rationale="A mean over different settings is a result of none.",
        check=_one_entry,
    ),
    SubmissionRule(
        id="submission-software",
        sentence=(
            "The runs of an entry were made with the same versions of Python, framework and"
            " libraries."
        ),
        rationale=(
            "Another version may compute at another speed: then they are runs of two entries."
        ),
        check=_software,
    ),
    SubmissionRule(
        id="submission-launches",
        sentence=(
            "Every launch of an entry is declared, none of another workload or framework, and every"
            " launch that finished is submitted, as many as were planned."
        ),
        rationale="Leaving out runs, or stopping when a result suits, chooses the result.",
        check=_launches,
    ),
    SubmissionRule(
        id="submission-numbers",
        sentence="The runs of a workload and framework are numbered from 1 without a gap.",
        rationale="A gap is a run that was taken out.",
        check=_numbers,
    ),
    SubmissionRule(
        id="submission-power-meters",
        sentence="The runs of an entry were read by the same power meters.",
        rationale=(
            "The energy of an entry is unknown unless every run has it; a reader may ask why one"
            " has not."
        ),
        check=_power_meters,
        severity=Severity.WARNING,
    ),
)
