"""perf_event_open(2) through ctypes: counts of a task and of every task that it starts from then
on."""

import ctypes
import os
import platform
import struct
from dataclasses import dataclass

from reference_impls.contract import SECONDS_PER_NS

SYSCALL_NUMBERS = {"x86_64": 298, "aarch64": 241, "armv7l": 364, "armv6l": 364, "i686": 336}
ATTRIBUTE_BYTES = 64  # the structure's first published size, which every kernel takes
READ_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
CLOSE_ON_EXEC = 8


@dataclass(frozen=True)
class EventCode:
    """The kernel's code of an event: ``kind`` is a PERF_TYPE or a PMU's type, ``config`` the event
    within it."""

    kind: int
    config: int


@dataclass(frozen=True)
class Count:
    """An event's count, the time for which it was enabled, and the time for which it was counted.

    When more events are enabled than the processor has counters, the kernel multiplexes them, and
    ``running_s`` is less than ``enabled_s``.
    """

    count: int
    enabled_s: float
    running_s: float


def is_known_machine() -> bool:
    """Whether the system call's number is known for this machine."""
    return platform.machine() in SYSCALL_NUMBERS


def open_event(code: EventCode, task: int, include_kernel: bool) -> int:
    """Start counting in a thread (0: the calling one) and in all threads and processes that it
    starts from now on.

    Returns a handle for :func:`read_event`; close it with os.close. Raises OSError with the
    kernel's errno: ENOENT, ENODEV and EOPNOTSUPP for an event that does not exist here, EACCES and
    EPERM where /proc/sys/kernel/perf_event_paranoid forbids it, ESRCH for a thread that has exited.
    """
    flags = INHERIT | EXCLUDE_HYPERVISOR | (0 if include_kernel else EXCLUDE_KERNEL)
    attribute = struct.pack(
        "=IIQQQQQIIQ", code.kind, ATTRIBUTE_BYTES, code.config, 0, 0, READ_TIMES, flags, 0, 0, 0
    )
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.syscall(
        ctypes.c_long(SYSCALL_NUMBERS[platform.machine()]),
        ctypes.c_char_p(attribute),
        ctypes.c_int(task),
        ctypes.c_int(-1),  # on any processor
        # in no group: inherited events cannot be read as a group before Linux 6.13
        ctypes.c_int(-1),
        ctypes.c_ulong(CLOSE_ON_EXEC),
    )
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(handle)


def read_event(handle: int) -> Count:
    """The count so far, including threads and processes that have exited."""
    count, enabled_ns, running_ns = struct.unpack("=QQQ", os.read(handle, 24))
    return Count(count, enabled_ns * SECONDS_PER_NS, running_ns * SECONDS_PER_NS)
