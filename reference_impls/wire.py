"""Gradients as 16-bit numbers on the wire, for the open division: half the bytes of an exact sum of
float32. Python 3.6 grammar; NumPy and mpi4py.

Each rank receives its part of the array from all ranks, adds the parts in float32, and sends the
sum to all: every number is rounded twice, and all ranks get the same bits. A rank of n sends 4 (n -
1) / n bytes a number; an exact sum needs twice as many.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from reference_impls.contract import BFLOAT16, FLOAT16

LARGEST_HALF = 65504.0
HALF_NAN, BFLOAT16_NAN = 0x7E00, 0x7FC0
SIGN, EXPONENT = np.uint32(0x80000000), np.uint32(0x7F800000)
SMALLEST_NORMAL_HALF, TIMES_2_13 = np.uint32((127 - 14) << 23), np.uint32(13 << 23)
"""Bits of the float32 number 2^-14; added to a number's bits, 13 << 23 multiplies it by 2^13."""
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
"""Every float16 number: a table is faster than NumPy's conversion, which is slow for subnormals."""


class Encoding(NamedTuple):
    """How float32 numbers are written as 16 bits, and read."""

    encode: Callable[[np.ndarray], np.ndarray]
    decode: Callable[[np.ndarray], np.ndarray]


def _to_half(values: np.ndarray) -> np.ndarray:
    """IEEE 754 binary16, nearest, ties to even; larger numbers become its largest one.

    NumPy's own conversion raises a floating-point exception for every subnormal result, and takes
    25 times as long for the small gradients of a deep network (75 ms for a million). Here a float32
    sum rounds: 2^13 times the number's power of two, or a subnormal's, leaves ten bits behind it.
    """
    whole = np.ascontiguousarray(values, np.float32)
    sizes = np.minimum(np.abs(whole), np.float32(LARGEST_HALF))
    powers = np.maximum(sizes.view(np.uint32) & EXPONENT, SMALLEST_NORMAL_HALF) + TIMES_2_13
    words = (sizes + powers.view(np.float32)).view(np.uint32) + (powers >> 13)
    words -= (SMALLEST_NORMAL_HALF + TIMES_2_13) >> 13
    words |= (whole.view(np.uint32) & SIGN) >> 16
    rounded = words.astype(np.uint16)  # type: np.ndarray
    rounded[np.isnan(whole)] = HALF_NAN
    return rounded


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The upper half of float32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(BFLOAT16_NAN), rounded)


def _from_bfloat16(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32)


ENCODINGS: Dict[str, Encoding] = {
    FLOAT16: Encoding(_to_half, lambda words: np.take(HALVES, words)),
    BFLOAT16: Encoding(_to_bfloat16, _from_bfloat16),
}


class RoundedSums:
    """Sums over all ranks, of which several may be under way; every rank starts the same ones in
    the same order."""

    def __init__(self, communicator: Any, encoding: Encoding) -> None:
        from mpi4py import MPI  # optional: runs on one rank have no MPI

        self.communicator, self.encoding, self.word = communicator, encoding, MPI.UINT16_T
        # ranks begin its messages at different times between the first ones
        self.second = communicator.Dup()
        self._arriving = []  # type: List[RoundedSum]

    def start(self, values: np.ndarray, send: Optional[np.ndarray] = None) -> "RoundedSum":
        """Start the sum of ``values``, or of ``send`` in their place, into ``values``."""
        started = RoundedSum(self, values, send)
        self._arriving.append(started)
        return started

    def advance(self) -> None:
        """Begin the second exchange of every sum whose parts have arrived, in the order of
        starting, which is the same at all ranks.

        It is not put off until the sum before has ended: the link would be idle between the two.
        """
        while self._arriving and self._arriving[0].has_arrived():
            self._arriving.pop(0).send_on()


class RoundedSum:
    """One sum under way; :meth:`Test` as that of an MPI request."""

    def __init__(self, sums: RoundedSums, values: np.ndarray, send: Optional[np.ndarray]) -> None:
        communicator, word = sums.communicator, sums.word
        self._sums, self._values = sums, values
        self._lengths = [len(part) for part in np.array_split(values, communicator.size)]
        own = self._lengths[communicator.rank]
        self._sent = sums.encoding.encode(np.asarray(values if send is None else send, np.float32))
        self._received = np.empty((communicator.size, own), np.uint16)
        self._request = communicator.Ialltoallv(
            [self._sent, (self._lengths, _starts(self._lengths)), word],
            [
                self._received,
                ([own] * communicator.size, [own * rank for rank in range(communicator.size)]),
                word,
            ],
        )
        self._whole = None  # type: Optional[np.ndarray]
        self._is_done = False

    def has_arrived(self) -> bool:
        """Whether this rank's part has arrived from all ranks."""
        return bool(self._request.Test())

    def send_on(self) -> None:
        """Add the parts that arrived, and send their sum to all ranks."""
        total = np.zeros(self._received.shape[1], np.float32)
        for of_rank in self._received:
            total += self._sums.encoding.decode(of_rank)
        self._sent, self._whole = (
            self._sums.encoding.encode(total),
            np.empty(sum(self._lengths), np.uint16),
        )
        word = self._sums.word
        self._request = self._sums.second.Iallgatherv(
            [self._sent, word], [self._whole, (self._lengths, _starts(self._lengths)), word]
        )

    def Test(self) -> bool:
        """Whether the sum is in ``values``; lets all sums under way go on."""
        self._sums.advance()
        if not self._is_done and self._whole is not None and self._request.Test():
            self._values[...] = self._sums.encoding.decode(self._whole)
            self._is_done = True
        return self._is_done


def _starts(lengths: List[int]) -> List[int]:
    return [sum(lengths[:place]) for place in range(len(lengths))]
