"""Training states on storage: one ``.npz`` archive per epoch, without pickles. Standard library
only.

Every member is an uncompressed ``.npy``: the arrays of reference_impls.training_state under their
names, and ``progress``, int64 (2,): the finished epochs and steps. Of several ranks, whose
parameters and velocities are equal, it has rank 0's state and every other rank's statistics, as
``rank<r>/statistic/<name>``. Arrays of float16, which make a checkpoint small, read as float32,
without rounding.
"""

import array
import os
import re
import struct
import sys
import zipfile
from collections import abc
from typing import Any, Dict, Iterator, NamedTuple, Tuple, cast

from reference_impls.communication import World
from reference_impls.contract import ContractError
from reference_impls.training_state import KINDS, State

PROGRESS = "progress"
MAX_STATE_BYTES, MAX_ARRAY_BYTES, MAX_ARRAYS = 2**32, 2**28, 10000
SYNC_BYTES = 2**23
"""So much may lie in the page cache before it is written and dropped: what is measured are the data
set's pages."""

PART_BYTES = 2**16
"""Bytes of a float16 array that are widened at once."""

_MAGIC, _ENDING = b"\x93NUMPY\x01\x00", ".npy"
_ORDER = "<" if sys.byteorder == "little" else ">"
_TYPES = {"e": "f2", "f": "f4", "d": "f8", "q": "i8"}
_HALF = "e"  # which memoryview cannot read before Python 3.12
_FORMATS = {name: letter for letter, name in _TYPES.items()}
_HEADER = re.compile(
    r"\{'descr': '([<>])([a-z][0-9])', 'fortran_order': False, 'shape': \(((?:[0-9]{1,9},"
    r" ?)*(?:[0-9]{1,9})?)\), \} *\n"
)


class Progress(NamedTuple):
    """How much was trained when the state was taken."""

    epoch: int
    step: int


def state_name(epoch: int) -> str:
    """File name of an epoch's state."""
    return "epoch_{}.npz".format(epoch)


def write_state(path: str, state: State, progress: Progress) -> None:
    """Write a state to a new file that is whole on the storage medium or not there, and leave
    nothing of it in the page cache."""
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, "." + name)
    arrays = dict(state, **{PROGRESS: array.array("q", progress)})
    with open(unfinished, "wb") as stream:
        unsynced = 0
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for key in sorted(arrays):
                view = memoryview(arrays[key])
                with archive.open(zipfile.ZipInfo(key + _ENDING), "w", force_zip64=True) as member:
                    member.write(_header(view))
                    member.write(view.cast("B"))
                unsynced += view.nbytes
                if unsynced >= SYNC_BYTES:
                    _sync_and_drop(stream)
                    unsynced = 0
        _sync_and_drop(stream)
    os.rename(unfinished, path)
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_and_drop(stream) -> None:  # type: ignore[no-untyped-def]  # IO[bytes]
    stream.flush()
    os.fsync(stream.fileno())
    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _header(view: memoryview) -> bytes:
    """The beginning of an ``.npy`` file (NumPy's format version 1.0), a multiple of 64 bytes."""
    if view.format not in _TYPES:
        raise ContractError(
            "a training state has an array of format {!r}; only floats can be kept.".format(
                view.format
            )
        )
    shape = ", ".join(map(str, view.shape or ())) + ("," if view.ndim == 1 else "")
    text = "{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}".format(
        _ORDER, _TYPES[view.format], shape
    )
    padded = text + " " * (-(len(_MAGIC) + 2 + len(text) + 1) % 64) + "\n"
    return _MAGIC + struct.pack("<H", len(padded)) + padded.encode("ascii")


