"""Tables of readings: their channels, whose readings are decoded group by group, so that a table of
any length needs the same memory."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow

from suite.bundle.arrays import Integers, Times, Values
from suite.bundle.channels import HEAD_ROWS, MAX_CHANNELS, Channel, Channels
from suite.bundle.limits import RowLimit
from suite.bundle.raw_tables import read_batches, whole_lines_bytes
from suite.bundle.schemas import READING_TYPES, UNREADABLE, unreadable_table
from suite.bundle.tables import numeric_column, table_batches

if TYPE_CHECKING:
    import pandas

HELD_READINGS = 2_000_000
"""Readings in memory at one time, 16 bytes each. A calculation may still use those of the group
before."""
MAX_CHANNEL_READINGS = 4_000_000
"""Of one channel, whose readings are held together: five a second for nine days."""
_BITS = 14  # MAX_CHANNELS < 2**14
_MASK = (1 << _BITS) - 1

TEXTS = tuple(name for name, kind in READING_TYPES.items() if kind == "string")
Batches = Callable[[], Iterable[pyarrow.RecordBatch]]


@dataclass(frozen=True)
class _Columns:
    """A batch of a table: ``keys`` are the numbers of each reading's source, channel and unit,
    ``_BITS`` bits each."""

    t_ns: Times
    values: Values
    keys: Integers


class ReadingsMemory:
    """The readings that are in memory, of all tables that share it: HELD_READINGS at most, or one
    channel's. The oldest are given up first."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int], tuple[Times, Values]] = OrderedDict()

    def get(
        self, key: tuple[int, int], size: int, load: Callable[[], tuple[Times, Values]]
    ) -> tuple[Times, Values]:
        """The readings of a group of channels, from ``load`` unless they are in memory."""
        if (held := self._held.get(key)) is not None:
            self._held.move_to_end(key)
            return held
        while (
            self._held and size + sum(len(t_ns) for t_ns, _ in self._held.values()) > HELD_READINGS
        ):
            self._held.popitem(last=False)
        self._held[key] = load()
        return self._held[key]


@dataclass(frozen=True, eq=False)
class _Table:
    """A table whose channels are known and numbered. ``keys`` (of source and channel) are sorted,
    ``numbers`` are their channels' numbers, ``starts`` is the place of each channel's first reading
    in a sequence of all channels' readings, ``groups`` the first channel of every group.
    """

    batches: Callable[[], Iterable[_Columns]]
    memory: ReadingsMemory
    keys: Integers
    numbers: Integers
    starts: Integers
    groups: list[int] = field(init=False)
    _places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _groups(np.diff(self.starts).tolist()))
        # a rule fetches a channel hundreds of times: whole numbers are fast
        object.__setattr__(self, "_places", self.starts.tolist())

    def fetch(self, channel: int) -> tuple[Times, Values]:
        """The readings of a channel, in table order."""
        group = bisect_right(self.groups, channel) - 1
        first, last, places = self.groups[group], self.groups[group + 1], self._places
        t_ns, values = self.memory.get(
            (id(self), group), places[last] - places[first], lambda: self._load(first, last)
        )
        chosen = slice(places[channel] - places[first], places[channel + 1] - places[first])
        return t_ns[chosen], values[chosen]

    def _load(self, first: int, last: int) -> tuple[Times, Values]:
        """The readings of the channels from ``first`` to before ``last``, channel after channel."""
        base = self.starts[first]
        t_ns, values = (np.empty(self.starts[last] - base, kind) for kind in (np.int64, np.float64))
        filled = self.starts[first:last] - base
        for batch in self.batches():
            channels = self.numbers[np.searchsorted(self.keys, batch.keys >> _BITS)]
            chosen = np.flatnonzero((channels >= first) & (channels < last))
            # MAX_CHANNELS < 2**15, and NumPy sorts 16 bits by counting
            of_batch = (channels[chosen] - first).astype(np.int16)
            order = np.argsort(of_batch, kind="stable")
            ordered, counts = of_batch[order], np.bincount(of_batch, minlength=last - first)
            places = filled[ordered] + np.arange(len(order)) - (np.cumsum(counts) - counts)[ordered]
            t_ns[places], values[places] = batch.t_ns[chosen[order]], batch.values[chosen[order]]
            filled = filled + counts
        t_ns.flags.writeable = values.flags.writeable = False
        return t_ns, values


def _groups(counts: list[int]) -> list[int]:
    """First channel of every group of at most HELD_READINGS (or of one channel), and the number of
    channels."""
    groups, size = [0], 0
    for channel, count in enumerate(counts):
        if size and size + count > HELD_READINGS:
            groups.append(channel)
            size = 0
        size += count
    return [*groups, len(counts)]


@dataclass
class _Found:
    """What a first reading of a table finds: its texts (sources, channels, units) by number, and
    count and first row of every key."""

    texts: tuple[dict[str, int], ...] = field(default_factory=lambda: ({}, {}, {}))
    counts: dict[int, int] = field(default_factory=dict)
    first_rows: dict[int, int] = field(default_factory=dict)
    heads: list[Times] = field(default_factory=list)
    rows: int = 0

    def add(self, batch: _Columns) -> None:
        """Count a batch's rows; raises ValueError for too many channels."""
        keys, places, counts = np.unique(batch.keys, return_index=True, return_counts=True)
        for key, place, count in zip(keys.tolist(), places.tolist(), counts.tolist(), strict=True):
            self.first_rows.setdefault(key, self.rows + place)
            self.counts[key] = self.counts.get(key, 0) + count
        if len(self.counts) > MAX_CHANNELS:
            raise ValueError(f"more than {MAX_CHANNELS} channels")
        if self.rows < HEAD_ROWS:
            self.heads.append(batch.t_ns[: HEAD_ROWS - self.rows].copy())
        self.rows += len(batch.keys)


