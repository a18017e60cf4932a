"""Makes the fresh runs of a replication, compares them with the originals, and seals the record."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import __version__
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import MAX_RUNS, fresh_runs, run_folder
from suite.catalog.frameworks import is_own
from suite.catalog.reproduction import load_reproduction
from suite.catalog.seeds import refuse_other_files
from suite.errors import SuiteError
from suite.execution.events import Progress, silent
from suite.execution.request import RunRequest
from suite.execution.resolve import resolve_options
from suite.execution.run_records import records_of
from suite.experiments.one_run import broken_rules
from suite.experiments.replication.originals import (
    Original,
    find_originals,
    options_of,
    originals_in_turn,
)
from suite.experiments.sweep_runs import are_done, run_all
from suite.files.names import plain_name
from suite.launch.environments import find_environment
from suite.metrics.replication import REPLICATION, compare_runs, needs_replay
from suite.metrics.replication_record import (
    SCHEMA,
    MeasuredRun,
    ReplayedOriginal,
    Replication,
    common_settings,
    measure_run,
)
from suite.verify.replay_audit import AuditOptions, audit

FOLDER = Path("replications")
CANNOT_TELL = "cannot tell"
Report = Callable[[str], None]


@dataclass(frozen=True)
class ReproductionOptions:
    """Options of `suite reproduce`.

    ``runs`` is the number of fresh runs (None: the rulebook's least, and one of each original at
    least), ``organization`` who makes them. ``data`` is the folder of the data set (None: that of
    `suite data prepare`), ``implementation`` that of an implementation outside the checkout.
    """

    runs: int | None = None
    organization: str = "none"
    data: Path | None = None
    implementation: Path | None = None


@dataclass(frozen=True)
class PlannedReplication:
    """The originals, and the requests of the fresh runs in ``directory``, in the order in which
    they are made."""

    directory: Path
    originals: tuple[Original, ...]
    requests: tuple[RunRequest, ...]
    organization: str
    data: Path | None


def plan_reproduction(
    path: Path, options: ReproductionOptions, output: Path | None = None
) -> PlannedReplication:
    """Resolve what will be run below ``output`` (default: ``replications/<run id of the first
    original>-<time>``).

    Raises SuiteError where the run cannot be made again here as it was.
    """
    constants = load_reproduction()
    originals = find_originals(path)
    directory = output or _default_directory(originals[0])
    runs = max(constants.min_runs, len(originals)) if options.runs is None else options.runs
    if not constants.min_runs <= runs <= MAX_RUNS:
        raise SuiteError(f"--runs must be from {constants.min_runs} to {MAX_RUNS}, not {runs}.")
    organization = plain_name(options.organization, "--org")
    requests = tuple(
        _request(
            original,
            resolve_options(
                options_of(original, organization, options.data, options.implementation),
                run_folder(directory, number),
            ),
        )
        for number, original in enumerate(originals_in_turn(originals, runs), start=1)
    )
    return PlannedReplication(directory, originals, requests, organization, options.data)


def _request(original: Original, request: RunRequest) -> RunRequest:
    """The request of a fresh run; raises SuiteError naming what would be different from the
    original's."""
    wanted = original.settings
    found = common_settings(records_of(request).request_values(request.training))
    different = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
    if different:
        name = different[0]
        raise SuiteError(
            f"{original.bundle.path} cannot be repeated here with its own settings: {name} was"
            f" {wanted.get(name)!r} and would be {found.get(name)!r} here"
            + (f" (also different: {', '.join(different[1:])})." if different[1:] else ".")
        )
    if request.framework.outside is not None:
        bundle = original.bundle
        refuse_other_files(request.framework, bundle.run().implementation, bundle.path)
    return request


def _default_directory(original: Original) -> Path:
    run_id = re.sub(r"[^A-Za-z0-9-]", "-", str(original.bundle.run().run_id))[:100]
    return FOLDER / f"{run_id}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"


def reproduce(
    planned: PlannedReplication,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
    report: Report = lambda line: None,
) -> Replication:
    """Make the fresh runs and write the sealed record beside them. Resumable: finished runs are
    kept.

    ``report`` gets a line for each replay that losses need. Raises as ``run_one``.
    """
    directory, ours = planned.directory, planned.organization
    if ours in {original.request.organization for original in planned.originals}:
        report(
            f"{ours!r} made the original runs, too: a replication counts only if another"
            " organization makes it (--org)."
        )
    if len(planned.requests) < len(planned.originals):
        report(
            f"{len(planned.requests)} fresh runs repeat only some of the"
            f" {len(planned.originals)} originals: the mark 'reproduced by X' needs all (--runs"
            f" {len(planned.originals)})."
        )
    if broken := broken_rules(planned.requests[0]):
        report(
            f"The current round refuses these settings ({', '.join(dict.fromkeys(broken))}): the"
            " fresh runs will not comply, and no page will show the replication."
        )
    find_environment(planned.requests[0].framework)
    labels = [f"seed {request.training.seed}" for request in planned.requests]
    run_all(planned.requests, labels, are_done(planned.requests), command, progress)
    record = _record(planned, report)
    REPLICATION.write(directory, record)
    return record


def _record(planned: PlannedReplication, report: Report) -> Replication:
    directory, fresh = planned.directory, fresh_runs(planned.directory)
    if len(fresh) > len(planned.requests):
        raise SuiteError(
            f"{directory} holds {len(fresh)} fresh runs, made by an earlier command; give --runs "
            f"{len(fresh)}, or choose another --output."
        )
    originals = tuple(measure_run(original.bundle) for original in planned.originals)
    runs = tuple(measure_run(Bundle(path)) for path in fresh)
    replays = _replays(planned, needs_replay(originals, runs), report)
    return Replication(
        SCHEMA,
        __version__,
        planned.organization,
        originals,
        runs,
        replays,
        compare_runs(originals, runs, replays),
    )


def _replays(
    planned: PlannedReplication, different: Sequence[MeasuredRun], report: Report
) -> tuple[ReplayedOriginal, ...]:
    """The audit of each original whose losses the fresh runs do not repeat; of an implementation
    outside the checkout none can be made."""
    bundles = {str(original.bundle.run().run_id): original.bundle for original in planned.originals}
    options = AuditOptions(data=planned.data)
    return tuple(
        ReplayedOriginal(
            run.run_id,
            (
                _replayed(bundles[run.run_id], options, report)
                if is_own(run.framework)
                else CANNOT_TELL
            ),
        )
        for run in different
    )


def _replayed(bundle: Bundle, options: AuditOptions, report: Report) -> str:
    """The verdict of the audit; that it cannot tell where none can be made, so that the hours of
    the fresh runs leave a record."""
    try:
        return audit(bundle.path, options, report).verdict.value
    except SuiteError as error:
        report(f"{bundle.path} cannot be replayed, so that its losses are undecided: {error}")
        return CANNOT_TELL
