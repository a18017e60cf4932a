"""Readings by channel, used by every figure and rule.

A channel's readings are fetched when they are used: the tables of a long run hold more than a
checker may keep in memory (:class:`suite.bundle.readings_table.ReadingsMemory`). Keep no reference
to ``t_ns`` and ``values`` longer than a calculation needs them.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Times, Values, Window, median

Result = TypeVar("Result")

MAX_CHANNELS = 10_000
"""More than any machine's meters have. Each channel becomes an object, and a table may be
hostile."""
HEAD_ROWS = 10_000
"""Number of readings of ``Channels.head_ns``."""
COUNTERS_OF_32_BITS, RANGE_OF_32_BITS = ("links", "network"), 2.0**32
"""Some drivers of interfaces count in 32 bits: their counters begin again after 4 GiB."""


@dataclass(frozen=True, eq=False)
class Channel:
    """The readings of one channel in table order. Empty when the channel was not read.

    ``unit`` is the first reading's; ``units`` counts distinct ones (more than one: the table is
    malformed). ``first_row`` is the first reading's row number; ``count`` the number of readings.
    ``fetch`` returns times (CLOCK_MONOTONIC, ns) and values.
    """

    source: str
    name: str
    unit: str
    units: int
    first_row: int
    count: int
    fetch: Callable[[], tuple[Times, Values]]

    def __len__(self) -> int:
        return self.count

    @property
    def t_ns(self) -> Times:
        """Times of the readings, ns."""
        return self.fetch()[0]

    @property
    def values(self) -> Values:
        """Values of the readings."""
        return self.fetch()[1]

    @property
    def in_time(self) -> "Channel":
        """The readings sorted by time (stable)."""
        if self._is_in_time:
            return self
        return self.select(np.argsort(self.t_ns, kind="stable"))

    @cached_property
    def _is_in_time(self) -> bool:
        t_ns = self.t_ns
        return bool((t_ns[1:] >= t_ns[:-1]).all())

    @cached_property
    def period_s(self) -> float | None:
        """Median time between readings; None for fewer than two."""
        return median(np.diff(self.in_time.t_ns)) * SECONDS_PER_NS if len(self) > 1 else None

    @property
    def gaps_s(self) -> Values:
        """Times between the readings, sorted by time, s."""
        gaps_s: Values = np.diff(self.in_time.t_ns) * SECONDS_PER_NS
        return gaps_s

    @property
    def ends_ns(self) -> Window:
        """Times of the first and the last reading, of which there is one at least, ns."""
        t_ns = self.t_ns
        return int(t_ns.min()), int(t_ns.max())

    @property
    def increase(self) -> float:
        """How far the value rose from the first to the last of its readings in time."""
        values = self.in_time.values
        return float(values[-1] - values[0])

    @property
    def without_wraps(self) -> "Channel":
        """The readings, in the same order, where a network counter of 32 bits goes on after 2**32:
        all its readings are below that, and it fell by half of that or more."""
        values = self.values
        if self.source not in COUNTERS_OF_32_BITS or not (values < RANGE_OF_32_BITS).all():
            return self
        has_wrapped = values[1:] <= values[:-1] - RANGE_OF_32_BITS / 2
        t_ns, counts = self.t_ns, values.copy()
        counts[1:] += RANGE_OF_32_BITS * np.cumsum(has_wrapped)
        return replace(self, fetch=lambda: (t_ns, counts))

    @property
    def known(self) -> Values:
        """The values without NaN."""
        values = self.values
        missing = np.isnan(values)
        return values[~missing] if missing.any() else values

    @property
    def mean(self) -> float:
        """Mean of the known values; NaN without any."""
        known = self.known
        return float(known.mean()) if len(known) else math.nan

    @property
    def minimum(self) -> float:
        """Smallest known value; NaN without any."""
        known = self.known
        return float(known.min()) if len(known) else math.nan

    @property
    def maximum(self) -> float:
        """Largest known value; NaN without any."""
        known = self.known
        return float(known.max()) if len(known) else math.nan

    def during(self, window: Window) -> "Channel":
        """The readings from the window's start to its stop, both included."""
        t_ns = self.t_ns
        if self._is_in_time:
            first, last = t_ns.searchsorted(window[0]), t_ns.searchsorted(window[1], side="right")
            return self.select(slice(first, last))
        return self.select((t_ns >= window[0]) & (t_ns <= window[1]))

    def select(self, chosen: "npt.NDArray[Any] | slice") -> "Channel":
        """The readings that an index array, a mask or a slice chooses."""
        whole_ns, whole = self.fetch()
        t_ns, values = whole_ns[chosen], whole[chosen]
        return replace(self, count=len(t_ns), fetch=lambda: (t_ns, values))

    def copied(self) -> "Channel":
        """The same readings, in memory."""
        held = self.t_ns.copy(), self.values.copy()
        return replace(self, fetch=lambda: held)


@dataclass(frozen=True, eq=False)
class Channels:
    """A table of readings: its channels, sorted by source and name, with at least one reading each.

    ``head_ns`` are the times of the table's first readings, in table order.
    """

    channels: tuple[Channel, ...]
    head_ns: Times
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return sum(channel.count for channel in self.channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def get(self, source: str, name: str) -> Channel:
        """The channel of this name; an empty one if it was not read."""
        return self._by_name.get((source, name)) or Channel(source, name, "", 0, 0, 0, _nothing)

    def of_source(self, source: str) -> tuple[Channel, ...]:
        """Every channel of a source."""
        return self._by_source.get(source, ())

    @cached_property
    def span_ns(self) -> tuple[int, int] | None:
        """Times of the first and the last reading; None without any."""
        ends = [
            (int(t_ns.min()), int(t_ns.max()))
            for t_ns in (channel.t_ns for channel in self.channels)
        ]
        return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else None

    @property
    def span_s(self) -> float:
        """From the first reading to the last, s; 0 without any."""
        return (self.span_ns[1] - self.span_ns[0]) * SECONDS_PER_NS if self.span_ns else 0.0

    def on_clock(self, convert: Callable[[Times], Times]) -> "Channels":
        """The same readings with other times: ``convert`` is applied to the times of one channel
        after the other, whenever they are fetched."""

        def converted(channel: Channel) -> Channel:
            def fetch() -> tuple[Times, Values]:
                t_ns, values = channel.fetch()
                return convert(t_ns), values

            return replace(channel, fetch=fetch)

        return Channels(tuple(map(converted, self.channels)), convert(self.head_ns))

    def with_cached(self, names: Iterable[tuple[str, str]]) -> "Channels":
        """The same readings; those of the channels of these sources and names stay in memory as
        long as the result does."""
        wanted = set(names)
        return replace(
            self,
            channels=tuple(
                one.copied() if (one.source, one.name) in wanted else one for one in self.channels
            ),
        )

    def cached(self, what: Hashable, compute: Callable[[], Result]) -> Result:
        """What follows from these readings alone, computed the first time: several figures and
        rules ask for the same energy."""
        if what not in self._cache:
            self._cache[what] = compute()
        return cast("Result", self._cache[what])

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Channel]:
        return {(channel.source, channel.name): channel for channel in self.channels}

    @cached_property
    def _by_source(self) -> Mapping[str, tuple[Channel, ...]]:
        found: dict[str, list[Channel]] = {}
        for channel in self.channels:
            found.setdefault(channel.source, []).append(channel)
        return {source: tuple(channels) for source, channels in found.items()}


def _nothing() -> tuple[Times, Values]:
    return np.empty(0, np.int64), np.empty(0)


def no_channels() -> Channels:
    """A table without readings."""
    return Channels((), np.empty(0, np.int64))
