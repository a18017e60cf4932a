"""Checks submissions: each bundle by the rules of bundles, then the whole by the rules of
submissions."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from suite.bundle.data_record import DATA, read_data_record
from suite.bundle.layout import SYSTEM
from suite.bundle.log import Log
from suite.bundle.node_records import read_nodes
from suite.bundle.reader import Bundle, CachedBundle
from suite.catalog.divisions import Division
from suite.catalog.rounds import judging_round
from suite.compliance.applying import findings_of_check
from suite.compliance.checker import BundleVerdict, check_cached_bundle
from suite.compliance.copies import (
    StepTimes,
    find_likenesses,
    loss_sample,
    memory_sample,
    power_sample,
    step_times,
)
from suite.compliance.finding import Finding
from suite.compliance.registry import checks_of
from suite.compliance.rules.audits import audit_badges
from suite.compliance.rules.reviews import audited_by
from suite.compliance.signed_reviews import SignedReview
from suite.compliance.submission_rule import Copied, OfSubmission, SubmissionContext, SubmittedRun
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json
from suite.files.tree import refuse_large
from suite.metrics.summary import target_figures
from suite.submission.declaration import NAME, read_declaration
from suite.submission.folder_names import RunFolder, is_withdrawn, read_folders

NS_PER_MS = 10**6
# fewer values may be equal by chance; a copy may be cut off or continued after them
MIN_VALUES, MAX_VALUES = 10, 100


@dataclass(frozen=True)
class SubmissionVerdict:
    """The result for a submission: each bundle's, the findings about the whole, and a sentence for
    each bundle that could not be checked.

    ``signed_by`` is whose key signed it, by submissions/ALLOWED_SIGNERS; None if nobody's that is
    known there. ``audits`` are unsigned audits that agree, by the runs' folders; ``audited_by`` is
    who replayed the runs from a state that they drew, ``reviews`` every review, with its
    maker. ``submitters`` are those who cannot vouch for it.
    """

    path: Path
    bundles: tuple[BundleVerdict, ...]
    findings: tuple[Finding, ...]
    broken: tuple[str, ...]
    signed_by: str | None = None
    audits: Mapping[Path, str] = field(default_factory=dict)
    audited_by: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    reviews: tuple[SignedReview, ...] = ()
    submitters: frozenset[str | None] = frozenset()

    @property
    def complies(self) -> bool:
        """No finding is invalid and every bundle could be checked."""
        return not self.broken and not any(finding.is_invalid for _, finding in self.all_findings())

    def all_findings(self) -> Iterator[tuple[Path, Finding]]:
        """Every finding, with the folder that its file's name is relative to."""
        verdicts: tuple[BundleVerdict | SubmissionVerdict, ...] = (*self.bundles, self)
        for verdict in verdicts:
            yield from ((verdict.path, finding) for finding in verdict.findings)


def check_submission(path: Path) -> SubmissionVerdict:
    """Check a submission."""
    return check_submissions((path,))[0]


def check_submissions(
    paths: Sequence[Path], verdict_of: Callable[[CachedBundle], BundleVerdict] = check_cached_bundle
) -> tuple[SubmissionVerdict, ...]:
    """Check submissions together; of two equal runs, the one that began later is refused, by its
    own record; of equal starts both.

    A submission whose declaration or system cannot be read is ``broken``; the remaining ones are
    checked. ``verdict_of`` checks a bundle; callers that have its verdict already can return it.
    """
    read = [_read_submission(path, verdict_of) for path in paths]
    contexts = _compared([each for each in read if isinstance(each, _Submission)])
    return tuple(
        each if isinstance(each, SubmissionVerdict) else _judge(each, contexts[each.context.path])
        for each in read
    )


@dataclass(frozen=True, eq=False)
class _Submission:
    """A submission that was read: its context without the other submissions, and the verdicts on
    its bundles."""

    context: SubmissionContext
    times: tuple[StepTimes, ...]
    bundles: tuple[BundleVerdict, ...]
    broken: tuple[str, ...]


def _judge(read: _Submission, context: SubmissionContext) -> SubmissionVerdict:
    found = tuple(
        finding
        for rule, check in checks_of(context.round, OfSubmission)
        for finding in findings_of_check(rule, check, context, NAME)
    )
    signed_by = None if context.signature is None else context.signature.signed_by
    return SubmissionVerdict(
        context.path,
        read.bundles,
        found,
        read.broken,
        signed_by,
        audit_badges(context),
        audited_by(context),
        context.reviews,
        context.submitters,
    )


def _compared(read: Sequence[_Submission]) -> dict[Path, SubmissionContext]:
    """Each submission's context with the runs of the others, and the near copies among all runs."""
    runs = [run for each in read for run in each.context.runs]
    likenesses = find_likenesses([times for each in read for times in each.times])
    contexts: dict[Path, SubmissionContext] = {}
    earlier = 0
    for context in (each.context for each in read):
        later = earlier + len(context.runs)
        copies = [
            Copied(runs[one], runs[other], like.what)
            for like in likenesses
            for one, other in ((like.one, like.other), (like.other, like.one))
            if earlier <= one < later
        ]
        others = (*runs[:earlier], *runs[later:])
        contexts[context.path] = replace(context, other_runs=others, copies=tuple(copies))
        earlier = later
    return contexts


