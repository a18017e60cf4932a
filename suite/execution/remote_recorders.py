"""Recorders on the remote nodes of a run (suite.execution.node_recorder), started over SSH or the launch agent.

All work is done in the harness's own thread, a little at every :meth:`RemoteRecorders.tick`. A failure never ends a run: a node that cannot be
measured has no readings, or fewer, and nodes.json gives the reason.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reference_impls.node import link_towards
from reference_impls.rank import BEAT_S
from suite.bundle.layout import node_baseloads, node_tables
from suite.bundle.nodes import NodeRecord
from suite.execution.node_recorder import BEAT, END, RECORD
from suite.execution.readings_file import COLUMNS
from suite.execution.request import RunRequest
from suite.files.paths import repository_root
from suite.launch.placement import Placement, is_this_machine
from suite.launch.remote_shell import NO_CHECKOUT, NO_INTERPRETER, module_script, remote_command
from suite.machine.page_cache import CacheState

HELLO_S, CACHE_S, LAST_WORDS_S = 60.0, 900.0, 5.0
POLL_S = 0.2
_ROW = re.compile(rb"\d{1,19},.+,-?\d[\d.]*(e[-+]?\d+)?,[^,]*")
_HEADER = ",".join(COLUMNS).encode()


class RemoteRecorders:
    """A context: the recorders live in it. :meth:`prepare`, then :meth:`tick` often, then :meth:`stop`, then :meth:`records`."""

    def __init__(self, request: RunRequest, interpreter: Path, path: Path) -> None:
        placement = request.placement
        self._placement = placement if request.training.parallel.ranks > 1 else Placement()
        self._asked = {"data": request.training.data.directory, "page_cache": request.page_cache.value, "device": request.device.name}
        self._baseload_s = request.baseload_s
        self._interpreters, self._path = (Path(sys.executable), interpreter), path
        self._sessions: dict[int, _Session] = {}

    def __enter__(self) -> "RemoteRecorders":
        """Start nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up on whoever is left."""
        for session in self._sessions.values():
            session.hang_up()

    def prepare(self) -> "list[bool | None]":
        """Start a recorder on every other node and wait until the idle node was measured and its page cache is as asked.

        Returns whether each then was cold.
        """
        for place, host in enumerate(self._placement.hosts[1:], start=1):
            self._sessions[place] = _Session(self._command(host), *(self._path / names(place)[1] for names in (node_baseloads, node_tables)))
            if is_this_machine(host):
                self._sessions[place].give_up("it is the first host's machine under another name")
        self._await("node", HELLO_S, f"nothing was heard of it within {HELLO_S:g} s")
        self._await("page_cache", self._baseload_s + CACHE_S, f"its page cache was not ready within {CACHE_S:g} s")
        return [(session.said.get("page_cache") or {}).get("is_cold") for session in self._sessions.values()]

    def tick(self, pids: Mapping[int, int]) -> None:
        """Tell the recorders that the harness lives, and which of their processes train (``pids``, by rank); keep what they have read."""
        for place, session in self._sessions.items():
            session.tick(pids.get(place * self._placement.ranks_per_node))

    def stop(self) -> None:
        """Have every recorder say its last words, for a few seconds."""
        for session in self._sessions.values():
            session.say(END)
        self._await("meters", LAST_WORDS_S, "its recorder did not end when the run did; its last readings may be lost")

    def records(self, own_cache: CacheState) -> tuple[NodeRecord, ...]:
        """What nodes.json says: the harness's node, then the others, in the hostfile's order; none for a run on this machine alone."""
        if not self._sessions:
            return ()
        host = self._placement.hosts[0]
        own = NodeRecord(host, os.uname().nodename, self._ranks(0), None, link_towards(self._peer(host)), asdict(own_cache), None, ())
        return (own, *(self._record(place, session) for place, session in self._sessions.items()))

    def _await(self, key: str, limit_s: float, complaint: str) -> None:
        """Wait until every recorder that can has said something."""
        deadline_s = time.monotonic() + limit_s
        while waited := [each for each in self._sessions.values() if each.problem is None and key not in each.said]:
            if time.monotonic() > deadline_s:
                for session in waited:
                    session.give_up(complaint)
                return
            select.select([each.output for each in waited], [], [], POLL_S)
            self.tick({})

    def _record(self, place: int, session: "_Session") -> NodeRecord:
        said, meters = session.said, tuple(session.said.get("meters") or ())
        named = (self._placement.hosts[place], said.get("node"), self._ranks(place), session.problem)
        return NodeRecord(*named, said.get("link"), said.get("page_cache"), said.get("system"), meters)

    def _ranks(self, place: int) -> tuple[int, ...]:
        """mpirun fills one host after the other."""
        each = self._placement.ranks_per_node
        return tuple(range(place * each, (place + 1) * each))

    def _peer(self, host: str) -> str:
        return next(other for other in self._placement.hosts if other != host)

    def _command(self, host: str) -> list[str]:
        question = json.dumps({**self._asked, "peer": self._peer(host), "baseload_s": self._baseload_s})
        return remote_command(host, self._placement.agent, module_script(self._interpreters, "suite.execution.node_recorder", question))


class _Session:
    """The conversation with one node's recorder. ``said`` is what it has said of itself, ``problem`` why nothing more will come."""

    def __init__(self, command: Sequence[str], baseload: Path, readings: Path) -> None:
        self._baseload, self._readings = baseload, readings
        self.said: dict[str, Any] = {}
        self.problem: str | None = None
        self._rests, self._words = {"out": b"", "err": b""}, ""
        self._is_recording, self._beat_s = False, 0.0
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self.output, self._errors = (pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr))
        os.set_blocking(self.output, False)
        os.set_blocking(self._errors, False)

    def tick(self, pid: int | None) -> None:
        """Say what there is to say, hear what there is to hear."""
        if pid is not None and not self._is_recording:
            self._is_recording = True
            self.say(f"{RECORD} {pid}")
        if time.monotonic() - self._beat_s > BEAT_S:
            self._beat_s = time.monotonic()
            self.say(BEAT)
        self.listen()

    def say(self, words: str) -> None:
        """Send a line."""
        if self.problem is None:
            with suppress(OSError):  # that nobody listens any more shows in what is heard
                os.write(self._input, f"{words}\n".encode())

    def listen(self) -> None:
        """Take what has come."""
        if self.problem is not None:
            return
        for line in self._lines("err", self._errors)[0]:
            self._words = line.decode(errors="replace").strip() or self._words
        lines, ended = self._lines("out", self.output)
        rows: dict[Path, list[bytes]] = {self._baseload: [], self._readings: []}
        for line in lines:
            if line.startswith(b"{"):
                self._note(line)
            elif line == _HEADER or _ROW.fullmatch(line):
                rows[self._readings if "page_cache" in self.said else self._baseload].append(line)
        for table, of_table in rows.items():
            try:
                _keep(table, of_table)
            except OSError as error:
                self.give_up(f"{table} cannot be written ({error.strerror}): the readings after this moment are lost")
        if ended and "meters" not in self.said:
            self.give_up(self._how_it_ended())

    def give_up(self, problem: str) -> None:
        """Expect nothing more."""
        self.problem = problem[:500]
        self.hang_up()

    def hang_up(self) -> None:
        """End the connection; the recorder ends when it finds that out."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    def _note(self, line: bytes) -> None:
        with suppress(ValueError):  # half a line of a node that was cut off
            self.said.update(json.loads(line))

    def _lines(self, name: str, pipe: int) -> tuple[list[bytes], bool]:
        """Whole lines that have come, and whether nothing more will."""
        pieces, ended = [self._rests[name]], False
        with suppress(BlockingIOError):
            while piece := os.read(pipe, 65536):
                pieces.append(piece)
            ended = True
        *lines, self._rests[name] = b"".join(pieces).split(b"\n")
        return lines, ended

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code == NO_CHECKOUT:
            return f"there is no checkout of the suite in {repository_root()}"
        if code == NO_INTERPRETER:
            return "there is no interpreter for the recorder; the suite and its environments must be in the same place on every node"
        return self._words[:300] or f"its recorder ended with exit code {code}"


def _keep(table: Path, rows: Sequence[bytes]) -> None:
    if rows:
        with table.open("ab") as stream:
            stream.write(b"".join(row + b"\n" for row in rows))
