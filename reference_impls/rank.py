"""Starts one rank's program, and a heartbeat process that tells the harness that the rank is alive.

``python -m reference_impls.rank PROGRAM …``, started by mpirun. Standard library only, Python 3.6
grammar. The program replaces this process (exec); the heartbeat process is a child, forked before
any framework or MPI is loaded. Every two seconds it sends a line to the address in
``SUITE_HEARTBEAT_ADDRESS`` and waits for the reply. The program starts after the first reply, which
the harness sends when the meters of this node are attached. The heartbeat process exits with the
rank. When the harness is gone or cannot be reached for ten seconds, or for as long as
``SUITE_HEARTBEAT_SILENCE_S`` says, it kills the rank and MPI's launcher on this node: a cut network
leaves no orphan on any node.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import List, Optional

from reference_impls.machine_identity import machine_identity
from reference_impls.node import route_to

HEARTBEAT_PERIOD_S = 2.0
HEARTBEAT_TIMEOUT_S = 10.0
ADDRESS_VARIABLE, TOKEN_VARIABLE, SILENCE_VARIABLE = (
    "SUITE_HEARTBEAT_ADDRESS",
    "SUITE_HEARTBEAT_TOKEN",
    "SUITE_HEARTBEAT_SILENCE_S",
)
PR_SET_PDEATHSIG = 1
RELEASE = 3
"""File descriptor of the heartbeat process: a byte lets the rank start its program."""

# MPICH's, Open MPI 5's and Open MPI 4's, on the nodes that mpirun does not run on
LAUNCHERS = ("hydra_pmi_proxy", "prted", "orted")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def mpi_rank() -> int:
    """This process's rank, from the environment variable that MPICH's or Open MPI's mpirun or Slurm
    sets."""
    return next(int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ)


def main(program: List[str]) -> None:
    """Fork the heartbeat process, wait for its release, and become the program."""
    if ADDRESS_VARIABLE in os.environ:
        rank_pid, launcher_pid = os.getpid(), os.getppid()
        gate, release = os.pipe()
        if os.fork() == 0:
            _run_heartbeat_process(rank_pid, launcher_pid, release)
        os.close(release)
        if not os.read(gate, 1):
            sys.exit(1)  # the heartbeat process has said why
        os.close(gate)
    os.execvp(program[0], program)


def _run_heartbeat_process(rank_pid: int, launcher_pid: int, release: int) -> None:
    """Send heartbeats until the rank exits; never returns."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(release, RELEASE)
    os.closerange(RELEASE + 1, 1024)  # mpirun's sockets and pipes belong to the rank alone
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    host, _, port = os.environ[ADDRESS_VARIABLE].rpartition(":")
    name = route_to(host).address or socket.gethostname()
    silence_s = float(os.environ.get(SILENCE_VARIABLE, HEARTBEAT_TIMEOUT_S))
    try:
        _send_heartbeats(
            socket.create_connection((host, int(port)), silence_s), rank_pid, launcher_pid
        )
    except OSError as error:
        _kill_rank(
            rank_pid,
            launcher_pid,
            "rank {} on {} lost the connection to the harness at {}:{} ({}); it is killed".format(
                mpi_rank(), name, host, port, error
            ),
        )
    os._exit(0)


def _kill_rank(rank_pid: int, launcher_pid: int, reason: str) -> None:
    with suppress(OSError):  # the reader of the rank's output may be gone too
        sys.stderr.write("error: {}.\n".format(reason))
        sys.stderr.flush()
    # it would wait for mpirun until TCP times out, a quarter of an hour later
    if name_of(launcher_pid) in LAUNCHERS:
        _kill(launcher_pid)
    _kill(rank_pid)  # last: the kernel kills this process with the rank


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _send_heartbeats(connection: socket.socket, rank_pid: int, launcher_pid: int) -> None:
    """Return when the rank has exited; raise OSError when the harness does not reply within the
    connection's timeout.

    A rank is orphaned when its launcher on this node was ended and it runs on; a launcher that ends
    the rank, too, does so within a period.
    """
    replies, is_waiting, had_launcher = connection.makefile("rb"), True, True
    own = {
        "token": os.environ[TOKEN_VARIABLE],
        "rank": mpi_rank(),
        "machine": machine_identity(),
        "pid": rank_pid,
    }
    while os.getppid() == rank_pid:
        has_launcher = parent_of(rank_pid) in (launcher_pid, None)
        line = dict(
            own,
            state=state_of(rank_pid),
            cpu_ticks=cpu_ticks_of(rank_pid),
            orphaned=not (has_launcher or had_launcher),
        )
        had_launcher = has_launcher
        connection.sendall((json.dumps(line) + "\n").encode("utf-8"))
        if not replies.readline():
            raise OSError("it closed the connection")
        if is_waiting:
            os.write(RELEASE, b"\n")
            is_waiting = False
        time.sleep(HEARTBEAT_PERIOD_S)


def name_of(pid: int, root: str = "/") -> Optional[str]:
    """A process's name as in /proc/PID/comm, at most 15 characters; None when there is no such
    process."""
    try:
        with open(os.path.join(root, "proc", str(pid), "comm")) as stream:
            return stream.read().strip()
    except OSError:
        return None


def state_of(pid: int, root: str = "/") -> Optional[str]:
    """A process's state as in proc(5): R running, S and D waiting, T stopped, Z zombie; None when
    there is no such process."""
    fields = _stat_of(pid, root)
    return fields[0] if fields else None


def cpu_ticks_of(pid: int, root: str = "/") -> Optional[int]:
    """The CPU time that a process has used, in clock ticks; None when there is no such process."""
    fields = _stat_of(pid, root)
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else None


def parent_of(pid: int, root: str = "/") -> Optional[int]:
    """The process that started a process; another one after that has ended; None when there is no
    such process."""
    fields = _stat_of(pid, root)
    return int(fields[1]) if len(fields) > 1 else None


def _stat_of(pid: int, root: str) -> List[str]:
    """The fields of /proc/PID/stat after the name; empty when there is no such process."""
    try:
        with open(os.path.join(root, "proc", str(pid), "stat")) as stream:
            return stream.read().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    main(sys.argv[1:])
