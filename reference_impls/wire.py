"""Gradients as 16-bit numbers on the wire, for the open division: half the bytes of an exact sum of float32. Python 3.6 grammar; NumPy and mpi4py.

Each rank receives its part of the array from all ranks, adds the parts in float32, and sends the sum to all: every number is rounded twice, and all
ranks get the same bits. A rank of n sends 4 (n - 1) / n bytes a number; an exact sum needs twice as many.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from reference_impls.contract import BFLOAT16, FLOAT16

LARGEST_HALF = 65504.0
BFLOAT16_NAN = 0x7FC0


class Encoding(NamedTuple):
    """How float32 numbers are written as 16 bits, and read."""

    encode: Callable[[np.ndarray], np.ndarray]
    decode: Callable[[np.ndarray], np.ndarray]


def _to_half(values: np.ndarray) -> np.ndarray:
    """IEEE 754 binary16, nearest; larger numbers become its largest one."""
    halves = np.clip(values, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)  # type: np.ndarray
    return halves.view(np.uint16)


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The upper half of float32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(BFLOAT16_NAN), rounded)


def _from_bfloat16(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32)


ENCODINGS: Dict[str, Encoding] = {
    FLOAT16: Encoding(_to_half, lambda words: words.view(np.float16).astype(np.float32)),
    BFLOAT16: Encoding(_to_bfloat16, _from_bfloat16),
}


class RoundedSum:
    """One sum under way: ``values``, or ``send`` in their place, over all ranks into ``values``; :meth:`Test` as that of an MPI request.

    The second exchange, on the second of the ``communicators``, begins when the first has arrived and is tested: sums must be tested in the order
    in which they were started, each to its end before the next.
    """

    def __init__(self, communicators: Tuple[Any, Any], wire: str, values: np.ndarray, send: Optional[np.ndarray] = None) -> None:
        from mpi4py import MPI  # optional: runs on one rank have no MPI

        communicator, self._second = communicators
        self._encoding, self._values, self._word = ENCODINGS[wire], values, MPI.UINT16_T
        self._lengths = [len(part) for part in np.array_split(values, communicator.size)]
        own = self._lengths[communicator.rank]
        self._sent = self._encoding.encode(np.asarray(values if send is None else send, np.float32))
        self._received = np.empty((communicator.size, own), np.uint16)
        self._request = communicator.Ialltoallv(
            [self._sent, (self._lengths, _starts(self._lengths)), self._word],
            [self._received, ([own] * communicator.size, [own * rank for rank in range(communicator.size)]), self._word],
        )
        self._whole = None  # type: Optional[np.ndarray]
        self._is_done = False

    def Test(self) -> bool:
        """Whether the sum is in ``values``; lets it go on."""
        if self._is_done or not self._request.Test():
            return self._is_done
        if self._whole is not None:
            self._values[...] = self._encoding.decode(self._whole)
            self._is_done = True
            return True
        total = np.zeros(self._received.shape[1], np.float32)
        for of_rank in self._received:
            total += self._encoding.decode(of_rank)
        self._sent, self._whole = self._encoding.encode(total), np.empty(sum(self._lengths), np.uint16)
        self._request = self._second.Iallgatherv([self._sent, self._word], [self._whole, (self._lengths, _starts(self._lengths)), self._word])
        return False


def _starts(lengths: List[int]) -> List[int]:
    return [sum(lengths[:place]) for place in range(len(lengths))]
