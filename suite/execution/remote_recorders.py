"""Recorders on the remote nodes of a run (suite.execution.node_recorder), started over SSH or the
launch agent.

Everything runs in the harness's main thread, a little at every :meth:`RemoteRecorders.tick`. A
failure never ends a run: a recorder that is lost while it records is started again; a node that
cannot be measured has no readings, or fewer, and nodes.json gives the reason.
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
from reference_impls.rank import HEARTBEAT_PERIOD_S
from suite.bundle.layout import node_baseloads, node_tables
from suite.bundle.nodes import NodeRecord
from suite.execution.node_recorder import ATTACHED, CLOCK, HEARTBEAT, RECORD, RUNNING, STOP
from suite.execution.readings_file import COLUMNS
from suite.execution.request import RunRequest
from suite.files.paths import checkout, repository_root
from suite.launch.placement import Placement, is_this_machine
from suite.launch.process import signal_name
from suite.launch.remote_shell import (
    NO_INTERPRETER,
    NO_SUITE,
    SSH_ENDED,
    module_script,
    remote_command,
)
from suite.launch.slurm import SRUN
from suite.machine.page_cache import CacheState
from suite.machine.process_tree import is_running

START_TIMEOUT_S, PAGE_CACHE_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 900.0, 5.0
POLL_S = 0.2
MAX_RESTARTS, ROUND_TRIPS = 3, 5
_ROW = re.compile(rb"\d{1,19},.+,-?\d[\d.]*(e[-+]?\d+)?,[^,]*")
_HEADER = ",".join(COLUMNS).encode()


class RemoteRecorders:
    """One recorder per remote node, alive inside the context. :meth:`prepare`, :meth:`tick` often,
    :meth:`stop`, then :meth:`records`."""

    def __init__(self, request: RunRequest, interpreter: Path, path: Path) -> None:
        placement = request.placement
        self._placement = placement if request.training.parallel.ranks > 1 else Placement()
        self._settings = {
            "data": request.training.data.directory,
            "page_cache": request.page_cache.value,
            "device": request.device.name,
            "with_identity": request.with_identity,
            "left_out": request.left_out,
            "silence_s": placement.silence_s,
        }
        self._baseload_s = request.baseload_s
        # Only a checkout brings the recorder's module to a framework's interpreter.
        self._interpreters, self._path = (
            (Path(sys.executable), *((interpreter,) if checkout() else ())),
            path,
        )
        self._recorders: dict[int, RemoteRecorder] = {}
        self._notices: list[str] = []

    def __enter__(self) -> "RemoteRecorders":
        """Nothing is started yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect every recorder."""
        for recorder in self._recorders.values():
            recorder.disconnect()

    def prepare(self) -> "list[bool | None]":
        """Start a recorder on every remote node; wait until the baseload is measured and the page
        cache is emptied or filled.

        Returns for each node whether its page cache is cold; None where that is unknown.
        """
        for place, host in enumerate(self._placement.hosts[1:], start=1):
            baseload, readings = (
                self._path / names(place)[1] for names in (node_baseloads, node_tables)
            )
            self._recorders[place] = RemoteRecorder(
                self._command(host), self._command(host, goes_on=True), baseload, readings
            )
            if is_this_machine(host):
                self._recorders[place].fail("it is the first host's machine under another name")
        self._await(
            "node", START_TIMEOUT_S, f"its recorder did not answer within {START_TIMEOUT_S:g} s"
        )
        self._await(
            "page_cache",
            self._baseload_s + PAGE_CACHE_TIMEOUT_S,
            f"its page cache was not ready within {PAGE_CACHE_TIMEOUT_S:g} s",
        )
        return [
            (recorder.facts.get("page_cache") or {}).get("is_cold")
            for recorder in self._recorders.values()
        ]

    def tick(self, pids: Mapping[int, int]) -> None:
        """Exchange messages with every recorder: heartbeats, the training process to record
        (``pids``, by rank), and readings.

        A node's recording begins when all its ranks have started: they wait until its meters are
        attached to them.
        """
        for place, recorder in self._recorders.items():
            ranks = self._ranks(place)
            recorder.tick(pids[ranks[0]] if all(rank in pids for rank in ranks) else None)
            if recorder.problem is not None and recorder.restart():
                self._notices.append(
                    f"The recorder on {self._placement.hosts[place]} was lost ({recorder.lost}); it"
                    " was started again"
                )

    def take_notices(self) -> list[str]:
        """Sentences for the person at the terminal, each returned once: recorders that were
        lost."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def launcher(self) -> str:
        """The program that starts and watches the ranks."""
        return SRUN if self._placement.agent == SRUN else "mpirun"

    def is_remote(self, rank: int) -> bool:
        """Whether a recorder of these watches the rank's node."""
        return self._of_rank(rank) is not None

    def is_running(self, rank: int, pid: int) -> bool | None:
        """Whether a rank's process exists on its node; asks a remote node, and is None until the
        answer is there."""
        recorder = self._of_rank(rank)
        if recorder is None:
            return is_running(Path("/"), pid)
        answer = (recorder.facts.get(RUNNING) or {}).get(str(pid))
        recorder.send(f"{RUNNING} {pid}")
        return answer if isinstance(answer, bool) else None

    def memory_kills(self, rank: int) -> int | None:
        """Processes that the kernel of a rank's node killed for lack of memory during the run; None
        if unknown."""
        recorder = self._of_rank(rank)
        kills = None if recorder is None else recorder.facts.get("memory_kills")
        return kills if isinstance(kills, int) else None

    def first_unreached(self) -> tuple[str, str] | None:
        """The first host whose recorder never answered, and why; None when all did."""
        silent = (
            (place, each.problem)
            for place, each in self._recorders.items()
            if each.problem is not None and "node" not in each.facts
        )
        return next(((self._placement.hosts[place], problem) for place, problem in silent), None)

    def attached_ranks(self) -> tuple[int, ...]:
        """The ranks of the nodes whose meters are attached, or cannot be: the harness's own, and
        those whose recorder said so or failed."""
        places = (
            0,
            *(
                place
                for place, recorder in self._recorders.items()
                if recorder.problem is not None or ATTACHED in recorder.facts
            ),
        )
        return tuple(rank for place in places for rank in self._ranks(place))

    def stop(self) -> None:
        """Stop every recorder and wait up to five seconds for its last readings."""
        for recorder in self._recorders.values():
            recorder.send(STOP)
        self._await(
            "meters",
            STOP_TIMEOUT_S,
            "its recorder did not stop when the run ended; its last readings may be lost",
        )

    def records(
        self, local_cache: CacheState, nodes_of_ranks: Mapping[int, str]
    ) -> tuple[NodeRecord, ...]:
        """The content of nodes.json in the hostfile's order, the harness's node first; empty for a
        run on this machine alone.

        ``nodes_of_ranks`` are host names by rank. They are labelled as rank 0 labels them in its
        log, so that ranks on another host than was planned contradict it.
        """
        if not self._recorders:
            return ()
        labels: dict[str, str] = {}
        here, others = (
            os.uname().nodename,
            [recorder.facts.get("node") for recorder in self._recorders.values()],
        )
        for name in (
            *(nodes_of_ranks[rank] for rank in sorted(nodes_of_ranks)),
            here,
            *(name for name in others if isinstance(name, str)),
        ):
            labels.setdefault(name, f"node{len(labels)}")
        own = link_towards(self._peer(self._placement.hosts[0]))
        first, *others_links = _links(
            (own, *(each.facts.get("link") for each in self._recorders.values()))
        )
        local = NodeRecord(
            "node0", labels[here], self._ranks(0), None, first, asdict(local_cache), None, ()
        )
        remote = zip(self._recorders.items(), others_links, strict=True)
        return (
            local,
            *(self._record(place, each, labels, link) for (place, each), link in remote),
        )

    def _await(self, key: str, timeout_s: float, problem: str) -> None:
        """Wait until every recorder that has not failed has sent ``key``; those that do not in time
        fail with ``problem``."""
        deadline_s = time.monotonic() + timeout_s
        while pending := [
            each
            for each in self._recorders.values()
            if each.problem is None and key not in each.facts
        ]:
            if time.monotonic() > deadline_s:
                for recorder in pending:
                    recorder.fail(problem)
                return
            select.select([each.output for each in pending], [], [], POLL_S)
            self.tick({})

    def _record(
        self,
        place: int,
        recorder: "RemoteRecorder",
        labels: Mapping[str, str],
        link: Mapping[str, Any] | None,
    ) -> NodeRecord:
        facts = recorder.facts
        problem = recorder.problem or (
            recorder.lost
            and f"its recorder was lost during the run ({recorder.lost}) and started again"
        )
        return NodeRecord(
            f"node{place}",
            labels.get(str(facts.get("node"))),
            self._ranks(place),
            problem,
            link,
            facts.get("page_cache"),
            facts.get("system"),
            tuple(facts.get("meters") or ()),
        )

    def _of_rank(self, rank: int) -> "RemoteRecorder | None":
        return self._recorders.get(rank // self._placement.ranks_per_node)

    def _ranks(self, place: int) -> tuple[int, ...]:
        """mpirun fills one host after the other."""
        each = self._placement.ranks_per_node
        return tuple(range(place * each, (place + 1) * each))

    def _peer(self, host: str) -> str:
        return next(other for other in self._placement.hosts if other != host)

    def _command(self, host: str, goes_on: bool = False) -> list[str]:
        settings = json.dumps(
            {
                **self._settings,
                "peer": self._peer(host),
                "baseload_s": self._baseload_s,
                "goes_on": goes_on,
            }
        )
        return remote_command(
            host,
            self._placement.agent,
            module_script(self._interpreters, "suite.execution.node_recorder", settings),
        )


class RemoteRecorder:
    """The connection to one node's recorder. ``facts`` are the JSON values it has sent; ``problem``
    is why no more will come, or None.

    ``lost`` is why an earlier recorder of the node was lost; None when none was.
    """

    def __init__(
        self, command: Sequence[str], to_go_on: Sequence[str], baseload: Path, readings: Path
    ) -> None:
        self.facts: dict[str, Any] = {}
        self.lost: str | None = None
        self._to_go_on, self._restarts = to_go_on, 0
        self._baseload, self._readings = baseload, readings
        self._connect(command)

    def _connect(self, command: Sequence[str]) -> None:
        """Start a recorder."""
        self.problem: str | None = None
        self._partial_lines, self._last_error_line = {"out": b"", "err": b""}, ""
        self._is_recording, self._heartbeat_s = False, 0.0
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self.output, self._errors = (
            pipe.fileno()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        os.set_blocking(self.output, False)
        os.set_blocking(self._errors, False)

    def restart(self) -> bool:
        """Replace a recorder that was lost while it recorded; False where there is nothing to
        replace, or it was lost too often."""
        if ATTACHED not in self.facts or "meters" in self.facts or self._restarts == MAX_RESTARTS:
            return False
        self.lost, self._restarts = self.problem, self._restarts + 1
        self._connect(self._to_go_on)
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
        for line in self._new_lines("err", self._errors)[0]:
            self._last_error_line = line.decode(errors="replace").strip() or self._last_error_line
        lines, is_closed = self._new_lines("out", self.output)
        rows: dict[Path, list[bytes]] = {self._baseload: [], self._readings: []}
        for line in lines:
            if line.startswith(b"{"):
                with suppress(ValueError):  # half a line of a node that was disconnected
                    self.facts.update(json.loads(line))
            elif (line == _HEADER and self._restarts == 0) or _ROW.fullmatch(line):
                rows[self._readings if "page_cache" in self.facts else self._baseload].append(line)
        for table, of_table in rows.items():
            try:
                _append(table, of_table)
            except OSError as error:
                self.fail(
                    f"{table} cannot be written ({error.strerror}): the readings after this moment"
                    " are lost"
                )
        if is_closed and "meters" not in self.facts:
            self.fail(self._exit_reason())

    def clock_offset_ns(self, wait_s: float = POLL_S) -> int | None:
        """How far the node's monotonic clock is ahead of this one's, by the shortest of five round
        trips (RFC 5905); None without a reply."""
        found: list[tuple[int, int]] = []
        for _ in range(ROUND_TRIPS):
            self.facts.pop(CLOCK, None)
            began_ns = time.monotonic_ns()
            self.send(CLOCK)
            deadline_s = time.monotonic() + wait_s * 10
            while (
                CLOCK not in self.facts and self.problem is None and time.monotonic() < deadline_s
            ):
                select.select([self.output], [], [], wait_s)
                self.receive()
            ended_ns, there_ns = time.monotonic_ns(), self.facts.get(CLOCK)
            if isinstance(there_ns, int):
                found.append((ended_ns - began_ns, there_ns - (began_ns + ended_ns) // 2))
        return min(found)[1] if found else None

    def fail(self, problem: str) -> None:
        """Disconnect for this reason."""
        self.problem = problem[:500]
        self.disconnect()

    def disconnect(self) -> None:
        """Kill the local end of the connection; the recorder exits when its standard input
        closes."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

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
            return f"its SSH session was ended by {signal_name(-code)}"
        return (
            "a signal ended it, or its SSH connection was lost"
            if code == SSH_ENDED
            else f"its recorder ended with exit code {code}"
        )


def _links(
    links: Sequence[Mapping[str, Any] | None],
) -> list[dict[str, Any] | None]:
    """Descriptions of the nodes' links as nodes.json has them: a label in place of each address,
    the same for the same address."""
    addresses = list(
        dict.fromkeys(link["address"] for link in links if link and link.get("address") is not None)
    )
    labels: dict[Any, str | None] = {
        None: None,
        **{address: f"address{number}" for number, address in enumerate(addresses)},
    }
    return [{**link, "address": labels[link.get("address")]} if link else None for link in links]


def _append(table: Path, rows: Sequence[bytes]) -> None:
    if rows:
        with table.open("ab") as stream:
            stream.write(b"".join(row + b"\n" for row in rows))
