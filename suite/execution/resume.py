"""`suite run --resume RUN`: finds the last training state that an interrupted run kept, and what
the new run records of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reference_impls.contract import ContractError, Parallel, Recomputation, Request
from reference_impls.state_file import StateFile, state_name
from reference_impls.training_state import digests
from suite.bundle.data_record import DATA, read_data_record
from suite.bundle.layout import states_folder
from suite.bundle.log import Log
from suite.bundle.reader import Bundle, RunRecord
from suite.bundle.resumption import Resumption, known_resumption, read_resumption
from suite.bundle.run_lock import refuse_running
from suite.catalog.divisions import Division
from suite.catalog.frameworks import Capability, refuse_without
from suite.errors import FileError, SuiteError
from suite.execution.request import Resume, RunRequest
from suite.execution.run_records import records_of
from suite.files.json_file import flatten
from suite.metrics.counted_time import uncounted_intervals

FINISHED = "finished"
MAY_DIFFER = (
    "division",
    "threads",
    "cache_cleared",
    "output_directory",
    "data.directory",
    *(f"recomputation.{name}" for name in Recomputation._fields if name != "budget_bytes"),
    "parallel.ranks",
    "parallel.nodes",
    "parallel.collective",
    "parallel.bucket_bytes",
    "parallel.overlap",
)
"""Values of the request that follow from the nodes that are left, or that change nothing that is
computed but rounding."""
OF_SEVERAL_RANKS = ("parallel.normalisation", "parallel.wire", "parallel.shares")
"""Values that one rank does not have."""
GO_BACK = "remove this file to continue from the state of the epoch before"
NO_STATES = "only runs with --keep-states can be resumed: run it again from the start"
BEGIN_ANEW = "run again without --resume: no state of an earlier epoch was kept"
DEFAULTS = {
    **Request._field_defaults,
    **{f"parallel.{name}": value for name, value in Parallel._field_defaults.items()},
}
"""What a request without the key means."""


def resume_request(request: RunRequest, run: Path) -> RunRequest:
    """The request as one that continues an interrupted run from the last state that it kept.

    Raises SuiteError for a run that still runs, that finished, that kept no state, or that trained
    something else than is requested.
    """
    if request.training.division == Division.CLOSED.value:
        raise SuiteError(
            "A run of the closed division must train without interruption; to resume this training,"
            " give --division open."
        )
    refuse_without(request.framework, Capability.STATES, "--resume")
    if request.directory.resolve() == run.resolve():
        raise SuiteError(
            f"{run} is the run to resume, and its records are kept; choose another --output."
        )
    refuse_running(run)
    bundle = Bundle(run)
    bundle.expect_run()
    record, log = bundle.run(), bundle.log()
    if record.status == FINISHED:
        raise SuiteError(f"{run} finished; there is nothing to resume.")
    _refuse_other_training(request, record, run)
    file, epoch, state = _last_state(run, record, log)
    return replace(request, resume=Resume(file, run, _resumption(record, log, epoch, state)))


def refuse_other_data(path: Path, run: Path) -> None:
    """Raise SuiteError unless the data sets of two run directories have the same files, by their
    digests."""
    own, before = (replace(read_data_record(Bundle(each)), taken_ns=0) for each in (path, run))
    if own != before:
        raise SuiteError(
            f"The data set differs from that of {run} (its {DATA} has the digests); prepare the "
            "same data, or run again without --resume."
        )


def _refuse_other_training(request: RunRequest, record: RunRecord, run: Path) -> None:
    wanted, found = (
        {**DEFAULTS, **dict(flatten(one))}
        for one in (record.request, records_of(request).request_values(request.training))
    )
    ranks = {request.ranks, wanted.get("parallel.ranks")}
    skipped = (
        *MAY_DIFFER,
        *(OF_SEVERAL_RANKS if 1 in ranks else ()),
        *(("timing",) if 1 in ranks and len(ranks) > 1 else ()),  # several wait in every step
    )
    differing = [
        name
        for name in wanted.keys() | found.keys()
        if name not in skipped
        and not name.startswith("old_task")  # evaluated where its data set is prepared
        and wanted.get(name) != found.get(name)
    ]
    # lists are long
    differing.sort(key=lambda name: (isinstance(wanted.get(name, found.get(name)), list), name))
    if differing:
        first = differing[0]
        raise SuiteError(
            f"{run} trained with {first} = {_shown_value(wanted.get(first))}, but this command"
            f" asks for {_shown_value(found.get(first))}; repeat that run's command with --resume"
            " and another --output. If hosts failed, name only those that still work."
        )


def _shown_value(value: object) -> str:
    """A value of a request as it is typed at the command line; none where there is none."""
    return "none" if value is None else str(value)


def _last_state(run: Path, record: RunRecord, log: Log) -> tuple[Path, int, Mapping[str, str]]:
    """The file of the last kept state, its epoch, and its digests, which the run logged."""
    folder, before = states_folder(run), known_resumption(record.resumed)
    again = before and (
        f"resume the run {before.run_id} again: this one went on after its epoch {before.epoch}"
    )
    logged = {
        event.epoch: event.value
        for event in reversed(log.all("state_digests"))
        if event.epoch is not None and (folder / state_name(event.epoch)).is_file()
    }
    if not logged:
        raise SuiteError(
            f"{run} kept no training state of a finished epoch in {folder}", again or NO_STATES
        )
    epoch = max(logged)
    file = folder / state_name(epoch)
    remedy = GO_BACK if len(logged) > 1 else again or BEGIN_ANEW
    try:
        state = digests(StateFile(str(file)).of_rank(0))
    except ContractError as error:
        raise SuiteError(str(error).rstrip("."), remedy) from error
    if state != logged[epoch]:
        raise SuiteError(f"{file} is not the state that {run} logged after epoch {epoch}", remedy)
    return file.absolute(), epoch, state


def _resumption(record: RunRecord, log: Log, epoch: int, state: Mapping[str, str]) -> Resumption:
    try:
        before = read_resumption(record.resumed)
    except ValueError as error:
        raise FileError(Path("run.json"), f"{error} in `resumed`") from error
    start = log.first("run_start")
    if start is None or start.mono_ns is None:
        raise SuiteError(
            "The run to resume has no run_start in its log; run it again from the start."
        )
    parallel = record.request["parallel"]
    reason = (
        record.message
        or "its harness ended without giving a reason (it was killed, or the power failed)"
    )
    boot = start.metadata.get("boot")
    began = (int(start.time_ms), start.mono_ns, boot if isinstance(boot, str) else None)
    uncounted_s = sum(interval.length_s for interval in uncounted_intervals(log))
    if before is not None:
        began = (before.began_time_ms, before.began_mono_ns, before.boot)
        uncounted_s += before.uncounted_s
    return Resumption(
        record.run_id,
        epoch,
        state,
        parallel["ranks"],
        parallel["nodes"],
        reason[:900],
        int(log.events[-1].time_ms),
        *began,
        uncounted_s,
    )
