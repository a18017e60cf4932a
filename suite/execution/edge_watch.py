"""Notices within a millisecond that the implementation has written the beginning or end of a phase:
inotify(7) on the run directory.

The implementation waits for nothing. A phase begins right after its line in the log; an epoch ends
right before its first step record is written, which is long before the line ``epoch_stop``: workers
have ended and all records are on the storage medium by then.
"""

import ctypes
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from reference_impls.contract import log_name, steps_name
from suite.files.appended import read_after

EDGES = tuple(
    f'"{phase}_{end}"'.encode()
    for phase in ("init", "run", "epoch", "eval")
    for end in ("start", "stop")
)
IN_MODIFY, IN_CLOEXEC, IN_NONBLOCK = 0x2, os.O_CLOEXEC, os.O_NONBLOCK
EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
BUFFER_BYTES = 65536
MIN_INTERVAL_S = 0.02
"""Between two edges that step records show: an implementation may write them step by step."""


class EdgeWatch:
    """Calls ``at_edge``, from a thread of its own, at every edge that rank 0 writes into
    ``directory``, from :meth:`start` to :meth:`stop`.

    Where inotify is not available (the limit of watches is reached), nothing is called: readings
    are then as far from the edges as their period.
    """

    def __init__(self, directory: Path, at_edge: Callable[[], None]) -> None:
        self._at_edge, self._log = at_edge, directory / log_name(0)
        self._position, self._last_s, self._cost_s = 0, 0.0, 0.0
        self._thread: threading.Thread | None = None
        self._handles: list[int] = []

    def start(self) -> None:
        """Start watching."""
        libc = ctypes.CDLL(None)
        events = libc.inotify_init1(IN_CLOEXEC | IN_NONBLOCK)
        if events < 0:
            return
        self._handles = [events, os.eventfd(0)]
        if libc.inotify_add_watch(events, os.fsencode(self._log.parent), IN_MODIFY) < 0:
            return
        self._thread = threading.Thread(target=self._run, name="edges", daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Stop watching; returns the CPU time that it took, s."""
        if self._thread is not None:
            os.eventfd_write(self._handles[-1], 1)
            self._thread.join()
            self._thread = None
        while self._handles:
            os.close(self._handles.pop())
        return self._cost_s

    def _run(self) -> None:
        events, stop = self._handles
        poll = select.poll()
        for handle in self._handles:
            poll.register(handle, select.POLLIN)
        while stop not in dict(poll.poll()):
            if self._is_edge(set(_modified_files(os.read(events, BUFFER_BYTES)))):
                self._last_s = time.monotonic()
                self._at_edge()
        self._cost_s = time.thread_time()

    def _is_edge(self, modified: set[str]) -> bool:
        if self._log.name in modified:
            with suppress(OSError):
                added, self._position = read_after(self._log, self._position)
                if any(edge in added for edge in EDGES):
                    return True
        return steps_name(0) in modified and time.monotonic() - self._last_s > MIN_INTERVAL_S


def _modified_files(events: bytes) -> Iterator[str]:
    """File names of inotify events."""
    position = 0
    while position + EVENT.size <= len(events):
        *_, length = EVENT.unpack_from(events, position)
        position += EVENT.size
        yield os.fsdecode(events[position : position + length].rstrip(b"\0"))
        position += length
