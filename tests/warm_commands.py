"""Runs `suite` commands in processes that are forked from one that has imported everything: each is
a process of its own and starts in 20 ms.

What tests of start-up, signals and streams need is a fresh interpreter: they start one themselves,
and COLD_COMMANDS=1 makes every command one.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from suite.files.paths import repository_root

HEAVY = (
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "jinja2",
    "markdown_it",
    "rich.table",
    "reporter.site",
    "suite.api",
)
MAX_REQUEST_BYTES = 1 << 20
UNDER_COVERAGE = "COVERAGE_PROCESS_CONFIG"
"""Variable that coverage.py sets for children of a process that it measures."""
CPU_S = 0.0
"""CPU time of all warm commands of this process: nobody's children, so that no process's usage has
it."""


class WarmCommands:
    """The process to fork from; it ends with this one, whose end of the pipe closes."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # one BLAS thread: threads do not survive a fork
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.warm_commands", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            cwd=repository_root(),
            env=environment,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run` would return. Raises TimeoutError."""
        global CPU_S
        answers, theirs = socket.socketpair()
        request = json.dumps(
            {"words": list(words), "environment": dict(environment), "folder": str(folder)}
        ).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error, answers:
            with theirs:
                socket.send_fds(
                    self._ours, [request], [out.fileno(), error.fileno(), theirs.fileno()]
                )
            answers.settimeout(timeout_s)
            answer = json.loads(answers.recv(4096))
            CPU_S += answer["cpu_s"]
            texts = [_text(stream) for stream in (out, error)]
        return subprocess.CompletedProcess(words, answer["code"], *texts)

    def close(self) -> None:
        """End the process."""
        self._ours.close()
        self._process.wait(30)


def _text(stream: object) -> str:
    stream.seek(0)  # type: ignore[attr-defined]
    return str(stream.read().decode())  # type: ignore[attr-defined]


def main(descriptor: int) -> None:
    """Import everything, then fork a supervisor for each request until the other end closes."""
    from suite.catalog.extensions import ExtensionPart, extension_modules
    from suite.cli.app import own_commands

    own = (f"suite.cli.{command.module}" for command in own_commands().commands)
    for module in (*HEAVY, *own):
        importlib.import_module(module)
    list(extension_modules(ExtensionPart.COMMAND))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are nobody's business
    requests = socket.socket(fileno=descriptor)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _supervise(json.loads(request), *descriptors)
        for each in descriptors:
            os.close(each)


def _supervise(request: Mapping[str, object], out: int, error: int, answers: int) -> NoReturn:
    """Fork the command, wait for it, and answer with its exit code and CPU time."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(answers)
        _become(request, out, error)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    answer = {"code": code, "cpu_s": used.ru_utime + used.ru_stime}
    os.write(answers, json.dumps(answer).encode())
    os._exit(0)


def _become(request: Mapping[str, object], out: int, error: int) -> NoReturn:
    """Run the command as a fresh interpreter would, and end as one."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(error, 2)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[arg-type]
    os.chdir(str(request["folder"]))
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115 - standard streams
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False
    )
    sys.argv = [str(Path(sys.executable).with_name("suite")), *request["words"]]  # type: ignore[misc]
    if UNDER_COVERAGE in os.environ:
        _name_the_test()
    from suite.cli.start import main as command

    code: object = 0
    try:
        command()
    except SystemExit as end:
        code = end.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _name_the_test() -> None:
    """What this process runs is run by the test that asked for the command, as in that test's own
    process."""
    import coverage

    measured = coverage.Coverage.current()
    test, _, phase = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")
    if measured is not None and test:
        measured.switch_context(f"{test}|{phase.strip('()')}")


def used_s() -> float:
    """CPU time of this process, of the children that it has waited for, and of warm commands."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return CPU_S + sum(one.ru_utime + one.ru_stime for one in spent)


if __name__ == "__main__":
    main(int(sys.argv[1]))
