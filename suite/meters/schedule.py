"""The due times of several meters, without drift: on a clock, or at a random moment of each
period."""

import random
from collections.abc import Callable, Collection, Mapping

from reference_impls.contract import NS_PER_S


class ReadingSchedule:
    """Each name has one turn per period; period k begins k periods after the start, so that
    lateness does not accumulate.

    A name on the clock is due as its periods begin, at the start first. A name in ``at_random`` is
    due at a random moment of each period, evenly distributed: a load that repeats as regularly as a
    clock would be read in the same phase every time. A name that was late skips the turns it
    missed, so that there is no burst of readings. ``draw`` returns random numbers in [0, 1).
    """

    def __init__(
        self,
        periods_s: Mapping[str, float],
        start_ns: int,
        at_random: Collection[str] = (),
        draw: Callable[[], float] | None = None,
    ) -> None:
        self._start_ns = start_ns
        self._period_ns = {name: round(period_s * NS_PER_S) for name, period_s in periods_s.items()}
        self._at_random = frozenset(at_random)
        # seeded by the system: nobody can fit a load to the moments
        self._draw = draw or random.Random().random
        self._turn = dict.fromkeys(periods_s, 0)
        self._due_ns = {name: self._moment_ns(name) for name in periods_s}

    def next_due(self) -> tuple[str, int]:
        """The name that is due first, and its due time."""
        name = min(self._due_ns, key=self._due_ns.__getitem__)
        return name, self._due_ns[name]

    def mark_read(self, name: str, now_ns: int) -> None:
        """The name was read, until ``now_ns``: it is due again in its next period that has not gone
        by."""
        elapsed, period_ns = now_ns - self._start_ns, self._period_ns[name]
        whole = elapsed // period_ns if name in self._at_random else -(-elapsed // period_ns)
        self._turn[name] = max(self._turn[name] + 1, whole)
        self._due_ns[name] = self._moment_ns(name)

    def _moment_ns(self, name: str) -> int:
        share = self._draw() if name in self._at_random else 0.0
        return self._start_ns + round((self._turn[name] + share) * self._period_ns[name])