def read_channels(path: Path, limit: RowLimit, memory: ReadingsMemory) -> Channels:
    """``readings.parquet``; raises FileError when it is not a table of readings, has more rows than
    ``limit``, or as :func:`channels_of_batches`.
    """
    return channels_of_batches(
        path, lambda: table_batches(path, READING_TYPES, limit, TEXTS), memory
    )


def read_raw_channels(path: Path, memory: ReadingsMemory) -> Channels:
    """Readings that the recorder's CSV file has now; raises FileError as :func:`read_channels`."""
    end = whole_lines_bytes(path)
    return channels_of_batches(path, lambda: read_batches(path, READING_TYPES, end=end), memory)


def channels_of_frame(frame: "pandas.DataFrame") -> Channels:
    """The channels of a frame with the columns of readings.parquet, all in memory; raises FileError
    as :func:`channels_of_batches`."""
    table = pyarrow.Table.from_pandas(frame[list(READING_TYPES)], preserve_index=False)
    return channels_of_batches(Path("frame"), table.combine_chunks().to_batches, ReadingsMemory())


def channels_of_batches(path: Path, batches: Batches, memory: ReadingsMemory) -> Channels:
    """The channels of a table that ``batches`` reads from its beginning, as often as it is called.

    Raises FileError for empty cells other than values, and for too many channels or readings of one
    channel.
    """
    try:
        found, kept = _Found(), []
        for batch in map(partial(_columns, texts=found.texts), batches()):
            kept = [] if found.rows else [batch]
            found.add(batch)
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error
    decoded = partial(iter, kept) if kept else partial(_decoded, path, batches, found.texts)
    return Channels(
        _channels(path, found, decoded, memory),
        np.concatenate(found.heads) if found.heads else np.empty(0, np.int64),
    )


def _channels(
    path: Path, table: _Found, batches: Callable[[], Iterable[_Columns]], memory: ReadingsMemory
) -> tuple[Channel, ...]:
    """The channels that a first reading of the table found, sorted by source and name."""
    sources, names, units = (list(texts) for texts in table.texts)
    of_channel: dict[int, list[int]] = {}
    for key in table.counts:
        of_channel.setdefault(key >> _BITS, []).append(key)
    named = sorted((sources[key >> _BITS], names[key & _MASK], key) for key in of_channel)
    sizes = [sum(table.counts[each] for each in of_channel[key]) for _, _, key in named]
    keys = np.array([key for _, _, key in named], np.int64)
    numbers_of = np.argsort(keys)
    rows = _Table(
        batches,
        memory,
        keys[numbers_of],
        numbers_of,
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
    )
    channels = []
    for number, ((source, name, key), size) in enumerate(zip(named, sizes, strict=True)):
        if size > MAX_CHANNEL_READINGS:
            raise unreadable_table(
                path,
                ValueError(
                    f"{size} readings of {source[:50]} {name[:50]}; the limit is"
                    f" {MAX_CHANNEL_READINGS} per channel"
                ),
            )
        first = min(of_channel[key], key=table.first_rows.__getitem__)
        unit, row = units[first & _MASK], table.first_rows[first]
        readings = partial(rows.fetch, number)
        channels.append(Channel(source, name, unit, len(of_channel[key]), row, size, readings))
    return tuple(channels)


def _decoded(path: Path, batches: Batches, texts: tuple[dict[str, int], ...]) -> Iterator[_Columns]:
    try:
        for batch in batches():
            yield _columns(batch, texts)
    except UNREADABLE as error:
        raise unreadable_table(path, error) from error


def _columns(batch: pyarrow.RecordBatch, texts: tuple[dict[str, int], ...]) -> _Columns:
    """A batch's columns; texts that are new are numbered in ``texts`` (of sources, channels and
    units)."""
    keys = np.zeros(len(batch), np.int64)
    for name, known in zip(TEXTS, texts, strict=True):
        keys = keys << _BITS | _numbered(batch.column(name), known)
    t_ns, values = (
        numeric_column(batch.column(name), READING_TYPES[name]) for name in ("t_ns", "value")
    )
    return _Columns(t_ns, values, keys)


def _numbered(column: pyarrow.Array, known: dict[str, int]) -> npt.NDArray[np.int64]:
    """Each row's text by its number in ``known``; raises ValueError for an empty cell and for too
    many texts."""
    if not pyarrow.types.is_dictionary(column.type):
        column = column.cast(pyarrow.string()).dictionary_encode()
    if column.null_count:
        raise ValueError("an empty cell where there must be a name")
    codes = numeric_column(column.indices, "int64")
    used = np.flatnonzero(np.bincount(codes))
    if len(used) > MAX_CHANNELS:
        raise ValueError(f"more than {MAX_CHANNELS} different names")
    # Arrow's own selection and casts import pyarrow.compute
    texts = [column.dictionary[int(code)].as_py() for code in used]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a cell that is not text where there must be a name")
    numbers_of = np.zeros(int(used[-1]) + 1 if len(used) else 0, np.int64)
    numbers_of[used] = [known.setdefault(text, len(known)) for text in texts]
    if len(known) > MAX_CHANNELS:
        raise ValueError(f"more than {MAX_CHANNELS} different names")
    return numbers_of.take(codes)
