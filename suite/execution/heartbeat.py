"""Hears that every rank of a run lives: what reference_impls.rank sends, and what its silence means."""

import json
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reference_impls.rank import BEAT_S, SILENCE_S, TOKEN, WATCH
from suite.launch.mpirun import FailedProcess

START_S = 60.0
LONGEST_LINE = 4096
STOPPED = ("T", "t")


@dataclass(frozen=True)
class Heartbeat:
    """What was last heard of a rank, and when (monotonic clock, s); ``pid`` is its process on its node, ``stopped_s`` since when it is stopped."""

    rank: int
    node: str
    pid: int
    heard_s: float
    stopped_s: float | None


class HeartbeatMonitor:
    """Takes the ranks' beats on a port of its own; a connection without the run's token is closed.

    A rank that was never heard of within a minute, is silent for ten seconds, stays stopped for as long, or is outlived by others for as long,
    is a problem.
    """

    def __init__(self, ranks: int, hosts: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._ranks, self._hosts, self._token, self._clock = ranks, tuple(hosts), secrets.token_hex(16), clock
        self._beats: dict[int, Heartbeat] = {}
        self._gone: list[Heartbeat] = []
        self._lock = threading.Lock()
        self._listener: threading.Thread | None = None
        self._server = _Server(("" if hosts else "127.0.0.1", 0), self)
        self._address = f"{_own_address(hosts)}:{self._server.server_address[1]}"
        self._began_s = clock()

    @property
    def variables(self) -> Mapping[str, str]:
        """What the ranks need in their environment."""
        return {WATCH: self._address, TOKEN: self._token}

    def start(self) -> None:
        """Begin to listen; the ranks may have been started already."""
        self._listener = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._listener.start()

    def close(self) -> None:
        """Hang up: ranks that still live end themselves."""
        if self._listener is not None:  # else there is nothing that would answer
            self._server.shutdown()
        self._server.hang_up()

    def problem(self) -> str | None:
        """Which rank does not live as it should, in words; None while all do."""
        now_s = self._clock()
        with self._lock:
            beats, gone, first = dict(self._beats), {beat.rank for beat in self._gone}, next(iter(self._gone), None)
        for beat in beats.values():
            if beat.rank not in gone and now_s - beat.heard_s > SILENCE_S:
                return f"rank {beat.rank} on node {beat.node} has not been heard of for {SILENCE_S:g} s: it hangs, or the network is cut"
            if beat.stopped_s is not None and now_s - beat.stopped_s > SILENCE_S:
                return f"rank {beat.rank} on node {beat.node} was stopped and has not gone on for {SILENCE_S:g} s"
        if first is not None and now_s - first.heard_s > SILENCE_S + BEAT_S and len(gone) < self._ranks:
            return f"rank {first.rank} on node {first.node} ended and others have not for {SILENCE_S:g} s"
        silent = self.never_heard()
        if silent is not None and now_s - self._began_s > START_S:
            return f"{silent} has not been heard of in the first {START_S:g} s: the node cannot be reached, or cannot reach {self._address}"
        return None

    def pids(self) -> dict[int, int]:
        """The process of each rank that was heard of, on its own node."""
        with self._lock:
            return {rank: beat.pid for rank, beat in self._beats.items()}

    def never_heard(self) -> str | None:
        """The first rank that nothing was heard of so far, and its host; None when there is none."""
        with self._lock:
            missing = sorted(set(range(self._ranks)) - set(self._beats))
        if not missing:
            return None
        return f"rank {missing[0]}" + (f" on {self._host_of(missing[0])}" if self._hosts else "")

    def first_gone(self, blamed: FailedProcess | None = None) -> Heartbeat | None:
        """The rank whose process ended first: the one that mpirun blames, which took the others along within milliseconds, else as it was heard."""
        with self._lock:
            found = [beat for beat in self._beats.values() if blamed is not None and self._is(beat, blamed)]
            return found[0] if len(found) == 1 else self._gone[0] if self._gone else None

    def _is(self, beat: Heartbeat, blamed: FailedProcess) -> bool:
        if blamed.rank is not None:
            return beat.rank == blamed.rank
        return beat.pid == blamed.pid and (not self._hosts or self._host_of(beat.rank) == blamed.host)

    def _host_of(self, rank: int) -> str:
        """Ranks are dealt to the hosts in blocks."""
        return self._hosts[rank * len(self._hosts) // self._ranks]

    def hear(self, line: bytes) -> Heartbeat | None:
        """Take note of a line; None for one that is not a rank's."""
        try:
            said = json.loads(line)
            if not secrets.compare_digest(str(said["token"]), self._token) or not 0 <= int(said["rank"]) < self._ranks:
                return None
            rank, node, pid, now_s = int(said["rank"]), str(said["node"])[:100], int(said["pid"]), self._clock()
        except (ValueError, KeyError, TypeError):
            return None
        with self._lock:
            before = self._beats.get(rank)
            since_s = before.stopped_s if before is not None and before.stopped_s is not None else now_s
            self._beats[rank] = Heartbeat(rank, node, pid, now_s, since_s if said.get("state") in STOPPED else None)
            return self._beats[rank]

    def leave(self, beat: Heartbeat) -> None:
        """A rank's connection has ended."""
        with self._lock:
            self._gone.append(beat)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], watch: HeartbeatMonitor) -> None:
        self.watch = watch
        self.open: set[socket.socket] = set()
        super().__init__(address, _Connection)

    def hang_up(self) -> None:
        self.server_close()
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Give every line back, until the rank ends or says what no rank says."""
        beat = None
        self.server.open.add(self.request)
        with suppress(OSError):
            while line := self.rfile.readline(LONGEST_LINE):
                heard = self.server.watch.hear(line)
                if heard is None:
                    return
                beat = heard
                self.wfile.write(b"\n")
        self.server.open.discard(self.request)
        if beat is not None:
            self.server.watch.leave(beat)


def _own_address(hosts: Sequence[str]) -> str:
    """This machine's address as the hosts see it: the one that the kernel would send to them from; nothing is sent."""
    if not hosts:
        return "127.0.0.1"
    for host in reversed(hosts):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            address = str(probe.getsockname()[0])
            if not address.startswith("127."):
                return address
    return socket.gethostname()
