"""A core's clock, measured: a chain of additions, each of which waits for its predecessor, takes
one cycle per addition.

It needs no counter and no driver, and so works in virtual machines, whose kernels offer neither
cpufreq nor cycles. An addition of a register to itself has a latency of one cycle on x86-64
processors (Agner Fog, Instruction tables), and none of them can leave it out.
"""

import ctypes
import mmap
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reference_impls.contract import NS_PER_S

MACHINES = ("x86_64", "AMD64")
ADDITIONS = 64
"""Additions of one turn of the loop; its count and jump run beside them."""

SHORT, LONG = 100, 1600
"""Turns of the two chains: the difference of their times is without the call. The long one takes 25
microseconds at 4 GHz."""

TRIES = 5
"""Of each chain the fastest counts: an interrupt makes the others longer. The two chains take
turns, so that a longer disturbance slows both."""

SHORT_SHARE = 1 / 8
"""The short chain's time is at most this part of the long one's, of whose turns it has a sixteenth;
a call takes the rest. Where each short chain was disturbed it takes longer, and the difference
would give too high a clock: with this limit at most 1.08 times the true one."""

Chain = Callable[[int], object]


class CoreClock:
    """Measures the clock of the core that it is called on. Raises OSError where the system allows
    no executable memory.

    The memory lives as long as the object: a thread that measures holds it.
    """

    def __init__(self) -> None:
        code = _machine_code()
        self._memory = mmap.mmap(
            -1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
        self._memory.write(code)
        self._start = ctypes.c_char.from_buffer(self._memory)
        self._chain: Chain = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(ctypes.addressof(self._start))

    def measure_hz(self) -> float | None:
        """The clock during the last few hundred microseconds, Hz; None where interruptions left no
        chain undisturbed."""
        return clock_hz(self._chain)


def clock_hz(chain: Chain, now_ns: Callable[[], int] = time.monotonic_ns) -> float | None:
    """Cycles per second from the times of ``chain(turns)``; None where every long or every short
    one was disturbed."""
    times_ns = [
        (_time_ns(chain, SHORT, now_ns), _time_ns(chain, LONG, now_ns)) for _ in range(TRIES)
    ]
    short_ns, long_ns = (min(column) for column in zip(*times_ns, strict=True))
    return (
        (LONG - SHORT) * ADDITIONS * NS_PER_S / (long_ns - short_ns)
        if short_ns <= SHORT_SHARE * long_ns
        else None
    )


def _time_ns(chain: Chain, turns: int, now_ns: Callable[[], int]) -> int:
    start_ns = now_ns()
    chain(turns)
    return now_ns() - start_ns


def can_measure() -> bool:
    """Whether this processor's machine code is known here."""
    return platform.machine() in MACHINES


def clocks_hz(clock: CoreClock) -> Iterator[tuple[int, float]]:
    """Each core that this process may use, with its clock; without those that could not be
    measured. The calling thread goes from core to core."""
    for core in sorted(os.sched_getaffinity(os.getpid())):
        with on_core(core):
            measured_hz = clock.measure_hz()
        if measured_hz is not None:
            yield core, measured_hz


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Run the calling thread on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _machine_code() -> bytes:
    """``void chain(uint64_t turns)`` for System V's x86-64: additions of a register to itself,
    ADDITIONS a turn."""
    body = b"\x48\x01\xc0" * ADDITIONS + b"\x48\xff\xcf"  # add rax, rax; …; dec rdi
    # jnz to the first addition
    jump = b"\x0f\x85" + (-(len(body) + 6)).to_bytes(4, "little", signed=True)
    return b"\x31\xc0" + body + jump + b"\xc3"  # xor eax, eax; …; ret
