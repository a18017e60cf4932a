"""The due times of several meters, without drift."""

from collections.abc import Mapping

from reference_impls.contract import NS_PER_S


class Schedule:
    """Each name is due at the start and at whole multiples of its period after it: lateness does not accumulate.

    A name that was late skips the times it missed, so that there is no burst of readings.
    """

    def __init__(self, periods_s: Mapping[str, float], start_ns: int) -> None:
        self._start_ns = start_ns
        self._period_ns = {name: round(period_s * NS_PER_S) for name, period_s in periods_s.items()}
        self._due_ns = dict.fromkeys(periods_s, start_ns)

    def next(self) -> tuple[str, int]:
        """The name that is due first, and its due time."""
        name = min(self._due_ns, key=self._due_ns.__getitem__)
        return name, self._due_ns[name]

    def taken(self, name: str, now_ns: int) -> None:
        """The name was read, until ``now_ns``: it is due again at its next multiple."""
        period_ns = self._period_ns[name]
        turns = max((self._due_ns[name] - self._start_ns) // period_ns + 1, -(-(now_ns - self._start_ns) // period_ns))
        self._due_ns[name] = self._start_ns + turns * period_ns
