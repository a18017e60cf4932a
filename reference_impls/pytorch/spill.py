"""Activations of blocks on storage between their forward and their backward pass: the same bytes
come back, so gradients have the same bits.

A tensor's memory is given back to the C library by shrinking its storage to nothing, and taken
again before the backward pass: tensors and graph stay as they are. The file has no name, so the
kernel removes it however the process ends, and it is cut after each block that was read. What was
written is on the storage medium and out of the page cache before training goes on: a cache would be
memory too.
"""

import ctypes
import errno
import os
import tempfile
from time import monotonic
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch

from reference_impls.contract import ContractError, Recomputation

SMALLEST_BYTES = 4096
"""Smaller tensors stay in memory: means and deviations of batch normalisation, which the plan does
not count either."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Kept:
    """The storages of the tensors that autograd keeps of one block. ``own`` are addresses that stay
    in memory: weights, statistics."""

    def __init__(self, own: Set[int]) -> None:
        self._own = own
        self._found: Dict[int, Any] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note a tensor that autograd keeps."""
        storage = tensor.untyped_storage()
        if (
            storage.nbytes() >= SMALLEST_BYTES
            and storage.resizable()
            and storage.data_ptr() not in self._own
        ):
            self._found[storage.data_ptr()] = storage
        return tensor

    @staticmethod
    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, whose storage is whole again."""
        return tensor

    def without(self, *tensors: torch.Tensor) -> List[Any]:
        """The storages that may be spilled when these tensors must stay.

        They are noted no longer: autograd has the hooks, and with them this object, until the
        block's last gradient.
        """
        staying = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        found, self._found = self._found, {}
        return [storage for address, storage in found.items() if address not in staying]


class SpillFile:
    """A file in the plan's folder; blocks are read in the reverse order of writing.
    ``spilled_bytes`` and ``seconds`` are of all steps.

    Raises ContractError where the folder cannot be used or its disk is full, with what else works
    in the same budget.
    """

    def __init__(self, planned: Recomputation) -> None:
        self._planned = planned
        self._blocks: List[Tuple[int, List[Tuple[Any, int]]]] = []
        self.spilled_bytes, self.seconds = 0, 0.0
        self._file: Any = self._checked(self._open)

    def write(self, storages: List[Any]) -> None:
        """Move these storages to the file."""
        started = monotonic()
        begin, moved = (
            sum(size for _, block in self._blocks for _, size in block),
            [(storage, storage.nbytes()) for storage in storages],
        )
        self._blocks.append((begin, moved))
        self._checked(lambda: self._write(begin, moved))
        self.spilled_bytes += sum(size for _, size in moved)
        self.seconds += monotonic() - started

    def read(self) -> None:
        """Bring back the storages that were written last."""
        started = monotonic()
        begin, moved = self._blocks.pop()
        self._checked(lambda: self._read(begin, moved))
        self.seconds += monotonic() - started

    def _open(self) -> Any:
        return tempfile.TemporaryFile(dir=self._planned.spill_folder, buffering=0)

    def _write(self, begin: int, moved: List[Tuple[Any, int]]) -> None:
        self._file.seek(begin)
        for storage, _ in moved:
            left = _bytes_of(storage)
            while left:
                left = left[self._file.write(left) :]
        os.fdatasync(self._file.fileno())  # only what is written leaves the page cache
        os.posix_fadvise(self._file.fileno(), begin, 0, os.POSIX_FADV_DONTNEED)
        for storage, _ in moved:
            storage.resize_(0)

    def _read(self, begin: int, moved: List[Tuple[Any, int]]) -> None:
        self._file.seek(begin)
        for storage, size in moved:
            storage.resize_(size)
            left = _bytes_of(storage)
            while left:
                count = self._file.readinto(left)
                if not count:
                    raise OSError(errno.EIO, "the file is shorter than what was written to it")
                left = left[count:]
        self._file.truncate(begin)

    def _checked(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except OSError as error:
            raise ContractError(self._sentence(error)) from error

    def _sentence(self, error: OSError) -> str:
        folder, without = self._planned.spill_folder, self._planned.instead_of_spilling
        if error.errno not in FULL:
            return (
                "activations cannot be kept in {} ({});"
                " name another folder with --spill, or {}.".format(folder, error.strerror, without)
            )
        full = (
            "the disk of {} is full: a step writes {:.3g} MB of activations there; free that much,"
            " name a folder on a larger disk with --spill, "
        )
        return (full + "or {}.").format(folder, self._planned.planned_spill_bytes / 1e6, without)


def _bytes_of(storage: Any) -> memoryview:
    """Its memory; as an array of NumPy it could not be shrunk any more."""
    return memoryview((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())).cast("B")


def open_spill(planned: Recomputation) -> Optional[SpillFile]:
    """The file for a plan's activations; None for one that keeps all in memory."""
    return None if planned.spill_folder is None else SpillFile(planned)