def _read_submission(
    path: Path, verdict_of: Callable[[CachedBundle], BundleVerdict]
) -> _Submission | SubmissionVerdict:
    """The submission, or a verdict of what cannot be read of it."""
    try:
        refuse_large(path)
        declaration, system = read_declaration(path), read_json(_system_file(path))
        folders, unexpected = read_folders(path)
        if not folders:
            raise SuiteError(
                f"{path} holds no run in <workload>/<framework>/run_<n>/; make it with `suite"
                " package`."
            )
    except SuiteError as error:
        return SubmissionVerdict(path, (), (), (str(error),))
    verdicts, runs, times, broken = [], [], [], []
    for folder in folders:
        try:
            bundle = CachedBundle(folder.path)
            verdicts.append(verdict_of(bundle))
            runs.append(_read(path, folder, bundle))
            accumulation = runs[-1].request.get("accumulation")
            of_update = accumulation if isinstance(accumulation, int) else 1
            times.append(step_times(bundle.steps(), _seed_of_order(runs[-1]), of_update))
        except SuiteError as error:
            broken.append(str(error))
    judged_by = judging_round(declaration.round)
    context = SubmissionContext(path, declaration, judged_by, system, tuple(runs), unexpected)
    return _Submission(context, tuple(times), tuple(verdicts), tuple(broken))


def _system_file(path: Path) -> Path:
    system = path / SYSTEM
    if system.is_symlink() or not system.is_file():
        raise FileError(system, "is missing")
    return system


def _read(path: Path, folder: RunFolder, bundle: Bundle) -> SubmittedRun:
    run, steps, channels, log = bundle.run(), bundle.steps(), bundle.channels(), bundle.log()
    boot = log.events[0].metadata.get("boot") if log.events else None
    to_target = target_figures(log)["epochs_to_target"].value
    return SubmittedRun(
        submission=path,
        folder=folder,
        name=folder.path.relative_to(path).as_posix(),
        request=run.request,
        round=run.round,
        run_id=run.run_id,
        system=bundle.json(SYSTEM),
        node_systems=tuple(node.system or {} for node in read_nodes(bundle)[1:]),
        losses=_digest(steps.loss),
        times=_digest(np.diff(steps.start_ns)),
        readings=_digest(np.diff(channels.head_ns)),
        epochs_to_target=(
            math.inf
            if to_target is None and run.request.get("target_accuracy") is not None
            else to_target
        ),
        suite_version=run.suite_version,
        started_time_ms=float(run.started_time_ms),
        boot=boot if isinstance(boot, str) else None,
        span_ns=log.span_ns,
        is_withdrawn=is_withdrawn(folder.path, path),
        idle_ns=bundle.baseload().span_ns,
        booted_ms=_booted_ms(log),
        power_meters=frozenset(each.source for each in channels if each.unit in ("W", "J")),
        states=_states(log),
        nonce=run.nonce,
        implementation=run.implementation,
        study=run.study,
        command=tuple(map(str, run.command)),
        moment_of_digests=_moment_of_digests(bundle, boot),
        power=power_sample(channels),
        memory=memory_sample(channels),
        loss_rows=loss_sample(steps.first_rank.loss),
    )


def _moment_of_digests(bundle: Bundle, boot: object) -> tuple[str, int] | None:
    """When the digests of the run's data were taken; None where no boot or no readable record says
    so: a rule of bundles reports that."""
    try:
        is_known = isinstance(boot, str) and (bundle.path / DATA).is_file()
        return (str(boot), read_data_record(bundle).taken_ns) if is_known else None
    except FileError:
        return None


def _booted_ms(log: Log) -> float | None:
    start = log.first("run_start")
    return (
        None
        if start is None or start.mono_ns is None
        else start.time_ms - start.mono_ns / NS_PER_MS
    )


def _seed_of_order(run: SubmittedRun) -> int | None:
    """The seed that decides the order of the samples; None in the open division, where something
    else may."""
    seed = run.request.get("seed")
    return (
        seed
        if run.request.get("division") == Division.CLOSED.value and isinstance(seed, int)
        else None
    )


def _states(log: Log) -> frozenset[str]:
    values = [event.value for event in log.all("state_digests") if isinstance(event.value, dict)]
    found = (value.get(kind) for value in values for kind in ("parameter", "velocity"))
    return frozenset(digest for digest in found if isinstance(digest, str))


def _digest(values: "np.ndarray[Any, Any]") -> str | None:
    return (
        hashlib.sha256(values[:MAX_VALUES].tobytes()).hexdigest()
        if len(values) >= MIN_VALUES
        else None
    )
