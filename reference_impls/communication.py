"""What ranks say to one another, over MPI: mini-batches are shared out, gradients are summed, records come together at rank 0.

Python 3.6 grammar. mpi4py and NumPy are imported when there is more than one rank; one rank alone needs neither.
"""

import socket
import time
from typing import Any, List, NamedTuple, Optional, Sequence

from reference_impls.contract import SECONDS_PER_NS, ContractError, monotonic_ns

PING_PONGS = 30
PING_TAG, LEAVE_TAG = 71, 72
BURST, NAP_S = 20, 20e-6


class World:
    """A run of one rank, and what runs of several have in common."""

    rank, size = 0, 1

    @property
    def node(self) -> str:
        """The name of the host that this rank runs on."""
        return socket.gethostname()

    def allgather(self, value: Any) -> List[Any]:
        """Everybody's value, by rank; a barrier besides."""
        return [value]

    def gather(self, value: Any) -> List[Any]:
        """Everybody's value, by rank, at rank 0; nothing elsewhere."""
        return [value]

    def bcast(self, value: Any) -> Any:
        """Rank 0's value."""
        return value

    def clock_offsets(self) -> "List[ClockOffset]":
        """How far each rank's monotonic clock is ahead of rank 0's; known to rank 0, empty elsewhere."""
        return [ClockOffset(0, 0)]

    def abort(self) -> None:
        """End all ranks, now."""


class ClockOffset(NamedTuple):
    """A rank's monotonic clock less rank 0's, and half the round trip that it was found by: the true offset lies within that."""

    offset_ns: int
    uncertainty_ns: int


