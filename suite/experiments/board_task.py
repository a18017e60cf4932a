"""The board's part of a matrix over boards: ``python -m suite.experiments.board_task serve``,
started there over SSH or the launch agent.

Standard input brings the task, one line of JSON (:class:`BoardTask`). While it works, the board
sends an empty line on standard error every HEARTBEAT_S. A run's bundle goes to standard output: a
line of JSON with ``size`` and ``sha256``, then that many bytes, a tar. After the line ``taken`` it
is removed here. When standard input closes, the run is interrupted: nobody waits for it.

A board makes one run at a time: other tasks wait. A bundle that was not taken stays, and is sent
when its run is asked for again.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from reference_impls.machine_identity import machine_identity
from suite.errors import SuiteError
from suite.execution.events import silent
from suite.execution.request import RunOptions
from suite.experiments.matrix_plan import MatrixDefinition, PlannedMatrix, plan_matrix
from suite.experiments.planned_runs import make_runs, validated_requests
from suite.files.archive import pack_archive
from suite.files.digest import sha256 as file_sha256
from suite.files.paths import suite_home
from suite.files.schema import from_plain
from suite.launch.process import signal_name

SERVE, MAKE, TAKEN = "serve", "make", b"taken\n"
MACHINE = "machine "
"""What a board that can make all runs says before its identity."""
HEARTBEAT_S, POLL_S = 2.0, 0.2
REFUSED = 2
"""Exit code of a task that this board refuses, or that failed; the last line of standard error says
why."""
MAX_TASK_BYTES = 2**26
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class BoardTask:
    """One run of a matrix, by its folder; None: validate all runs, make none. ``command`` is what
    the person typed."""

    definition: MatrixDefinition
    options: RunOptions
    folder: str | None
    command: tuple[str, ...]

    def to_line(self) -> bytes:
        """The task as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @property
    def place(self) -> Path:
        """The folder of its runs on this board; that of another matrix, or of a board that shares
        this home, is another one."""
        matrix = sha256(
            json.dumps([asdict(self.definition), asdict(self.options)]).encode()
        ).hexdigest()[:16]
        return _boards_home() / matrix


def read_task(line: bytes) -> BoardTask:
    """The task of a line; raises SuiteError for one that another version of the suite wrote."""
    try:
        return from_plain(json.loads(line), BoardTask, "")
    except (ValueError, TypeError, KeyError, SuiteError) as error:
        raise SuiteError(
            f"The board has another version of the suite ({str(error)[:200]}); install the same one"
            " on all boards."
        ) from error


def make(task: BoardTask) -> Path | None:
    """Make the task's run, unless its whole bundle is here from an earlier call; returns its
    folder. Raises SuiteError as ``run_matrix``."""
    planned = plan_matrix(task.definition, task.options)
    if task.folder is None:
        validated_requests(planned, task.place)
        return None
    chosen: PlannedMatrix = replace(
        planned, runs=tuple(run for run in planned.runs if run.folder == task.folder)
    )
    if not chosen.runs:
        raise SuiteError(
            f"The board's plan has no run {task.folder!r}: the board has another version of the"
            " suite; install the same version on all boards."
        )
    with _alone():
        requests = validated_requests(chosen, task.place)
        make_runs(chosen, requests, task.place, task.command, silent)
    return task.place / task.folder


def main() -> int:
    """Make the run of a task (``make``), or supervise that and send the bundle (``serve``)."""
    if sys.argv[1:] == [SERVE]:
        return _serve()
    try:
        made = make(read_task(sys.stdin.buffer.readline(MAX_TASK_BYTES)))
    except (SuiteError, KeyboardInterrupt) as error:
        sys.stderr.write(f"{' '.join(str(error).split()) or 'interrupted'}\n")
        return REFUSED
    if made is None:
        sys.stderr.write(f"{MACHINE}{machine_identity()}\n")
    else:
        sys.stdout.write(str(made))
    return 0


def _serve() -> int:
    task = b""
    while not task.endswith(b"\n"):
        task += (more := os.read(0, 2**16))
        if not more or len(task) > MAX_TASK_BYTES:
            return REFUSED
    worker = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, MAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(task)
    worker.stdin.close()
    if not _supervise(worker):
        return 1
    if worker.returncode != 0:
        if worker.returncode < 0:
            sys.stderr.write(f"the suite was ended by {signal_name(-worker.returncode)}\n")
        return REFUSED
    if place := worker.stdout.read().decode().strip():
        _send(Path(place))
    return 0


def _supervise(worker: "subprocess.Popen[bytes]") -> bool:
    """Wait for the worker's end; False, and the worker interrupted, where the connection closes
    before."""
    silent_s = 0.0
    while worker.poll() is None:
        asked, _, _ = select.select([0], [], [], POLL_S)
        silent_s += POLL_S
        try:
            if silent_s >= HEARTBEAT_S:
                os.write(2, b"\n")
                silent_s = 0.0
            is_gone = bool(asked) and not os.read(0, 1)
        except OSError:
            is_gone = True
        if is_gone:
            worker.send_signal(signal.SIGINT)
            worker.wait()
            return False
    return True


def _send(run: Path) -> None:
    """Send the run's bundle, and remove it once it was taken."""
    archive = run.with_name(f"{run.name}.tar")
    archive.unlink(missing_ok=True)
    pack_archive(run, archive, base=run.parent)
    sys.stdout.buffer.write(
        json.dumps({"size": archive.stat().st_size, "sha256": file_sha256(archive)}).encode()
        + b"\n"
    )
    with archive.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    archive.unlink()
    if os.read(0, len(TAKEN)) == TAKEN:
        shutil.rmtree(run)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other task makes a run on this board."""
    place = _boards_home()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _boards_home() -> Path:
    """The folder of what this board makes for others; boards may share a home on a file server, and
    a host name: the network address of hardware is each one's own. Where there is none, Python
    makes one up, another in every process, with the bit of multicast set (RFC 9562, 6.10)."""
    node = uuid.getnode()
    is_made_up = bool(node >> 40 & 1)
    name = os.uname().nodename
    return suite_home() / "boards" / (name if is_made_up else f"{name}-{node:x}")


if __name__ == "__main__":
    sys.exit(main())
