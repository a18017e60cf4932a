"""Trains the first steps of a request again, in a framework's environment: through the
implementation and the loop, or in float64; and an epoch of it by the run's own program."""

import csv
import math
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference_impls import contract
from suite.bundle.layout import OUTPUT, new_run_id, states_folder
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.catalog.commands import train_command, working_folder
from suite.catalog.frameworks import Framework
from suite.errors import FileError, SuiteError
from suite.files.paths import repository_root
from suite.launch.building import build_implementation
from suite.launch.child_environment import child_environment
from suite.launch.command import run_to_end
from suite.launch.environments import find_environment
from suite.launch.first_records import write_first_records
from suite.launch.process import (
    exit_report,
    output_lines,
    release_process,
    start_process,
    terminate_session,
)
from suite.launch.step_counter import step_counter
from suite.verify.probing import ALONE, read_archive

TIMEOUT_S = 3600
REPLAY_TIMEOUT_S = 24 * 3600
"""Up to a whole epoch is replayed after a training state, which takes a small machine hours."""
POLL_S = 0.5
LOSSES_NAME = "losses.npz"


@dataclass(frozen=True)
class Replayed:
    """The losses of the replayed steps, each the mean of its global mini-batch, and the version of
    the framework that computed them.

    ``correct`` are the numbers of correctly classified samples, by the epochs that were evaluated.
    """

    losses: tuple[float, ...]
    framework_version: str | None
    correct: Mapping[int, int]


def replay_steps(
    request: contract.Request, framework: Framework, start: Path | None = None
) -> Replayed:
    """Train the request's steps with the framework's implementation, as the loop drives it in a
    run; raises SuiteError when that fails.

    One rank trains on the whole mini-batches of a request of several. From the training state in
    the file ``start``, the losses are those of the steps after it, and the evaluation after the
    state's epoch comes first.
    """
    changed = request._replace(framework=framework.name, parallel=ALONE, target_accuracy=None)
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        _train(changed._replace(output_directory=folder), framework, framework.module, start)
        log = read_log(Path(folder) / contract.log_name(0))
        version = log.value("framework_version")
        losses = _losses(Path(folder) / contract.steps_name(0))
        return Replayed(losses, version if isinstance(version, str) else None, log.correct())


@dataclass(frozen=True)
class TrainedEpoch:
    """What a program recorded of an epoch: the losses of its steps, the samples that they counted,
    and the correct samples of the evaluation after it, if there was one."""

    losses: tuple[float, ...]
    samples: int
    correct: int | None


def train_as_in_a_run(
    request: contract.Request, framework: Framework, start: Path, epoch: int, steps: int
) -> TrainedEpoch:
    """The first ``steps`` steps of the epoch that the run's own program trains of the run's request
    from the training state before it; raises SuiteError when it ends before the epoch does.

    Request, arguments, environment and folders are like those of a run that keeps its states, to
    its end: the program is ended from outside when the epoch is over.
    """
    environment = find_environment(framework)
    build_implementation(framework, environment)
    command = train_command(framework, environment.interpreter)
    with tempfile.TemporaryDirectory() as name, step_counter() as variables:
        folder = Path(name, new_run_id(request.workload, framework.name))
        for made in (folder, states := states_folder(folder)):
            made.mkdir()
        path = write_first_records(request._replace(output_directory=str(folder)))
        asked = ("--request", path, "--keep-states", states, "--start-state", start)
        tf32 = request.precision == contract.TF32
        process = start_process(
            [*command, *map(str, asked)],
            {**child_environment(request.threads, tf32=tf32), **variables},
            folder / OUTPUT,
            folder=working_folder(framework),
        )
        program = f"{framework.title}, started from epoch {epoch - 1},"
        try:
            _end_after(process, folder, epoch, program)
            return _trained_epoch(Bundle(folder), epoch, steps)
        except FileError as error:  # of a folder that is gone when somebody reads this
            raise SuiteError(
                f"{program} left no readable records: {error.path.name} {error.what}."
            ) from error


