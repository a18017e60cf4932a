"""The connection to the recorder of one remote node (suite.execution.node_recorder), started over
SSH or the launch agent.

Everything runs in the harness's main thread, a little at every :meth:`RemoteRecorder.tick`. A
failure ends nothing: a recorder that is lost while it records is started again, and one that cannot
be reached has a ``problem``.
"""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reference_impls.rank import HEARTBEAT_PERIOD_S
from suite.bundle.layout import node_baseloads, node_tables
from suite.execution.node_recorder import ATTACHED, CLOCK, HEARTBEAT, RECORD
from suite.execution.readings_file import COLUMNS
from suite.files.paths import repository_root
from suite.launch.process import signal_name
from suite.launch.remote_shell import (
    NO_INTERPRETER,
    NO_SUITE,
    SSH_ENDED,
    module_script,
    remote_command,
    was_denied,
)

START_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 5.0
POLL_S, CLOCK_TIMEOUT_S = 0.2, 2.0
MAX_RESTARTS, ROUND_TRIPS = 3, 5
_ROW = re.compile(rb"\d{1,19},.+,-?\d[\d.]*(e[-+]?\d+)?,[^,]*")
_HEADER = ",".join(COLUMNS).encode()


class RemoteRecorder:
    """The recorder on ``host``, at ``place`` of the hostfile. ``facts`` are the JSON values that it
    has sent; ``problem`` is why no more will come, or None.

    ``lost`` is why an earlier recorder of the node was lost; None when none was. ``settings`` are
    those of suite.execution.node_recorder; one that ``goes_on`` prepares nothing. Its readings are
    appended to tables in ``directory``.
    """

    def __init__(
        self,
        host: str,
        place: int,
        directory: Path,
        agent: str | None,
        interpreters: Sequence[Path],
        settings: Mapping[str, Any],
        goes_on: bool = False,
    ) -> None:
        self.host = host
        self.facts: dict[str, Any] = {}
        self.lost: str | None = None
        self._agent, self._interpreters, self._settings = agent, interpreters, settings
        self._restarts = 0
        self._baseload, self._readings = (
            directory / names(place)[1] for names in (node_baseloads, node_tables)
        )
        self._connect(goes_on)

    def _connect(self, goes_on: bool) -> None:
        """Start a recorder."""
        self.problem: str | None = None
        self._partial_lines, self._last_error_line = {"out": b"", "err": b""}, ""
        self._is_recording, self._heartbeat_s = False, 0.0
        settings = json.dumps({**self._settings, "goes_on": goes_on})
        script = module_script(self._interpreters, "suite.execution.node_recorder", settings)
        self._process = subprocess.Popen(
            remote_command(self.host, self._agent, script),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self.output, self._errors = (pipe.fileno() for pipe in pipes)
        os.set_blocking(self.output, False)
        os.set_blocking(self._errors, False)

    def restart(self) -> bool:
        """Replace a recorder that was lost while it recorded; False where there is nothing to
        replace, or it was lost too often."""
        if ATTACHED not in self.facts or "meters" in self.facts or self._restarts == MAX_RESTARTS:
            return False
        self.lost, self._restarts = self.problem, self._restarts + 1
        self._connect(goes_on=True)
        return True

    def tick(self, pid: int | None) -> None:
        """Send what is due (once the process to record, every two seconds a heartbeat) and
        receive."""
        if pid is not None and not self._is_recording:
            self._is_recording = True
            self.send(f"{RECORD} {pid}")
        if time.monotonic() - self._heartbeat_s > HEARTBEAT_PERIOD_S:
            self._heartbeat_s = time.monotonic()
            self.send(HEARTBEAT)
        self.receive()

    def send(self, message: str) -> None:
        """Send a line."""
        if self.problem is None:
            with suppress(OSError):  # receive() reports a connection that was closed
                os.write(self._input, f"{message}\n".encode())

    def receive(self) -> None:
        """Take what has arrived: JSON into ``facts``, rows into the baseload's table until the page
        cache is ready, then into the readings'."""
        if self.problem is not None:
            return
        lines, is_closed = self._new_lines("out", self.output)
        # read last: what a recorder wrote before its end has then arrived
        for line in self._new_lines("err", self._errors)[0]:
            self._last_error_line = line.decode(errors="replace").strip() or self._last_error_line
        rows: dict[Path, list[bytes]] = {self._baseload: [], self._readings: []}
        for line in lines:
            if line.startswith(b"{"):
                with suppress(ValueError):  # half a line of a node that was disconnected
                    self.facts.update(json.loads(line))
            elif (line == _HEADER and self._restarts == 0) or _ROW.fullmatch(line):
                table = self._readings if "page_cache" in self.facts else self._baseload
                rows[table].append(line + b"\n")
        for table in filter(rows.get, rows):
            try:
                with table.open("ab") as stream:
                    stream.write(b"".join(rows[table]))
            except OSError as error:
                self.fail(
                    f"{table} cannot be written ({error.strerror}): the readings after this moment"
                    " are lost"
                )
        if is_closed and "meters" not in self.facts:
            self.fail(self._exit_reason())

    def clock_offset_ns(self) -> int | None:
        """How far the node's monotonic clock is ahead of this one's, by the shortest of five round
        trips (RFC 5905); None without a reply."""
        found: list[tuple[int, int]] = []
        for _ in range(ROUND_TRIPS):
            self.facts.pop(CLOCK, None)
            began_ns = time.monotonic_ns()
            self.send(CLOCK)
            deadline_s = time.monotonic() + CLOCK_TIMEOUT_S
            while self.lacks(CLOCK) and time.monotonic() < deadline_s:
                _await_output([self])
                self.receive()
            ended_ns, there_ns = time.monotonic_ns(), self.facts.get(CLOCK)
            if isinstance(there_ns, int):
                found.append((ended_ns - began_ns, there_ns - (began_ns + ended_ns) // 2))
        return min(found)[1] if found else None

    def lacks(self, key: str) -> bool:
        """Whether this fact may still come."""
        return self.problem is None and key not in self.facts

    def fail(self, problem: str) -> None:
        """Disconnect for this reason."""
        self.problem = problem[:500]
        self.disconnect()

    def disconnect(self) -> None:
        """Kill the local end of the connection; the recorder exits when its standard input
        closes."""
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            return  # since then its number may have become another process's
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError), self._process:
            pass  # waits for the process and closes its pipes

    def _new_lines(self, name: str, pipe: int) -> tuple[list[bytes], bool]:
        """The complete lines that have arrived, and whether the pipe is closed."""
        pieces, is_closed = [self._partial_lines[name]], False
        with suppress(BlockingIOError):
            while piece := os.read(pipe, 65536):
                pieces.append(piece)
            is_closed = True
        *lines, self._partial_lines[name] = b"".join(pieces).split(b"\n")
        return lines, is_closed

    def _exit_reason(self) -> str:
        code = self._process.wait()
        if was_denied(code, self._last_error_line):
            return self._last_error_line[:300]
        if code == NO_SUITE:
            return f"there is no suite in {repository_root()}"
        if code == NO_INTERPRETER:
            return (
                "there is no interpreter for the recorder; the suite and its environments must be"
                " in the same place on every node"
            )
        if self._last_error_line:
            return self._last_error_line[:300]
        if code < 0:
            return f"the SSH session was ended by {signal_name(-code)}"
        return (
            "a signal ended its recorder, or the SSH connection was lost"
            if code == SSH_ENDED
            else f"its recorder ended with exit code {code}"
        )


def wait_for(
    key: str,
    recorders: Collection[RemoteRecorder],
    timeout_s: float,
    problem: str,
    tick: Callable[[], None],
) -> None:
    """Wait until every recorder that has not failed has sent the fact ``key``; those that do not in
    time fail with ``problem``. ``tick`` is called meanwhile."""
    deadline_s = time.monotonic() + timeout_s
    while pending := [each for each in recorders if each.lacks(key)]:
        if time.monotonic() > deadline_s:
            for recorder in pending:
                recorder.fail(problem)
            return
        _await_output(pending)
        tick()


def _await_output(recorders: Collection[RemoteRecorder]) -> None:
    """Return when one of them has sent something, or after POLL_S; select(2) refuses descriptors
    above 1023, which a run on 256 hosts has."""
    polled = select.poll()
    for each in recorders:
        polled.register(each.output, select.POLLIN)
    polled.poll(POLL_S * 1e3)
