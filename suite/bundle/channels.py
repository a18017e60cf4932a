"""Readings by channel: one array of times and one of values each, built once from a table of readings and used by every figure and rule."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Integers, Times, Values, Window, median

if TYPE_CHECKING:
    import pandas

MAX_CHANNELS = 10_000
"""More than any machine's meters have. Each channel becomes an object, and a table may be hostile."""


@dataclass(frozen=True)
class TextColumn:
    """A column of text: the distinct texts, sorted, and each row's index into them."""

    texts: tuple[str, ...]
    index: Integers


@dataclass(frozen=True, eq=False)
class Channel:
    """The readings of one channel in table order; ``rows`` are their row numbers. Empty when the channel was not read.

    ``unit`` is the first reading's; ``units`` counts distinct ones (more than one: the table is malformed).
    """

    source: str
    name: str
    unit: str
    units: int
    t_ns: Times
    values: Values
    rows: Integers

    def __len__(self) -> int:
        return len(self.t_ns)

    @cached_property
    def in_time(self) -> "Channel":
        """The readings sorted by time (stable)."""
        if (self.t_ns[1:] >= self.t_ns[:-1]).all():
            return self
        return self.select(np.argsort(self.t_ns, kind="stable"))

    @cached_property
    def period_s(self) -> float | None:
        """Median time between readings; None for fewer than two."""
        return median(np.diff(self.in_time.t_ns)) * SECONDS_PER_NS if len(self) > 1 else None

    @cached_property
    def known(self) -> Values:
        """The values without NaN."""
        missing = np.isnan(self.values)
        return self.values[~missing] if missing.any() else self.values

    @property
    def mean(self) -> float:
        """Mean of the known values; NaN without any."""
        return float(self.known.mean()) if len(self.known) else math.nan

    @property
    def minimum(self) -> float:
        """Smallest known value; NaN without any."""
        return float(self.known.min()) if len(self.known) else math.nan

    @property
    def maximum(self) -> float:
        """Largest known value; NaN without any."""
        return float(self.known.max()) if len(self.known) else math.nan

    def during(self, window: Window) -> "Channel":
        """The readings from the window's start to its stop, both included."""
        return self.select((self.t_ns >= window[0]) & (self.t_ns <= window[1]))

    def select(self, chosen: npt.NDArray[Any]) -> "Channel":
        """The readings that an index array or mask chooses."""
        return replace(self, t_ns=self.t_ns[chosen], values=self.values[chosen], rows=self.rows[chosen])


@dataclass(frozen=True, eq=False)
class Channels:
    """A table of readings: its columns in table order, and each channel by itself. Treat the arrays as immutable.

    ``units`` are the readings' units; ``owners`` gives each reading's index into ``channels``, which are sorted by source and name and have
    at least one reading each.
    """

    t_ns: Times
    values: Values
    units: TextColumn
    owners: Integers
    channels: tuple[Channel, ...]

    def __len__(self) -> int:
        return len(self.t_ns)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def get(self, source: str, name: str) -> Channel:
        """The channel of this name; an empty one if it was not read."""
        return self._by_name.get((source, name)) or Channel(source, name, "", 0, self.t_ns[:0], self.values[:0], self.owners[:0])

    def of(self, source: str) -> tuple[Channel, ...]:
        """Every channel of a source."""
        return self._by_source.get(source, ())

    def owner(self, row: int) -> Channel:
        """The channel of the reading in this row."""
        return self.channels[int(self.owners[row])]

    def with_times(self, t_ns: Times) -> "Channels":
        """The same readings with other times, one per reading."""
        if t_ns is self.t_ns:
            return self
        return replace(self, t_ns=t_ns, channels=tuple(replace(channel, t_ns=t_ns[channel.rows]) for channel in self.channels))

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Channel]:
        return {(channel.source, channel.name): channel for channel in self.channels}

    @cached_property
    def _by_source(self) -> Mapping[str, tuple[Channel, ...]]:
        found: dict[str, tuple[Channel, ...]] = {}
        for channel in self.channels:
            found[channel.source] = (*found.get(channel.source, ()), channel)
        return found


def text_column(distinct: Sequence[Any], index: npt.NDArray[Any]) -> TextColumn:
    """A column of text from its distinct texts in any order and each row's index into them; raises ValueError for an empty cell.

    Duplicates among ``distinct`` are merged: a file made by hand may contain some.
    """
    if len(distinct) > MAX_CHANNELS:
        raise ValueError(f"more than {MAX_CHANNELS} different names")
    if len(index) and (None in distinct or index.min() < 0):
        raise ValueError("an empty cell where there must be a name")
    ordered = sorted(set(distinct) - {None})
    position = {text: place for place, text in enumerate(ordered)}
    moved = np.array([position[text] for text in distinct if text is not None], np.int64)
    return TextColumn(tuple(ordered), moved[index])


def by_channel(t_ns: Times, values: Values, sources: TextColumn, names: TextColumn, units: TextColumn) -> Channels:
    """The columns of a table of readings as channels; raises ValueError when there are too many."""
    keys = sources.index * len(names.texts) + names.index
    order = np.argsort(keys, kind="stable")
    found, starts, owners = np.unique(keys[order], return_index=True, return_inverse=True)
    if len(found) > MAX_CHANNELS:
        raise ValueError(f"more than {MAX_CHANNELS} channels")
    owner_of = np.empty(len(keys), np.int64)
    owner_of[order] = owners
    parts = [np.split(column[order], starts[1:]) for column in (t_ns, values, units.index, np.arange(len(keys)))]
    channels = []
    for key, times_ns, of_channel, unit, rows in zip(found.tolist(), *parts, strict=False):
        source, name = divmod(key, len(names.texts))
        different = 1 if (unit == unit[0]).all() else len(np.unique(unit))
        channels.append(Channel(sources.texts[source], names.texts[name], units.texts[unit[0]], different, times_ns, of_channel, rows))
    return Channels(t_ns, values, units, owner_of, tuple(channels))


def channels_of_frame(frame: "pandas.DataFrame") -> Channels:
    """The channels of a frame with the columns of readings.parquet; raises ValueError as :func:`by_channel`."""
    import pandas  # start-up: only for readings that are not yet Parquet

    def column(name: str) -> TextColumn:
        index, distinct = pandas.factorize(frame[name])
        return text_column(list(distinct), index)

    return by_channel(
        frame["t_ns"].to_numpy(np.int64), frame["value"].to_numpy(np.float64), column("source"), column("channel"), column("unit")
    )  # fmt: skip


def no_channels() -> Channels:
    """A table without readings."""
    none = TextColumn((), np.empty(0, np.int64))
    return by_channel(np.empty(0, np.int64), np.empty(0), none, none, none)
