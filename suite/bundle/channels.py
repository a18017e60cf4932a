"""What the meters read, as one array of times and one of values per channel: made once of a table of readings, used by every figure and rule."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suite.catalog.power import PowerTotal, totals
from suite.metrics.window import Measured, Times, Values, growing, increase_of_growing, median

if TYPE_CHECKING:
    import pandas

from reference_impls.contract import SECONDS_PER_NS

Places = npt.NDArray[np.int64]
Window = tuple[int, int]
MOST_CHANNELS = 10_000
"""More names than any machine's meters have: each becomes an object, and a table may be hostile."""


@dataclass(frozen=True)
class Texts:
    """A column of text: each text once, in order, and for every row its place among them."""

    texts: tuple[str, ...]
    places: Places


@dataclass(frozen=True, eq=False)
class Channel:
    """The readings of one channel, in their table's order; ``rows`` are their places in it. Empty when the channel was not read.

    ``unit`` is the first reading's, ``units`` how many different ones there are (more than one: the table is odd).
    """

    source: str
    name: str
    unit: str
    units: int
    t_ns: Times
    values: Values
    rows: Places

    def __len__(self) -> int:
        return len(self.t_ns)

    @cached_property
    def in_time(self) -> "Channel":
        """The readings in the order of their times, those of one moment in the table's."""
        if (self.t_ns[1:] >= self.t_ns[:-1]).all():
            return self
        return self._chosen(np.argsort(self.t_ns, kind="stable"))

    @cached_property
    def period_s(self) -> float | None:
        """The median time between readings; None for fewer than two."""
        return median(np.diff(self.in_time.t_ns)) * SECONDS_PER_NS if len(self) > 1 else None

    @cached_property
    def known(self) -> Values:
        """The values that are numbers."""
        missing = np.isnan(self.values)
        return self.values[~missing] if missing.any() else self.values

    @property
    def mean(self) -> float:
        """The mean of the known values; no number when there is none."""
        return float(self.known.mean()) if len(self.known) else math.nan

    @property
    def least(self) -> float:
        """The least of the known values; no number when there is none."""
        return float(self.known.min()) if len(self.known) else math.nan

    @property
    def greatest(self) -> float:
        """The greatest of the known values; no number when there is none."""
        return float(self.known.max()) if len(self.known) else math.nan

    def during(self, window: Window) -> "Channel":
        """The readings from the window's start to its stop, both included."""
        return self._chosen((self.t_ns >= window[0]) & (self.t_ns <= window[1]))

    def increase(self, window: Window, fewest_periods: int, words: str) -> Measured:
        """How far this counter went in a window, none of it in one shorter than so many periods: at each end up to one is interpolated.

        ``words`` begin the reason for that: "the window is".
        """
        period_s = self.period_s or 0.0
        measured = increase_of_growing(self._growing.t_ns, self._growing.values, *window, period_s)
        if measured.value is not None and (window[1] - window[0]) * SECONDS_PER_NS < fewest_periods * period_s:
            return replace(measured, value=None, reason=f"{words} shorter than {fewest_periods} periods of {period_s:.3g} s")
        return measured

    @cached_property
    def _growing(self) -> "Channel":
        """The readings in the order of their times without those that a counter cannot have had."""
        return self.in_time._chosen(growing(self.in_time.t_ns, self.in_time.values))

    def _chosen(self, chosen: npt.NDArray[Any]) -> "Channel":
        return replace(self, t_ns=self.t_ns[chosen], values=self.values[chosen], rows=self.rows[chosen])


@dataclass(frozen=True, eq=False)
class Channels:
    """A table of readings: its columns in the table's order, and every channel by itself.

    ``units`` are the readings' units; ``owners`` says of each reading which of ``channels`` it is of. These are in the order of
    source and name, each with at least one reading. Nobody may change the arrays.
    """

    t_ns: Times
    values: Values
    units: Texts
    owners: Places
    channels: tuple[Channel, ...]

    def __len__(self) -> int:
        return len(self.t_ns)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def get(self, source: str, name: str) -> Channel:
        """The channel of this name, an empty one where it was not read."""
        return self._by_name.get((source, name)) or Channel(source, name, "", 0, self.t_ns[:0], self.values[:0], self.owners[:0])

    def of(self, source: str) -> tuple[Channel, ...]:
        """Every channel of a source."""
        return self._by_source.get(source, ())

    def owner(self, row: int) -> Channel:
        """The channel that a reading of the table is of."""
        return self.channels[int(self.owners[row])]

    @cached_property
    def power_total(self) -> PowerTotal | None:
        """The power total to report: the best instrument with the widest coverage among the channels that were read."""
        return next(iter(totals((channel.source, channel.name) for channel in self.channels)), None)

    def with_times(self, t_ns: Times) -> "Channels":
        """The same readings at other times, one each."""
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


def texts(distinct: Sequence[Any], places: npt.NDArray[Any]) -> Texts:
    """A column of text from its distinct texts in any order, and each row's place among them; raises ValueError for an empty cell.

    A text that is there twice is made one: a file that was made by hand may hold such.
    """
    if len(distinct) > MOST_CHANNELS:
        raise ValueError(f"more than {MOST_CHANNELS} different names")
    if len(places) and (None in distinct or places.min() < 0):
        raise ValueError("an empty cell where there must be a name")
    ordered = sorted(set(distinct) - {None})
    position = {text: place for place, text in enumerate(ordered)}
    moved = np.array([position[text] for text in distinct if text is not None], np.int64)
    return Texts(tuple(ordered), moved[places])


def by_channel(t_ns: Times, values: Values, sources: Texts, names: Texts, units: Texts) -> Channels:
    """The columns of a table of readings as channels; raises ValueError when there are too many."""
    keys = sources.places * len(names.texts) + names.places
    order = np.argsort(keys, kind="stable")
    found, starts, owners = np.unique(keys[order], return_index=True, return_inverse=True)
    if len(found) > MOST_CHANNELS:
        raise ValueError(f"more than {MOST_CHANNELS} channels")
    owner_of = np.empty(len(keys), np.int64)
    owner_of[order] = owners
    parts = [np.split(column[order], starts[1:]) for column in (t_ns, values, units.places, np.arange(len(keys)))]
    channels = []
    for key, times_ns, of_channel, unit, rows in zip(found.tolist(), *parts, strict=False):
        source, name = divmod(key, len(names.texts))
        different = 1 if (unit == unit[0]).all() else len(np.unique(unit))
        channels.append(Channel(sources.texts[source], names.texts[name], units.texts[unit[0]], different, times_ns, of_channel, rows))
    return Channels(t_ns, values, units, owner_of, tuple(channels))


def of_frame(frame: "pandas.DataFrame") -> Channels:
    """The channels of a frame with the columns of readings.parquet; raises ValueError as :func:`by_channel`."""
    import pandas

    def column(name: str) -> Texts:
        places, distinct = pandas.factorize(frame[name])
        return texts(list(distinct), places)

    return by_channel(
        frame["t_ns"].to_numpy(np.int64), frame["value"].to_numpy(np.float64), column("source"), column("channel"), column("unit")
    )  # fmt: skip


def no_channels() -> Channels:
    """Nothing was read."""
    none = Texts((), np.empty(0, np.int64))
    return by_channel(np.empty(0, np.int64), np.empty(0), none, none, none)
