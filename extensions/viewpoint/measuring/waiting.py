"""Says that a process which gets idle CPU time only is waiting for the machine: it may take hours,
and prints nothing itself."""

import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from suite.experiments.machine_load import LoadWatch

WINDOW_S, REPEAT_S = 10.0, 60.0
WAITS_BELOW = 0.1
"""A process that wants to compute and gets less than this share of a core is waiting."""


def cpu_time_s(pid: int) -> float | None:
    """CPU time of the process so far; None once it has ended."""
    with suppress(psutil.NoSuchProcess):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return None


class WaitReporter:
    """Call :meth:`tick` often: it reports when the process ``what`` had nearly no CPU time for ten
    seconds, and once a minute from then on."""

    def __init__(
        self,
        what: str,
        cpu_s: Callable[[], float | None],
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[], LoadWatch] = LoadWatch,
    ) -> None:
        self._what, self._cpu_s, self._report, self._clock, self._watch = (
            what,
            cpu_s,
            report,
            clock,
            watch,
        )
        self._said_s = -REPEAT_S + clock()
        self._begin()

    def _begin(self) -> None:
        self._began_s, self._had_s, self._load = self._clock(), self._cpu_s(), self._watch()

    def tick(self) -> None:
        """Look at the window that has ended, if one has."""
        took_s = self._clock() - self._began_s
        if took_s < WINDOW_S:
            return
        has_s = self._cpu_s()
        if (
            self._had_s is not None
            and has_s is not None
            and has_s - self._had_s < WAITS_BELOW * took_s
            and self._clock() - self._said_s >= REPEAT_S
        ):
            self._said_s = self._clock()
            self._report(
                f"{self._what} waits until the machine is idle: in the last {took_s:.0f} s,"
                f" {self._what} had {has_s - self._had_s:.1f} s of CPU time, and other programs"
                f" used {self._load.foreign_cores():.1f} cores"
            )
        self._begin()
