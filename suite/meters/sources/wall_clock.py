"""Wall clock: whether it was set during the run. Edge boards have no battery-backed clock and are
set once they have a network."""

import time

from suite.meters.meter import MachineMeter, MeteredProcess, Reading


class WallClockMeter(MachineMeter):
    """Channel ``drift`` (s): wall clock less monotonic clock, since the run began.

    The kernel slews both together, so the drift is 0 until the clock is set. Source:
    clock_gettime(2).
    """

    name = "wall-clock"
    period_s = 1.0
    description = "jumps of the wall clock"

    def open(self, process: MeteredProcess) -> None:
        """Store the present offset between the clocks."""
        self._offset_ns = _offset_ns()

    def read(self) -> list[Reading]:
        """The drift now."""
        drift_s = (_offset_ns() - self._offset_ns) * 1e-9
        return [Reading(time.monotonic_ns(), self.name, "drift", drift_s, "s")]


def _offset_ns() -> int:
    """Wall clock less monotonic clock, with the wall clock read between two readings of the
    other."""
    before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    return wall_ns - (before_ns + after_ns) // 2


METER = WallClockMeter
