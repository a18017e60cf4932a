"""Heartbeat monitor: detects ranks that died, hung or were stopped. The heartbeats come from
reference_impls.rank."""

import json
import secrets
import signal
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from reference_impls.rank import (
    ADDRESS_VARIABLE,
    HEARTBEAT_PERIOD_S,
    HEARTBEAT_TIMEOUT_S,
    SILENCE_VARIABLE,
    TOKEN_VARIABLE,
)
from suite.launch.mpirun import FailedProcess

START_TIMEOUT_S = 60.0
RELEASE_TIMEOUT_S = 6.0
"""Within the ten seconds for which a rank waits for a reply; enough for a recorder to attach its
meters."""
MIN_PAUSE_S = 5.0
"""The harness polls five times a second: after a longer time it was stopped itself."""
MAX_LINE_BYTES = 4096
STOPPED = ("T", "t")


@dataclass(frozen=True)
class Heartbeat:
    """A rank's last heartbeat: ``pid`` on its ``node``, as the hostfile names it, the identity of
    its ``machine``, and times on the monotonic clock, s.

    ``stopped_s`` is the time since which the process is stopped; None while it is not, or where it
    has used CPU time since the last heartbeat: a limiter stops and continues it many times.
    ``is_orphaned``: it runs on, and the launcher that started it on its node was ended.
    """

    rank: int
    node: str
    pid: int
    received_s: float
    stopped_s: float | None
    is_orphaned: bool = False
    machine: str = ""
    cpu_ticks: int | None = None

    def __str__(self) -> str:
        """The rank and its node, for a sentence."""
        return f"rank {self.rank} on node {self.node}"