class MpiWorld(World):
    """The ranks of an MPI job."""

    def __init__(self, size: int) -> None:
        from mpi4py import MPI

        self._mpi, self.communicator = MPI, MPI.COMM_WORLD
        self.rank, self.size = self.communicator.rank, self.communicator.size
        if self.size != size:
            raise ContractError(
                "MPI started {} ranks where {} were asked for: `mpirun` and mpi4py do not belong together; use the environment's own mpirun.".format(
                    self.size, size
                )
            )

    def allgather(self, value: Any) -> List[Any]:
        """Everybody's value, by rank."""
        values = self.communicator.allgather(value)  # type: List[Any]
        return values

    def gather(self, value: Any) -> List[Any]:
        """Everybody's value, at rank 0."""
        return self.communicator.gather(value, root=0) or []

    def bcast(self, value: Any) -> Any:
        """Rank 0's value."""
        return self.communicator.bcast(value, root=0)

    def broadcast(self, arrays: Sequence[Any]) -> None:
        """Overwrite contiguous NumPy arrays with rank 0's."""
        for array in arrays:
            self.communicator.Bcast(array, root=0)

    def clock_offsets(self) -> List[ClockOffset]:
        """The offset of the shortest of some round trips, as NTP does it (RFC 5905, section 8)."""
        if self.rank != 0:
            self._answer_clock()
            return []
        return [ClockOffset(0, 0)] + [self._ask_clock(rank) for rank in range(1, self.size)]

    def _ask_clock(self, rank: int) -> ClockOffset:
        best: Optional[ClockOffset] = None
        for _ in range(PING_PONGS):
            asked_ns = monotonic_ns()
            self.communicator.send(None, dest=rank, tag=PING_TAG)
            theirs_ns = self.communicator.recv(source=rank, tag=PING_TAG)
            answered_ns = monotonic_ns()
            found = ClockOffset(theirs_ns - (asked_ns + answered_ns) // 2, (answered_ns - asked_ns + 1) // 2)
            best = found if best is None or found.uncertainty_ns < best.uncertainty_ns else best
        self.communicator.send(None, dest=rank, tag=LEAVE_TAG)
        assert best is not None
        return best

    def _answer_clock(self) -> None:
        status = self._mpi.Status()
        while True:
            self.communicator.recv(source=0, tag=self._mpi.ANY_TAG, status=status)
            if status.tag == LEAVE_TAG:
                return
            self.communicator.send(monotonic_ns(), dest=0, tag=PING_TAG)

    def abort(self) -> None:
        """End all ranks with exit code 2."""
        self.communicator.Abort(2)


def join(ranks: int) -> World:
    """The run's world: this process alone, or the MPI job that it was started in; raises ContractError when that has another size."""
    if ranks == 1:
        return World()
    try:
        return MpiWorld(ranks)
    except ImportError as error:
        raise ContractError("mpi4py cannot be imported ({}); make the environment again with `suite env create`.".format(error)) from error


def free_address(world: World) -> str:
    """``host:port`` of this rank, where nobody listens now: for frameworks that let their ranks meet by TCP."""
    with socket.socket() as free:
        free.bind(("", 0))
        return "{}:{}".format(world.node, free.getsockname()[1])


class Plan(NamedTuple):
    """Which gradients share a bucket, by the parameters' places, and each bucket's number of elements."""

    members: List[List[int]]
    lengths: List[int]


def plan_buckets(sizes: Sequence[int], item_bytes: int, bucket_bytes: int) -> Plan:
    """Fill buckets from the last parameter to the first, the order in which a backward pass makes gradients.

    A bucket is full once it has ``bucket_bytes`` or more (Li et al., PyTorch Distributed, VLDB 2020, section 3.2.3).
    """
    members, lengths = [], []  # type: List[List[int]], List[int]
    for place in reversed(range(len(sizes))):
        if not members or lengths[-1] * item_bytes >= bucket_bytes:
            members.append([])
            lengths.append(0)
        members[-1].append(place)
        lengths[-1] += sizes[place]
    return Plan(members, lengths)


def _await(request: Any) -> None:
    """Poll in bursts with naps between them.

    MPI's own Wait polls without end and so holds a processor that the kernel, moving the messages, or another rank could use; with a nap after
    every poll too little is moved at a time (docs/multi-node.md has what both cost).
    """
    polls = 0
    while not request.Test():
        polls += 1
        if polls % BURST == 0:
            time.sleep(NAP_S)


class BucketTime(NamedTuple):
    """A bucket's exchange over the steps since it was last asked: from its start to its end, which may lie behind the backward pass."""

    size_bytes: int
    exchanges: int
    mean_s: float
    longest_s: float


class Buckets:
    """Gradients in a few contiguous arrays, each summed over all ranks by one non-blocking allreduce.

    ``arrays[b]`` holds, after :meth:`finish`, the sum of what every rank gave to bucket ``b``.
    """

    def __init__(self, world: MpiWorld, sizes: Sequence[int], dtype: Any, bucket_bytes: int) -> None:
        import numpy as np
        from mpi4py import MPI

        self._communicator, self._in_place, self._sizes = world.communicator, MPI.IN_PLACE, list(sizes)
        self.plan = plan_buckets(sizes, np.dtype(dtype).itemsize, bucket_bytes)
        self.arrays = [np.zeros(length, dtype) for length in self.plan.lengths]
        self._pending = []  # type: List[Any]
        self._durations = [[] for _ in self.arrays]  # type: List[List[float]]

    def views(self) -> List[Any]:
        """Each parameter's place in its bucket, flat, by parameter."""
        places = {}
        for array, members in zip(self.arrays, self.plan.members):
            start = 0
            for place in members:
                stop = start + self._sizes[place]
                places[place] = array[start:stop]
                start = stop
        return [places[place] for place in range(len(places))]

    def start(self, bucket: int, send: Any = None) -> None:
        """Begin to sum a bucket: what is in its array, or ``send``, which must stay as it is until :meth:`finish`."""
        source = self._in_place if send is None else send
        self._pending.append((bucket, monotonic_ns(), self._communicator.Iallreduce(source, self.arrays[bucket]), send))
        self.progress()

    def progress(self) -> None:
        """Let MPI work: without a thread of its own it moves messages only when it is called."""
        for _, _, request, _ in self._pending:
            if not request.Test():
                return  # one call moves the messages of all

    def finish(self) -> float:
        """Wait for every bucket that was started; returns the seconds that took: the exchange that nothing hid."""
        began_ns = monotonic_ns()
        for bucket, started_ns, request, _ in self._pending:
            _await(request)
            self._durations[bucket].append((monotonic_ns() - started_ns) * SECONDS_PER_NS)
        self._pending = []
        return (monotonic_ns() - began_ns) * SECONDS_PER_NS

    def take_times(self) -> List[BucketTime]:
        """Every bucket's times since the last call."""
        taken, self._durations = self._durations, [[] for _ in self.arrays]
        return [
            BucketTime(array.nbytes, len(times), sum(times) / len(times) if times else 0.0, max(times) if times else 0.0)
            for array, times in zip(self.arrays, taken)
        ]
