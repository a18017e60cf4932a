"""Starts one rank's program and leaves a small process beside it that tells the harness that the rank lives.

``python -m reference_impls.rank PROGRAM …``, started by mpirun. Standard library only, Python 3.6 grammar. The program takes this process's
place; what stays is a child that was forked before any framework or MPI was loaded. It sends a line every two seconds to the address
in ``SUITE_WATCH`` and gets each back. It ends with the rank, and ends the rank and MPI's launcher on this node when the harness is gone or
cannot be heard: a network that was cut leaves no orphan on any node.
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

BEAT_S = 2.0
SILENCE_S = 10.0
PR_SET_PDEATHSIG = 1
WATCH, TOKEN = "SUITE_WATCH", "SUITE_WATCH_TOKEN"
LAUNCHERS = ("hydra_pmi_proxy", "prted", "orted")  # MPICH's, Open MPI 5's and 4's, on the nodes where mpirun itself is not
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")


def own_rank() -> int:
    """The rank that mpirun gave this process, by MPICH's or Open MPI's name for it."""
    return next(int(os.environ[name]) for name in RANK_NAMES if name in os.environ)


def main(program: List[str]) -> None:
    """Fork the watcher and become the program."""
    if WATCH in os.environ:
        rank, launcher = os.getpid(), os.getppid()
        if os.fork() == 0:
            _watch(rank, launcher)
    os.execvp(program[0], program)


def _watch(rank_pid: int, launcher_pid: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.closerange(3, 1024)  # mpirun's own channels are the rank's alone
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    host, _, port = os.environ[WATCH].rpartition(":")
    try:
        _beat(socket.create_connection((host, int(port)), SILENCE_S), rank_pid)
    except OSError as error:
        _end(rank_pid, launcher_pid, "lost the harness at {}:{} ({}); it ends".format(host, port, error))
    os._exit(0)


def _end(rank_pid: int, launcher_pid: int, why: str) -> None:
    with suppress(OSError):  # whoever read the rank's output may be gone too
        sys.stderr.write("error: rank {} on {} {}.\n".format(own_rank(), socket.gethostname(), why))
        sys.stderr.flush()
    if name_of(launcher_pid) in LAUNCHERS:  # it would wait for mpirun until TCP gives up, a quarter of an hour later
        _kill(launcher_pid)
    _kill(rank_pid)  # last: the kernel ends this process with the rank


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _beat(connection: socket.socket, rank_pid: int) -> None:
    """Returns when the rank is gone; raises OSError when the harness is."""
    connection.settimeout(SILENCE_S)
    answers = connection.makefile("rb")
    while os.getppid() == rank_pid:
        line = {"token": os.environ[TOKEN], "rank": own_rank(), "node": socket.gethostname(), "pid": rank_pid, "state": state_of(rank_pid)}
        connection.sendall((json.dumps(line) + "\n").encode("utf-8"))
        if not answers.readline():
            raise OSError("it closed the connection")
        time.sleep(BEAT_S)


def name_of(pid: int, root: str = "/") -> Optional[str]:
    """A process's name as the kernel keeps it, 15 characters at most; None when there is none."""
    try:
        with open(os.path.join(root, "proc", str(pid), "comm")) as stream:
            return stream.read().strip()
    except OSError:
        return None


def state_of(pid: int, root: str = "/") -> Optional[str]:
    """The kernel's letter for what a process does: R runs, S and D wait, T is stopped, Z is dead; None when there is none."""
    try:
        with open(os.path.join(root, "proc", str(pid), "stat")) as stream:
            return stream.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
