"""The recorder's clock: the kernel's clocks, or a scripted clock in a test."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """The clock functions that the recorder needs."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC, ns."""

    def thread_cpu_s(self) -> float:
        """CPU time of the calling thread, s."""

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait for the event, at most ``timeout_s``; True when it is set."""


class SystemClock:
    """The kernel's clocks."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC, ns."""
        return time.monotonic_ns()

    def thread_cpu_s(self) -> float:
        """CPU time of the calling thread, s."""
        return time.thread_time()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait for the event, at most ``timeout_s``; True when it is set."""
        return event.wait(timeout_s)