def _end_after(process: "subprocess.Popen[bytes]", folder: Path, epoch: int, program: str) -> None:
    """Start the program, and end it when the epoch is over."""
    try:
        release_process(process)
        until_s = time.monotonic() + REPLAY_TIMEOUT_S
        while process.poll() is None and not _is_over(folder, epoch):
            if time.monotonic() > until_s:
                raise SuiteError(
                    f"{program} did not train epoch {epoch} within {REPLAY_TIMEOUT_S} s."
                )
            time.sleep(POLL_S)
    finally:
        terminate_session(process)
    if not _is_over(folder, epoch):
        report = exit_report(process.wait(), output_lines(folder / OUTPUT), 1)
        raise SuiteError(f"{program} {report.reason}.")


def _is_over(folder: Path, epoch: int) -> bool:
    """Whether what follows an epoch has begun, or the run has ended."""
    return any(
        event.key == "run_stop" or (event.key == "epoch_start" and (event.epoch or 0) > epoch)
        for event in Bundle(folder).log().events
    )


def _trained_epoch(bundle: Bundle, epoch: int, steps: int) -> TrainedEpoch:
    records = bundle.steps()
    chosen = np.flatnonzero(records.epoch == epoch)[:steps]
    losses = tuple(records.loss[chosen].tolist())
    if not losses or not all(map(math.isfinite, losses)):
        raise SuiteError(
            f"In the replay, the run's own program recorded no losses of epoch {epoch}, or losses"
            " that are not finite."
        )
    return TrainedEpoch(
        losses, int(records.samples[chosen].sum()), bundle.log().correct().get(epoch)
    )


def replay_in_float64(
    request: contract.Request, framework: Framework, start: Path | None = None
) -> tuple[tuple[float, ...], bool]:
    """The same in float64, and whether every rank's share was normalised alone, as in the run: then
    one rank cannot replace several."""
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        _train(
            request._replace(framework=framework.name, output_directory=folder),
            framework,
            f"{framework.module}.replay",
            start,
        )
        problem = f"The replay in {framework.title} wrote no readable losses"
        arrays = read_archive(Path(folder) / LOSSES_NAME, problem)
        if not {"losses", "by_shares"} <= arrays.keys():
            raise SuiteError(f"{problem} (it has {', '.join(arrays) or 'nothing'}).")
        return tuple(map(float, arrays["losses"])), bool(arrays["by_shares"])


def _train(
    request: contract.Request, framework: Framework, module: str, start: Path | None
) -> None:
    train_program(
        request,
        [str(find_environment(framework).interpreter), "-m", module],
        repository_root(),
        f"The replay in {framework.title} (`python -m {module}`)",
        *(() if start is None else ("--start-state", str(start))),
        timeout_s=REPLAY_TIMEOUT_S,
    )


def train_program(
    request: contract.Request,
    command: Sequence[str],
    folder: Path,
    what: str,
    *arguments: str,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Start a program that trains the request, in ``folder``, with ``arguments`` after the
    request's; raises SuiteError, which names it as ``what``, where it does not end well."""
    path = write_first_records(request)
    tf32 = request.precision == contract.TF32
    with step_counter() as variables:
        run_to_end(
            [*command, "--request", str(path), *arguments],
            folder,
            what,
            timeout_s,
            if_missing="create the environment again with `suite env create`",
            if_slow="use a faster machine, or ask for fewer steps or smaller mini-batches.",
            variables={**child_environment(request.threads, tf32=tf32), **variables},
        )


def recorded_losses(path: Path) -> list[float]:
    """The losses of a file of step records, in order."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


def _losses(path: Path) -> tuple[float, ...]:
    losses = recorded_losses(path)
    if not all(map(math.isfinite, losses)):
        raise SuiteError(f"The replay's losses are not finite numbers ({path.name}).")
    return tuple(losses)