class HeartbeatMonitor:
    """A TCP server that receives the heartbeats of all ranks of a run; a connection without the
    run's token is closed.

    A rank starts its program when its first heartbeat is replied to: after :meth:`release`, or
    after six seconds without it.

    Failures are: no heartbeat from a rank in the first minute; none for ``silence_s`` after that; a
    rank that is stopped for as long; a rank that exited, or lost its heartbeat process, while
    others kept running for ten seconds. A time in which the harness itself was stopped counts in
    none of them; ``longest_pause_s`` is the longest of late.
    """

    def __init__(
        self,
        ranks: int,
        hosts: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
        silence_s: float = HEARTBEAT_TIMEOUT_S,
    ) -> None:
        self.silence_s = silence_s
        self._ranks, self._hosts, self._clock = ranks, tuple(hosts), clock
        self._token = secrets.token_hex(16)
        self._last: dict[int, Heartbeat] = {}
        self._exited: list[Heartbeat] = []
        self._lock = threading.Lock()
        self._released: set[int] = set()
        self._release = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._server = _Server(("" if hosts else "127.0.0.1", 0), self)
        self._address = f"{_address_for(hosts)}:{self._server.server_address[1]}"
        self._began_s = self._polled_s = self._paused_s = clock()
        self.longest_pause_s = 0.0
        self.has_lone_exit = False  # the failure is a rank that exited by itself

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables that the ranks need."""
        return {
            ADDRESS_VARIABLE: self._address,
            TOKEN_VARIABLE: self._token,
            SILENCE_VARIABLE: f"{self.silence_s:g}",
        }

    def start(self) -> None:
        """Start the server's thread; the ranks may have been started before."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close every connection: ranks that are still alive are then killed by their heartbeat
        processes."""
        # shutdown() would wait for ever for a server that does not run
        if self._thread is not None:
            self._server.shutdown()
        self._server.disconnect()
        self.release(range(self._ranks))

    def release(self, ranks: Iterable[int]) -> None:
        """Let these ranks start their programs; repeatable."""
        with self._release:
            self._released.update(ranks)
            self._release.notify_all()

    def wait_for_release(self, rank: int) -> None:
        """Return when the rank may start its program."""
        with self._release:
            self._release.wait_for(lambda: rank in self._released, RELEASE_TIMEOUT_S)

    def failure(
        self, is_running: Callable[[int, int], bool | None] = lambda rank, pid: None
    ) -> str | None:
        """The first failed rank, its node and what failed, as a sentence; None while every rank is
        alive.

        ``is_running`` says whether a rank's process, by its pid, still exists; None where that is
        unknown.
        """
        now_s = self._clock()
        with self._lock:
            last, exited = dict(self._last), list(self._exited)
        ranks_exited = {beat.rank for beat in exited}
        for beat in last.values():
            problem = self._problem_of(beat, beat.rank not in ranks_exited, now_s)
            if problem is not None:
                return problem
        for beat in exited[:1]:
            runs = is_running(beat.rank, beat.pid)  # another node answers at a later poll
            if now_s - beat.received_s <= HEARTBEAT_TIMEOUT_S + HEARTBEAT_PERIOD_S:
                break
            if runs:
                return (
                    f"the heartbeat process of {beat} was ended, while the rank (process"
                    f" {beat.pid}) kept running: nothing would report the rank's end, so the"
                    " harness ended the run"
                )
            if len(ranks_exited) < self._ranks:
                self.has_lone_exit = True
                return f"{beat} exited while other ranks kept running for {HEARTBEAT_TIMEOUT_S:g} s"
        missing = self.first_missing_rank()
        if missing is not None and now_s - self._began_s > START_TIMEOUT_S:
            return (
                f"no heartbeat from {missing} in the first {START_TIMEOUT_S:g} s: its node cannot"
                f" be reached, or cannot connect to {self._address}"
            )
        return None

    def _problem_of(self, beat: Heartbeat, lives: bool, now_s: float) -> str | None:
        """What is wrong with a rank by its last heartbeat; None for nothing."""
        if lives and now_s - beat.received_s > self.silence_s:
            return (
                f"no heartbeat from {beat} for {self.silence_s:g} s: it hangs, or the network"
                " is cut"
            )
        if beat.stopped_s is not None and now_s - beat.stopped_s > self.silence_s:
            return f"{beat} was stopped and did not continue within {self.silence_s:g} s"
        if lives and beat.is_orphaned:
            return (
                f"the launcher of {beat} (hydra_pmi_proxy, prted or slurmstepd) was ended,"
                " while the rank kept running: nothing could report the rank's end, so the"
                " harness ended the run"
            )
        return None

    def polled(self) -> None:
        """Call this at every poll. After a long time without a poll, the harness was stopped
        itself: no rank is blamed for that time."""
        now_s = self._clock()
        paused_s, self._polled_s = now_s - self._polled_s, now_s
        if paused_s < MIN_PAUSE_S:
            if now_s - self._paused_s > 2 * self.silence_s:  # who ends of a pause has ended
                self.longest_pause_s = 0.0
            return
        self.longest_pause_s, self._paused_s = max(self.longest_pause_s, paused_s), now_s
        self._began_s += paused_s
        with self._lock:
            for rank, beat in self._last.items():
                later_s = None if beat.stopped_s is None else beat.stopped_s + paused_s
                self._last[rank] = replace(
                    beat, received_s=min(now_s, beat.received_s + paused_s), stopped_s=later_s
                )

    def pids(self) -> dict[int, int]:
        """Process id by rank, on the rank's node, of every rank that has sent a heartbeat."""
        with self._lock:
            return {rank: beat.pid for rank, beat in self._last.items()}

    def machines(self) -> dict[int, str]:
        """Machine's identity by rank of every rank that has sent a heartbeat."""
        with self._lock:
            return {rank: beat.machine for rank, beat in self._last.items()}

    def first_missing_rank(self) -> str | None:
        """The lowest rank that has sent no heartbeat, with its host ("rank 2 on pi3"); None when
        every rank has."""
        with self._lock:
            missing = sorted(set(range(self._ranks)) - set(self._last))
        if not missing:
            return None
        return f"rank {missing[0]}" + (f" on {self.host_of(missing[0])}" if self._hosts else "")

    def first_exited(self, failed: FailedProcess | None = None) -> Heartbeat | None:
        """The last heartbeat of the rank that exited first; None when no rank has.

        That is the process that mpirun reports as ``failed``, unless mpirun may have killed it
        itself (by SIGKILL, within milliseconds); else the first closed connection from the host
        that it reports, else the first from any.
        """
        with self._lock:
            if failed is None:
                return next(iter(self._exited), None)
            if failed.rank in self._last:
                return self._last[failed.rank]
            there = [
                [
                    beat
                    for beat in beats
                    if not self._hosts or self.host_of(beat.rank) == failed.host
                ]
                for beats in (self._last.values(), self._exited)
            ]
            named = [beat for beat in there[0] if beat.pid == failed.pid]
            if failed.signal != signal.SIGKILL and len(named) == 1:
                return named[0]
            return next(iter(there[1] + self._exited + named), None)

    def host_of(self, rank: int) -> str | None:
        """A rank's host, as the hostfile names it; None for a run without hosts. Ranks are placed
        on the hosts in blocks."""
        return self._hosts[rank * len(self._hosts) // self._ranks] if self._hosts else None

    def signal_of(self, exited: Heartbeat, failed: FailedProcess | None) -> int | None:
        """The signal that ended a rank; None where it exited by itself, or where mpirun reports
        another process, which it may have killed."""
        return (
            failed.signal
            if failed is not None and (failed.rank == exited.rank or failed.pid == exited.pid)
            else None
        )

    def receive(self, line: bytes) -> Heartbeat | None:
        """Store the heartbeat in a line; None for a line that is not a heartbeat of this run."""
        try:
            values = json.loads(line)
            is_ours = secrets.compare_digest(str(values["token"]), self._token)
            rank, machine, pid = int(values["rank"]), str(values["machine"]), int(values["pid"])
        except (ValueError, KeyError, TypeError):
            return None
        if not is_ours or not 0 <= rank < self._ranks:
            return None
        node = self.host_of(rank) or socket.gethostname()
        ticks = values.get("cpu_ticks")
        is_stopped, is_orphaned = values.get("state") in STOPPED, values.get("orphaned") is True
        with self._lock:
            now_s, before = self._clock(), self._last.get(rank)
            went_on = before is None or before.stopped_s is None or ticks != before.cpu_ticks
            since_s = now_s if went_on or before is None else before.stopped_s
            stopped_s = since_s if is_stopped else None
            beat = Heartbeat(rank, node, pid, now_s, stopped_s, is_orphaned, machine, ticks)
            self._last[rank] = beat
            return beat

    def disconnected(self, beat: Heartbeat) -> None:
        """The connection that sent this heartbeat was closed: its rank has exited."""
        with self._lock:
            self._exited.append(beat)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], monitor: HeartbeatMonitor) -> None:
        self.monitor = monitor
        self.connections: set[socket.socket] = set()
        super().__init__(address, _Connection)

    def disconnect(self) -> None:
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Reply to every heartbeat, until the rank exits or sends a line that is none."""
        last = None
        self.server.connections.add(self.request)
        with suppress(OSError):
            while line := self.rfile.readline(MAX_LINE_BYTES):
                beat = self.server.monitor.receive(line)
                if beat is None:
                    return
                if last is None:
                    self.server.monitor.wait_for_release(beat.rank)
                last = beat
                self.wfile.write(b"\n")
        self.server.connections.discard(self.request)
        if last is not None:
            self.server.monitor.disconnected(last)


def _address_for(hosts: Sequence[str]) -> str:
    """This machine's address on the hosts' network: the source address that the kernel would use;
    nothing is sent."""
    if not hosts:
        return "127.0.0.1"
    for host in reversed(hosts):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            address = str(probe.getsockname()[0])
            if not address.startswith("127."):
                return address
    return socket.gethostname()
