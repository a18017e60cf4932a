"""Ends a run when its implementation has ended: stops its meters, asks its witness, and says what
changed on the machine meanwhile and how the run ended; of several ranks, which process ended first,
on which node, and by what."""

import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.reader import Bundle, RunRecord
from suite.execution.closing import has_records, training_ended
from suite.execution.heartbeat import Heartbeat, HeartbeatMonitor
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.run_records import amend_system
from suite.execution.training import Training
from suite.execution.witnessing import ask_stamp
from suite.launch.mpirun import is_rank_error
from suite.launch.process import ExitReport, describe_signal, signal_name, wait_for_exit
from suite.machine.power_settings import changed_settings, read_power_settings
from suite.machine.procfs import kills_since
from suite.machine.system import POWER_CHANGES


def end_run(training: Training, remote: RemoteRecorders) -> RunRecord:
    """Wait for the implementation's last descendant, write what was recorded meanwhile, and return
    the run's record: finished, failed or interrupted."""
    run, monitor = training.run, training.monitor
    request, records, record = run.request, run.records, run.record
    report = wait_for_exit(training.process, records.path / layout.OUTPUT, request.ranks)
    changes = changed_settings(run.power, read_power_settings())
    amend_system(records.path, POWER_CHANGES, changes)
    remote.stop()  # first: remote recorders end when the harness is silent for long
    # readings end with the run; a witness that does not answer is waited for 17 s
    meters = tuple(asdict(meter) for meter in training.recorder.stop())
    if run.witness is not None and training.problem is None and report.exit_code == 0:
        ask_stamp(request, run.witness, records)
    nodes = remote.records(monitor.machines() if monitor else {})
    if nodes:
        records.write_nodes(nodes)
    if record.isolation is not None and training.released_ns is not None:
        isolation = {**record.isolation, "released_ns": training.released_ns}
        record = replace(record, isolation=isolation)
    return replace(record, meters=meters, **_outcome(training, report, remote))


def _outcome(training: Training, report: ExitReport, remote: RemoteRecorders) -> dict[str, Any]:
    """Status, exit code and message of run.json."""
    path, exit_code = training.run.records.path, report.exit_code
    # the implementation may have been terminated as it exited
    if training.interrupted is not None and training_ended(path):
        return {"status": "finished", "exit_code": 0 if exit_code == 0 else None}
    if training.interrupted is not None:
        return {"status": "interrupted", "message": training.interrupted}
    is_done = training.problem is None and exit_code == 0
    if is_done and training_ended(path) and has_records(path):
        return {"status": "finished", "exit_code": 0}
    message = f"the implementation {report.reason}"
    if is_done:
        message = (
            "the implementation ended with exit code 0, but its log has no run_stop, or its step"
            " records are missing (docs/contract.md)"
        )
    elif training.monitor:
        cause = training.problem or describe_failure(
            report, training.monitor, remote, kills_since(training.kills_before)
        )
        if training.monitor.has_lone_exit and report.is_ranks_own:
            cause = f"{cause}: {report.last_line}"
        message = f"{cause.rstrip('.')}; {_last_epoch(path)}"
    return {"status": "failed", "exit_code": exit_code, "message": message}


def _last_epoch(path: Path) -> str:
    log = path / contract.log_name(0)
    finished = Bundle(path).log().finished_epochs() if log.exists() else ()
    return (
        f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished"
    )


def describe_failure(
    report: ExitReport, monitor: HeartbeatMonitor, remote: RemoteRecorders, local_kills: int | None
) -> str:
    """The cause of a job's end, by what the ranks, the nodes' recorders and the launcher report.

    ``local_kills`` is the number of processes that the kernel of this node killed for lack of
    memory during the run; None if unknown.
    """
    paused_s = monitor.longest_pause_s
    if paused_s > monitor.silence_s - monitor.silence_s / 5:
        return (
            f"the harness itself was stopped for {paused_s:.0f} s (by SIGSTOP, or because the"
            " machine was suspended or too busy); the ranks end when it does not reply for"
            f" {monitor.silence_s:g} s"
        )
    if is_rank_error(report.last_line):
        return report.last_line.removeprefix("error: ")
    if report.exit_code < 0:
        return (
            f"{remote.launcher}, which starts and watches the ranks, was ended by"
            f" {describe_signal(-report.exit_code)}; every rank ended with {remote.launcher}"
        )
    missing = monitor.first_missing_rank()
    if missing is not None:
        return _never_started(missing, report, remote)
    exited = monitor.first_exited(report.failed)
    if exited is None:
        return f"the job {report.reason}"
    kills = remote.memory_kills(exited.rank, local_kills)
    host, number = report.closed_host, monitor.signal_of(exited, report.failed)
    if host and monitor.host_of(exited.rank) == host and number in (None, signal.SIGKILL):
        return (
            f"{exited} ended when {host} closed its SSH connection: {host} was switched off or"
            f" restarted, or its processes were ended; `uptime` on {host} shows when {host} started"
        )
    return _exited(exited, number, report, kills)


def _never_started(missing: str, report: ExitReport, remote: RemoteRecorders) -> str:
    """The host that could not be reached, else the first rank of which nothing was heard."""
    refused = report.refused
    unreached = (refused.host, refused.said) if refused else remote.first_unreached()
    if unreached is not None:
        host, said = unreached
        return (
            f"the host {host} could not be reached ({said}); correct the hostfile, or run `suite"
            " cluster doctor`"
        )
    return (
        f"{missing} never started ({report.last_line}); `suite cluster doctor` says what its node"
        " lacks"
    )


def _exited(exited: Heartbeat, number: int | None, report: ExitReport, kills: int | None) -> str:
    """The rank that ended first, and its signal ``number``, or the last line of output."""
    if number is None:
        return (
            f"{exited} exited before the others:"
            f" {report.last_line if report.is_ranks_own else 'no rank printed a reason'}"
        )
    if number == signal.SIGKILL and kills:
        return (
            f"{exited} was ended by {signal_name(number)} for lack of memory (processes that the "
            f"node's kernel killed for this reason: {kills})"
        )
    return f"{exited} was ended by {describe_signal(number)}{report.said_before(number)}"
