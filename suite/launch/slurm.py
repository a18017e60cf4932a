"""Slurm: the hosts of an allocation, and srun in the place of ssh and mpirun. Within a batch
script, ``--launch-agent srun`` chooses it."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from suite.errors import SuiteError
from suite.launch.command import last_line

SRUN = "srun"
ALLOCATED = "SLURM_JOB_NODELIST"
TIMEOUT_S = 60.0
SHARED = ("--overlap", "--cpu-bind=none")
"""A run has several steps at a time on every node: ranks, recorders and the doctor's questions. All
of them may use the allocation's processors."""


def allocated_hosts(variables: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The hosts of this process's allocation, in Slurm's order; raises SuiteError where there is
    none."""
    nodes = variables.get(ALLOCATED)
    if not nodes:
        raise SuiteError(
            f"--launch-agent {SRUN} needs an allocation of Slurm (the variable {ALLOCATED} is not"
            " set); put the command into a script for sbatch."
        )
    try:
        told = subprocess.run(
            ["scontrol", "show", "hostnames", nodes],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(
            f"Slurm's scontrol cannot list the hosts of this allocation ({error}); name them "
            "with --hostfile."
        ) from error
    hosts = tuple(told.stdout.split())
    if told.returncode != 0 or not hosts:
        said = last_line(told.stderr, f"exit code {told.returncode}")
        raise SuiteError(
            f"Slurm's scontrol cannot list the hosts of {nodes[:100]} ({said}); name them with "
            "--hostfile."
        )
    return hosts


def in_slurms_order(hosts: Sequence[str]) -> tuple[str, ...]:
    """The hosts as srun fills them, whatever the order in which they are named; as named where
    the allocation is not known."""
    try:
        allocated = allocated_hosts()
    except SuiteError:  # srun asks for nodes of its own, or says itself what is wrong
        return tuple(hosts)
    return tuple(sorted(hosts, key=lambda host: (*allocated, host).index(host)))


def host_command(host: str, script: str) -> list[str]:
    """The command that runs a shell script on one host of the allocation."""
    return [
        SRUN,
        *SHARED,
        "--nodes=1",
        "--ntasks=1",
        f"--nodelist={host}",
        "--mpi=none",
        "sh",
        "-c",
        script,
    ]


def ranks_command(
    hosts: Sequence[str], ranks_per_node: int, is_mpich: bool, program: Sequence[str]
) -> list[str]:
    """The command that starts ``program`` on every rank, one host's ranks after the other's; a rank
    that fails ends all others.

    MPICH finds its ranks by PMI 2, Open MPI by PMIx. The environment is srun's own, and standard
    input is closed.
    """
    where = [
        f"--nodes={len(hosts)}",
        f"--nodelist={','.join(hosts)}",
        f"--ntasks={len(hosts) * ranks_per_node}",
    ]
    how = [
        f"--ntasks-per-node={ranks_per_node}",
        "--distribution=block",
        f"--mpi={'pmi2' if is_mpich else 'pmix'}",
    ]
    return [
        SRUN,
        *SHARED,
        *where,
        *how,
        "--kill-on-bad-exit=1",
        "--input=none",
        "--export=ALL",
        *program,
    ]
