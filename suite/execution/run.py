"""The life of a run, from a resolved request to a closed bundle: prepare, start, follow, end,
close."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from suite.bundle import layout
from suite.bundle.reader import RunRecord
from suite.errors import InterruptedAfterEnd, SuiteError
from suite.execution.closing import close_bundle, disk_errors, training_ended
from suite.execution.ending import end_run
from suite.execution.events import ClosingGoesOn, Progress
from suite.execution.interrupts import HeldBack, cause_of, hold_back
from suite.execution.power_pulse import with_pulses
from suite.execution.preparation import Invocation, prepare, prepare_data
from suite.execution.recorder import Recorder
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.execution.run_directory import RunLock
from suite.execution.training import at_gate
from suite.files.shell_command import shell_command
from suite.launch.environments import Environment


@dataclass(frozen=True)
class RunResult:
    """A closed bundle: where it is and how the run ended; ``status`` as in run.json."""

    path: Path
    status: str
    message: str | None


def run(
    request: RunRequest,
    environment: Environment,
    invocation: Invocation,
    recorder: Recorder,
    progress: Progress,
) -> RunResult:
    """Run the implementation into the request's directory and close the bundle there.

    The directory must exist and be empty. A failed or interrupted run leaves an unsealed bundle
    from which every finished epoch can be read. Raises SuiteError when the bundle cannot be
    written, and KeyboardInterrupt after the final record is written.

    An interrupt after the training's end is held back until the bundle is closed; the second one is
    not, and `suite finish` closes the bundle.
    """
    path = request.directory
    notice = partial(progress, ClosingGoesOn())
    with disk_errors(path), RemoteRecorders(request, environment.interpreter, path) as remote:
        request = prepare_data(request, remote)
        with RunLock(path) as lock, hold_back(partial(training_ended, path), notice) as interrupt:
            prepared = prepare(request, environment, invocation)
            write_run = prepared.records.write_run
            try:
                with at_gate(prepared, recorder, lock.handle) as training:
                    try:
                        training.start()
                        training.follow(remote, progress)
                    except KeyboardInterrupt as interrupted:
                        training.interrupted = cause_of(interrupted)
                    finally:
                        training.terminate()
                    # who interrupts the harness may have ended the implementation, too
                    if interrupt.happened and training.interrupted is None:
                        training.interrupted = "interrupted after the training"
                    record = end_run(training, remote)
            except (OSError, SuiteError) as error:
                record = _failed(prepared.record, recorder, error)
                # not of a run that `suite finish` closes as finished, or that was removed
                if (path / layout.RUN).is_file() and not training_ended(path):
                    lock.write(partial(write_run, record))
                raise
            record = with_pulses(record, prepared.pulses, invocation.lifetime)
            lock.write(partial(write_run, record))
            _close(path, record, lock, interrupt)
            return RunResult(path, record.status, record.message)


def _failed(record: RunRecord, recorder: Recorder, error: OSError | SuiteError) -> RunRecord:
    """The record of a run that an error of the harness ended; stops its meters."""
    message = str(error)
    if isinstance(error, OSError):
        message = f"the harness could not write: {error.strerror or error}"
    meters = tuple(asdict(meter) for meter in recorder.stop())
    return replace(record, status="failed", message=message, meters=meters)


def _close(path: Path, record: RunRecord, lock: RunLock, interrupt: HeldBack) -> None:
    """Close the bundle of a run that finished; raises the interrupt that ended the run or came
    after its end."""
    if record.status != "finished":
        lock.remove()
    if record.status == "interrupted" or (record.status == "failed" and interrupt.happened):
        raise KeyboardInterrupt
    if record.status == "finished":
        command = shell_command("suite finish", path)
        try:
            if interrupt.repeated:
                raise KeyboardInterrupt
            with disk_errors(path, f"Free some space, then run `{command}`"):
                close_bundle(path)
        except KeyboardInterrupt:
            raise InterruptedAfterEnd(
                f"the run finished, but its bundle is not sealed; `{command}` seals it"
            ) from None
    if interrupt.happened:
        raise InterruptedAfterEnd(
            f"the run had already finished when it was interrupted, and its bundle in {path} is"
            " sealed"
        )
