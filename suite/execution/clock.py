"""Time as the recorder sees it: the kernel's clocks, or a scripted clock in a test."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """What the recorder asks of time."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""

    def thread_cpu_s(self) -> float:
        """CPU time that the calling thread has used."""

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait for the event, at most so long; True when it is set."""


class SystemClock:
    """The kernel's clocks."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def thread_cpu_s(self) -> float:
        """CPU time that the calling thread has used."""
        return time.thread_time()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait for the event, at most so long; True when it is set."""
        return event.wait(timeout_s)
