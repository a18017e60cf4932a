"""Starts a framework's implementation: one rank directly, several with mpirun, and further
trainings beside a run (several tenants of one board)."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.layout import states_folder
from suite.catalog.commands import train_command, working_folder
from suite.errors import SuiteError
from suite.execution.request import FLOAT_BYTES, RunRequest
from suite.launch.child_environment import child_environment
from suite.launch.command import last_line
from suite.launch.containers import Shared, container_command, paths_to_mount
from suite.launch.environments import Environment
from suite.launch.first_records import write_first_records
from suite.launch.isolation import Isolation, isolated_command
from suite.launch.mpirun import (
    all_reduce_variables,
    allow_root,
    find_mpirun,
    mpirun_command,
    with_meeting_point,
)
from suite.launch.process import output_lines, release_process, start_process, terminate_session


def implementation_command(
    request: RunRequest, environment: Environment, variables: Mapping[str, str]
) -> list[str]:
    """The command line: the framework's program with the request file in the output directory;
    several ranks under mpirun, one rank isolated."""
    directory, ranks = request.directory, request.ranks
    program = [
        *train_command(request.framework, environment.interpreter),
        "--request",
        str(directory / contract.REQUEST_NAME),
    ]
    if request.keep_states:
        program += ["--keep-states", str(states_folder(directory))]
    if request.resume is not None:
        program += ["--start-state", str(request.resume.state)]
    if request.isolation is Isolation.PODMAN:
        return container_command(
            program, working_folder(request.framework), _mounts(request, environment)
        )
    if ranks == 1:
        return isolated_command(request.isolation, program)
    rank = [str(environment.interpreter), "-m", "reference_impls.rank"]
    if request.framework.outside is not None:
        program = ["env", "--chdir", request.framework.outside, *program]
    return mpirun_command(
        find_mpirun(environment.interpreter),
        request.placement,
        [*rank, *program, "--ranks", str(ranks)],
        variables,
        directory,
    )


def start_implementation(
    request: RunRequest,
    environment: Environment,
    output: Path,
    extra: Mapping[str, str] | None = None,
    inherited: tuple[int, ...] = (),
) -> "subprocess.Popen[bytes]":
    """Start the implementation, its output appended to ``output``, ``extra`` added to its
    environment, open files ``inherited``.

    It waits until :func:`suite.launch.process.release_process`. See
    :func:`suite.launch.process.start_process`.
    """
    training = request.training
    in_budget, tf32 = training.recomputation is not None, training.precision == contract.TF32
    variables = {
        **child_environment(training.threads, in_budget=in_budget, tf32=tf32),
        **(extra or {}),
    }
    if request.ranks > 1:
        placement, gradient_bytes = request.placement, request.workload.parameters * FLOAT_BYTES
        tuned = all_reduce_variables(placement.nodes, placement.ranks_per_node, gradient_bytes)
        variables = allow_root({**tuned, **variables})
        if request.framework.outside is not None:
            variables = with_meeting_point(variables)
    return start_process(
        implementation_command(request, environment, variables),
        variables,
        output,
        inherited,
        working_folder(request.framework) if request.ranks == 1 else None,
        adopts=request.isolation is Isolation.PODMAN,
    )


@contextmanager
def trial_training(
    request: RunRequest,
    environment: Environment,
    limit_process: Callable[[int], None] = lambda pid: None,
    **changes: Any,
) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A training of the request with these ``changes``, under the limits of ``limit_process``, and
    its folder, which is removed after the block; the training is ended with it."""
    with tempfile.TemporaryDirectory(prefix="training-") as name:
        folder = Path(name)
        training = request.training._replace(output_directory=name, **changes)
        write_first_records(training)
        changed = replace(request, training=training, keep_states=False, resume=None)
        process = start_implementation(changed, environment, folder / layout.OUTPUT)
        try:
            limit_process(process.pid)
            release_process(process)
            yield process, folder
        finally:
            terminate_session(process)


def _mounts(request: RunRequest, environment: Environment) -> Shared:
    """What a container sees of this machine."""
    directory = request.directory
    planned = request.training.recomputation
    old = request.training.old_task
    also_read = [] if old is None else [Path(old.directory)]
    written = [directory, *([states_folder(directory)] if request.keep_states else [])]
    if planned is not None and planned.spill_folder is not None:
        written.append(Path(planned.spill_folder))
    return paths_to_mount(
        environment.interpreter,
        request.data_directory,
        written,
        working_folder(request.framework),
        also_read if request.resume is None else [*also_read, request.resume.state.parent],
    )


ENDLESS_EPOCHS = 1_000_000
POLL_S, START_TIMEOUT_S = 0.05, 600.0
STEPS = contract.steps_name(0)


@contextmanager
def neighbour_trainings(request: RunRequest, environment: Environment) -> Iterator[None]:
    """Train the request ``request.neighbours`` times more within the block, which begins when all
    of them make steps.

    Their records are in folders of their own, and are removed. Raises SuiteError for one that ends
    or makes no step.
    """
    with ExitStack() as stack:
        trainings = [
            stack.enter_context(
                trial_training(
                    request, environment, epochs=ENDLESS_EPOCHS, steps=None, target_accuracy=None
                )
            )
            for _ in range(request.neighbours)
        ]
        for process, folder in trainings:
            _wait_for_steps(process, folder)
        yield


def _wait_for_steps(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait for a neighbour's first finished epoch: its steps are written then."""
    until_s = time.monotonic() + START_TIMEOUT_S
    while not (folder / STEPS).is_file() or (folder / STEPS).read_bytes().count(b"\n") < 2:
        if process.poll() is not None or time.monotonic() > until_s:
            said = last_line("\n".join(output_lines(folder / layout.OUTPUT)))
            raise SuiteError(
                f"A neighbour, which trains at the same time as the run, makes no steps: {said}",
                "choose fewer neighbours",
            )
        time.sleep(POLL_S)
