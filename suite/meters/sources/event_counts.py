"""Hardware and software counters of the implementation: instructions, cycles, caches, branches,
page faults."""

import errno
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from suite.machine.process_tree import process_tree
from suite.machine.procfs import read_integer
from suite.meters.counter_events import (
    Count,
    CounterEvent,
    EventCode,
    counter_events,
    is_known_machine,
    open_event,
    read_event,
)
from suite.meters.meter import (
    AVAILABLE,
    MeterAvailability,
    MeteredProcess,
    Reading,
    readings_of,
)

PARANOID, PARANOID_KEY = "proc/sys/kernel/perf_event_paranoid", "kernel.perf_event_paranoid"
FORBIDDEN = (errno.EACCES, errno.EPERM)
USERS_MAY_COUNT = 2
"""The highest setting by which a user may count user mode: Debian refuses it from 3 on, Ubuntu from
4. Where it is refused below, something else does it: a container's filter of system calls."""
REMEDY = (
    f"sudo sysctl {PARANOID_KEY}=1 (a file in /etc/sysctl.d with `{PARANOID_KEY}=1` keeps"
    " the setting), or run as root"
)
ON_THE_MACHINE = "a virtual machine often has no hardware events: run on the machine itself"
NO_PERF_EVENTS = MeterAvailability(
    False, "the kernel has no perf events", "use a kernel that is built with CONFIG_PERF_EVENTS"
)
UNKNOWN_MACHINE = MeterAvailability(
    False,
    "the number of the system call perf_event_open is not known for this machine",
    "add it to suite/meters/counter_events.py",
)
REFUSED = MeterAvailability(
    False,
    "the kernel refuses every event",
    "inside a container, allow perf_event_open or run on the host",
)
USER_ONLY = ":u"  # perf(1)'s suffix

Open = Callable[[EventCode, int, bool], int]
Read = Callable[[int], Count]


@dataclass(frozen=True)
class _Counter:
    """An event that is counted: the handles of every thread."""

    channel: str
    event: CounterEvent
    handles: tuple[int, ...]


class CountersMeter:
    """Channels ``<event>.count`` and, of hardware events, ``<event>.enabled`` and
    ``<event>.running`` (s), counted since the run began; ``<event>@<unit>`` on processors with
    several kinds of cores, ``<event>:u`` where only user mode may be counted. Derived figures scale
    by enabled / running. Read at the beginning and end of every epoch and evaluation, too.

    The events are attached to the process that waits to become the implementation or mpirun
    (suite.launch.process). Every thread and process that it starts inherits them: thread pools,
    data-loader workers, ranks. On another node of a run they are attached, one by one, to mpirun's
    process there and to the ranks' processes, which wait likewise (reference_impls.rank). Source:
    perf_event_open(2).
    """

    name = "counters"
    # a thread or process that is started before the events are attached is not counted
    opens_first = True
    at_edges = True
    period_s = 0.5
    description = "instructions, cycles, caches, branches and page faults of the implementation"

    def __init__(
        self,
        root: Path = Path("/"),
        open_event: Open = open_event,
        read_event: Read = read_event,
    ) -> None:
        self._root, self._open_event, self._read_event = root, open_event, read_event
        self._counters: list[_Counter] = []
        self._settings: dict[str, str] = {}

    def availability(self) -> MeterAvailability:
        """Whether anything can be counted; the reason names the hardware events that cannot."""
        if not (self._root / PARANOID).exists():
            return NO_PERF_EVENTS
        if not is_known_machine():
            return UNKNOWN_MACHINE
        lacking, forbidden, user_only = list[str](), list[str](), False
        for event in counter_events(self._root):
            try:
                counter = self._attach(event, [0])
            except OSError as error:
                (forbidden if error.errno in FORBIDDEN else lacking).append(event.channel)
            else:
                user_only = user_only or counter.channel.endswith(USER_ONLY)
                self._close(counter.handles)
        level = read_integer(self._root / PARANOID)
        if len(lacking) + len(forbidden) == len(counter_events(self._root)):
            if not forbidden or (level is not None and level <= USERS_MAY_COUNT):
                return REFUSED
            return MeterAvailability(
                False, f"/{PARANOID} is {level}: only root may count", REMEDY, forbidden=True
            )
        said = (
            f"/{PARANOID} is {level}: only user mode is counted"
            + (f", without {', '.join(forbidden)}" if forbidden else "")
            if user_only or forbidden
            else "",
            f"this machine does not count {', '.join(lacking)}" if lacking else "",
        )
        if not any(said):
            return AVAILABLE
        return MeterAvailability(
            True,
            "; ".join(filter(None, said)),
            REMEDY if said[0] else ON_THE_MACHINE if "cycles" in lacking else "",
        )

    def open(self, process: MeteredProcess) -> None:
        """Attach every event that can be counted to every thread of the implementation."""
        threads = [
            int(path.name)
            for pid in process_tree(self._root, process.pid)
            for path in (self._root / "proc" / str(pid) / "task").glob("[0-9]*")
        ]
        for event in counter_events(self._root):
            try:
                counter = self._attach(event, threads)
            except OSError as error:
                self._settings[event.channel] = (
                    f"not counted: {event.unsupported or error.strerror}; {event.description}"
                )
            else:
                self._settings[counter.channel] = event.description
                self._counters.append(counter)
        if not self._counters:
            raise OSError("the implementation had exited before anything could be counted")

    def read(self) -> list[Reading]:
        """Every count so far: sums over the threads."""
        readings: list[Reading] = []
        for counter in self._counters:
            before_ns = time.monotonic_ns()
            counts = [self._read_event(handle) for handle in counter.handles]
            t_ns = (before_ns + time.monotonic_ns()) // 2
            count = float(sum(each.count for each in counts))
            values = {f"{counter.channel}.count": (count, counter.event.unit)}
            if counter.event.is_hardware:
                values |= {
                    f"{counter.channel}.enabled": (sum(each.enabled_s for each in counts), "s"),
                    f"{counter.channel}.running": (sum(each.running_s for each in counts), "s"),
                }
            readings += readings_of(self.name, t_ns, values)
        return readings

    def settings(self) -> Mapping[str, str]:
        """By channel: counting unit, the kernel's name of the event, its type and config; or why it
        is not counted."""
        return self._settings

    def close(self) -> None:
        """Stop counting."""
        while self._counters:
            self._close(self._counters.pop().handles)

    def _attach(self, event: CounterEvent, threads: list[int]) -> _Counter:
        """Count the event in these threads: kernel and user mode, or user mode only where the
        kernel may not be counted."""
        if event.unsupported is not None:
            raise OSError(errno.ENOENT, event.unsupported)
        channel = event.channel
        try:
            handles = self._handles(event, threads, include_kernel=True)
        except OSError as error:
            if error.errno not in FORBIDDEN or event.only_in_kernel:
                raise
            channel += USER_ONLY
            handles = self._handles(event, threads, include_kernel=False)
        return _Counter(channel, event, handles)

    def _handles(
        self, event: CounterEvent, threads: list[int], include_kernel: bool
    ) -> tuple[int, ...]:
        """One handle per thread; all or none. A thread that has just exited is skipped."""
        opened: list[int] = []
        try:
            for thread in threads:
                with suppress(ProcessLookupError):
                    opened.append(self._open_event(event.code, thread, include_kernel))
        except OSError:
            self._close(opened)
            raise
        if not opened:
            raise ProcessLookupError(errno.ESRCH, "every thread has exited")
        return tuple(opened)

    def _close(self, handles: Sequence[int]) -> None:
        for handle in handles:
            os.close(handle)


METER = CountersMeter
