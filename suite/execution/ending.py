"""Ends a run when its implementation has ended: stops its meters, asks its witness, and says what
changed on the machine meanwhile and how the run ended."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.reader import Bundle, RunRecord
from suite.execution.closing import training_ended
from suite.execution.failure import describe_failure
from suite.execution.records import amend_system
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.training import Training
from suite.execution.witnessing import ask_stamp
from suite.launch.process import ExitReport, wait
from suite.machine.memory_kills import kills_since
from suite.machine.power_mode import changed_settings, read_power_settings
from suite.machine.system import POWER_CHANGES


def end(training: Training, remote: RemoteRecorders) -> RunRecord:
    """Wait for the implementation's last descendant, write what was recorded meanwhile, and return
    the run's record: finished, failed or interrupted."""
    run, monitor = training.run, training.monitor
    request, records, record = run.request, run.records, run.record
    report = wait(training.process, records.path / layout.OUTPUT, request.ranks)
    changes = changed_settings(run.power, read_power_settings())
    amend_system(records.path, POWER_CHANGES, changes)
    if run.witness is not None and training.problem is None and report.exit_code == 0:
        ask_stamp(request, run.witness, records)
    meters = tuple(asdict(meter) for meter in training.recorder.stop())
    remote.stop()
    nodes = remote.records(monitor.nodes() if monitor else {})
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
    if training.is_interrupted and training_ended(path):
        return {"status": "finished", "exit_code": 0 if exit_code == 0 else None}
    if training.is_interrupted:
        return {"status": "interrupted", "message": "interrupted by the user"}
    if training.problem is None and exit_code == 0:
        return {"status": "finished", "exit_code": 0}
    message = f"the implementation {report.reason}"
    if training.monitor:
        cause = training.problem or describe_failure(
            report, training.monitor, remote, kills_since(training.kills_before)
        )
        message = f"{cause.rstrip('.')}; {_last_epoch(path)}"
    return {"status": "failed", "exit_code": exit_code, "message": message}


def _last_epoch(path: Path) -> str:
    log = path / contract.log_name(0)
    finished = Bundle(path).log().finished_epochs() if log.exists() else ()
    return (
        f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished"
    )
