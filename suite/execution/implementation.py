"""Starts a framework's implementation: one rank directly, several with mpirun."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from reference_impls import contract
from suite.catalog.commands import train_command, working_folder
from suite.execution.kept_states import states_folder
from suite.execution.request import FLOAT_BYTES, RunRequest
from suite.launch.child_environment import child_environment
from suite.launch.containers import Shared, contained, shared
from suite.launch.environments import Environment
from suite.launch.isolation import Isolation, isolated
from suite.launch.mpirun import all_reduce_variables, allow_root, find_mpirun, mpirun_command
from suite.launch.process import start

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def implementation_command(
    request: RunRequest, environment: Environment, variables: Mapping[str, str]
) -> list[str]:
    """The command line: the framework's program with the request file in the output directory;
    several ranks under mpirun, one rank isolated."""
    directory, ranks = Path(request.training.output_directory), request.training.parallel.ranks
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
        return contained(program, working_folder(request.framework), _mounts(request, environment))
    if ranks == 1:
        return isolated(request.isolation, program)
    with_heartbeat = [
        str(environment.interpreter),
        "-m",
        "reference_impls.rank",
        *program,
        "--ranks",
        str(ranks),
    ]
    return mpirun_command(
        find_mpirun(environment.interpreter),
        request.placement,
        with_heartbeat,
        variables,
        directory,
    )


def start_implementation(
    request: RunRequest,
    environment: Environment,
    output: Path,
    extra: Mapping[str, str] = NO_VARIABLES,
    inherited: tuple[int, ...] = (),
) -> "subprocess.Popen[bytes]":
    """Start the implementation, its output appended to ``output``, ``extra`` added to its
    environment, open files ``inherited``.

    It waits until :func:`suite.launch.gate.release`. See :func:`suite.launch.process.start`.
    """
    training = request.training
    in_budget, tf32 = training.recomputation is not None, training.precision == contract.TF32
    variables = {**child_environment(training.threads, in_budget=in_budget, tf32=tf32), **extra}
    if training.parallel.ranks > 1:
        placement, gradient_bytes = request.placement, request.workload.parameters * FLOAT_BYTES
        variables = allow_root(
            {
                **all_reduce_variables(placement.nodes, placement.ranks_per_node, gradient_bytes),
                **variables,
            }
        )
    command, folder = (
        implementation_command(request, environment, variables),
        working_folder(request.framework),
    )
    return start(
        command, variables, output, inherited, folder, adopts=request.isolation is Isolation.PODMAN
    )


def _mounts(request: RunRequest, environment: Environment) -> Shared:
    """What a container sees of this machine."""
    directory = Path(request.training.output_directory)
    planned = request.training.recomputation
    spill = (
        [Path(planned.spill_folder)]
        if planned is not None and planned.spill_folder is not None
        else []
    )
    written = [directory, *([states_folder(directory)] if request.keep_states else []), *spill]
    read = [] if request.resume is None else [request.resume.state.parent]
    return shared(
        environment.interpreter,
        Path(request.training.data.directory),
        written,
        working_folder(request.framework),
        read,
    )