class StateFile(abc.Mapping):  # type: ignore[type-arg]  # of str to memoryview
    """A state in a file that anybody may have written: arrays by name, each read when it is looked
    up.

    ``progress`` is how much was trained. Raises ContractError for a file that is not a state.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            if os.path.getsize(path) > MAX_STATE_BYTES:
                raise ContractError(
                    "{} is larger than {} bytes; it is not a training state.".format(
                        path, MAX_STATE_BYTES
                    )
                )
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise ContractError(
                "{} cannot be read as a training state: {}.".format(path, error)
            ) from error
        members = self._archive.infolist()
        self._members = {each.filename[: -len(_ENDING)]: each for each in members}  # type: Dict[str, zipfile.ZipInfo]
        is_plain = all(
            each.filename.endswith(_ENDING)
            and each.compress_type == zipfile.ZIP_STORED
            and each.file_size == each.compress_size <= MAX_ARRAY_BYTES
            for each in members
        )
        if not is_plain or len(self._members) != len(members) or len(members) > MAX_ARRAYS:
            raise ContractError(
                "{} is not a training state: its members must be uncompressed arrays, each name"
                " once.".format(path)
            )
        if PROGRESS not in self._members:
            raise ContractError("{} is not a training state: it has no {}.".format(path, PROGRESS))
        progress = self._read(PROGRESS)
        if progress.format != "q" or progress.shape != (2,) or min(progress.tolist()) < 0:
            raise ContractError(
                "{} is not a training state: {} must be two whole numbers.".format(path, PROGRESS)
            )
        self.progress = Progress(*progress.tolist())

    def of_rank(self, rank: int) -> State:
        """The state of a rank: the shared parameters and velocities, and its own statistics. Its
        arrays are read when they are looked up."""
        prefix = "rank{}/".format(rank) if rank else ""
        stored = {
            name: prefix + name if name.startswith("statistic/") else name
            for name in self
            if name.partition("/")[0] in KINDS
        }
        missing = [name for name in stored.values() if name not in self._members]
        if missing:
            raise ContractError("{} has no {}.".format(self._path, missing[0]))
        return _Renamed(self, stored)

    def __getitem__(self, name: str) -> memoryview:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._members if name != PROGRESS)

    def __len__(self) -> int:
        return len(self._members) - 1

    def _read(self, name: str) -> memoryview:
        try:
            content = self._archive.read(self._members[name])
        except (OSError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
            raise ContractError(
                "{}: {} cannot be read: {}.".format(self._path, name, error)
            ) from error
        found = (
            _HEADER.match(content[len(_MAGIC) + 2 :][:1024].decode("latin-1"))
            if content.startswith(_MAGIC)
            else None
        )
        if found is None or found.group(1) != _ORDER or found.group(2) not in _FORMATS:
            raise ContractError(
                "{}: {} is not an array of floats in this machine's byte order.".format(
                    self._path, name
                )
            )
        shape = [int(axis) for axis in found.group(3).replace(" ", "").split(",") if axis]
        letter = _FORMATS[found.group(2)]
        body: Any = memoryview(content)[len(_MAGIC) + 2 + found.end() :]
        if letter == _HALF and 2 * len(body) > MAX_ARRAY_BYTES:
            raise ContractError(
                "{}: {} takes more than {} bytes as float32.".format(
                    self._path, name, MAX_ARRAY_BYTES
                )
            )
        try:
            if letter == _HALF:
                letter, body = "f", memoryview(_widened(body)).cast("B")
            return cast(memoryview, body.cast(letter, shape))
        except (TypeError, ValueError, struct.error) as error:
            raise ContractError(
                "{}: the size of {} does not match its shape.".format(self._path, name)
            ) from error


def _widened(halves: memoryview) -> "array.array[float]":
    """In parts: Python's own floats take twelve times as much memory."""
    widened = array.array("f")
    for begin in range(0, len(halves), PART_BYTES):
        part = halves[begin : begin + PART_BYTES]
        widened.extend(struct.unpack("={}e".format(len(part) // 2), part))
    return widened


def broadcast_state(world: World, path: str) -> Tuple[State, Progress]:
    """Rank 0's state in the file that it can read, and its progress, at every rank; sent array by
    array.

    A file that is no state is rank 0's ContractError, which ends all ranks.
    """
    file = StateFile(path) if world.rank == 0 else None
    progress = Progress(*world.bcast(None if file is None else tuple(file.progress)))
    if file is not None and world.size == 1:
        return file.of_rank(0), progress
    own = {} if file is None else file.of_rank(0)  # type: State
    received = {}
    for name in world.bcast(sorted(own)):
        sent = (
            None
            if file is None
            else (bytes(own[name].cast("B")), own[name].format, own[name].shape)
        )
        content, letter, shape = world.bcast(sent)
        received[name] = memoryview(content).cast(letter, shape)
    return received, progress


class _Renamed(abc.Mapping):  # type: ignore[type-arg]  # of str to memoryview
    """Arrays of a file under other names."""

    def __init__(self, file: StateFile, stored: Dict[str, str]) -> None:
        self._file, self._stored = file, stored

    def __getitem__(self, name: str) -> memoryview:
        return self._file[self._stored[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)
