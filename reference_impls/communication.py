"""Communication between ranks over MPI: gradients are summed, weights broadcast, and records
gathered at rank 0.

Python 3.6 grammar. mpi4py and NumPy are imported for several ranks only; a single rank needs
neither.
"""

import array
import atexit
import os
import signal
import socket
import threading
import time
from collections import Counter
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from reference_impls.contract import EXACT, SECONDS_PER_NS, ContractError, Parallel, monotonic_ns
from reference_impls.machine_identity import machine_identity
from reference_impls.node import route_to
from reference_impls.rank import ADDRESS_VARIABLE

PING_PONGS = 30
PING_TAG, STOP_TAG = 71, 72
BURST, SLEEP_S = 20, 20e-6
# of the thread that calls MPI during the backward pass: 63 kB at 1 Gbit/s, less than a socket holds
PAUSE_S = 5e-4
PROBE_S = 1e-4
LARGE_BYTES = 2**20
"""MPI sends large messages otherwise than small ones: libraries that do not fit one another can
wait for ever in the first large one."""
JOIN_TIMEOUT_S = 300
"""A rank waits at most this long for its first messages with all others: they may still import
their framework, perhaps from a slow card."""


class Machine(NamedTuple):
    """A rank's machine; only the identity (reference_impls.machine_identity) says whether two are
    one. ``address`` is the one at which it reaches the harness; None: unknown."""

    identity: str
    name: str
    address: Optional[str]


def this_machine() -> Machine:
    """The machine of this process."""
    harness = os.environ.get(ADDRESS_VARIABLE, "").rpartition(":")[0]
    address = route_to(harness).address if harness else None
    return Machine(machine_identity(), socket.gethostname(), address)


def node_names(machines: Sequence[Machine]) -> List[str]:
    """A name for the machine of each rank, equal for equal identities only: its host name; where
    several machines have that, as those that were copied from one card, its address."""
    first = {}  # type: Dict[str, Machine]
    for machine in machines:
        first.setdefault(machine.identity, machine)
    owners = Counter(machine.name for machine in first.values())
    names = {
        identity: machine.name if owners[machine.name] == 1 else machine.address
        for identity, machine in first.items()
    }
    return [
        names[machine.identity] or "{} ({})".format(machine.name, machine.identity)
        for machine in machines
    ]


class World:
    """The ranks of a run: a single rank, and the interface of :class:`MpiWorld`."""

    rank, size = 0, 1

    @property
    def machines(self) -> List[Machine]:
        """The machines of all ranks, by rank."""
        return [this_machine()]

    @property
    def nodes(self) -> List[str]:
        """The names of all ranks' machines, by rank: different ones for different machines."""
        return node_names(self.machines)

    @property
    def node(self) -> str:
        """The name of this rank's machine."""
        return self.nodes[self.rank]

    def sum(self, values: "array.array[float]") -> None:
        """Overwrite the values by their sums over all ranks (MPI_Allreduce)."""

    def mean(self, arrays: List[Any]) -> None:
        """Overwrite contiguous NumPy arrays by their means over all ranks, the same bits on
        each."""

    def allgather(self, value: Any) -> List[Any]:
        """The values of all ranks, by rank (MPI_Allgather); also a barrier."""
        return [value]

    def gather(self, value: Any) -> List[Any]:
        """At rank 0 the values of all ranks, by rank; an empty list at the others (MPI_Gather)."""
        return [value]

    def bcast(self, value: Any) -> Any:
        """Rank 0's value (MPI_Bcast)."""
        return value

    def clock_offsets(self) -> "List[ClockOffset]":
        """At rank 0 the offset of each rank's monotonic clock; an empty list at the others."""
        return [ClockOffset(0, 0)]

    def abort(self) -> None:
        """Terminate all ranks (MPI_Abort)."""


class ClockOffset(NamedTuple):
    """A rank's monotonic clock less rank 0's, and half the round trip of the measurement, which
    bounds its error."""

    offset_ns: int
    uncertainty_ns: int


class MpiWorld(World):
    """The ranks of an MPI job."""

    def __init__(self, size: int) -> None:
        from mpi4py import MPI  # optional: runs on one rank have no MPI

        self._mpi, self.communicator = MPI, MPI.COMM_WORLD
        self.rank, self.size = self.communicator.rank, self.communicator.size
        if self.size != size:
            raise ContractError(
                "MPI started {} ranks instead of {}: `mpirun` and mpi4py belong to different MPIs;"
                " use the environment's mpirun.".format(self.size, size)
            )
        self._machines = self.communicator.allgather(this_machine())  # type: List[Machine]
        self.sum(array.array("d", bytes(LARGE_BYTES)))

    @property
    def machines(self) -> List[Machine]:
        """The machines of all ranks, by rank."""
        return self._machines

    def sum(self, values: "array.array[float]") -> None:
        """Overwrite the values by their sums over all ranks."""
        _await(self.communicator.Iallreduce(self._mpi.IN_PLACE, values).Test)

    def separate_sum(self) -> Callable[[Any], None]:
        """The same on a communicator of its own, for sums between whose calls gradients are on
        their way."""
        own = self.communicator.Dup()
        return lambda values: _await(own.Iallreduce(self._mpi.IN_PLACE, values).Test)

    def mean(self, arrays: List[Any]) -> None:
        """Overwrite the arrays by their means, all in one message.

        They are summed at rank 0 and broadcast, because an all-reduce may round differently at each
        rank.
        """
        import numpy as np  # the contract needs the standard library only

        if not arrays:
            return
        whole = np.concatenate([each.ravel() for each in arrays])
        self.communicator.Reduce(
            self._mpi.IN_PLACE if self.rank == 0 else whole,
            whole if self.rank == 0 else None,
            root=0,
        )
        if self.rank == 0:
            whole /= self.size
        self.communicator.Bcast(whole, root=0)
        for each, mean in zip(
            arrays, np.split(whole, np.cumsum([each.size for each in arrays])[:-1])
        ):
            each[...] = mean.reshape(each.shape)

    def bucket_sum(self, wire: str, encodings: Any = None) -> Callable[[Any, Any], Any]:
        """Starts the sum of an array over all ranks, or of a second one into it; returns what has
        the method ``Test`` of an MPI request. ``encodings``: a framework's own, by number; None:
        NumPy's."""
        if wire != EXACT:
            # the contract needs the standard library only
            from reference_impls.wire import ENCODINGS, RoundedSums

            return RoundedSums(self.communicator, (encodings or ENCODINGS)[wire]).start
        return lambda values, send: self.communicator.Iallreduce(
            self._mpi.IN_PLACE if send is None else send, values
        )

    def allgather(self, value: Any) -> List[Any]:
        """The values of all ranks, by rank."""
        values = self.communicator.allgather(value)  # type: List[Any]
        return values

    def gather(self, value: Any) -> List[Any]:
        """At rank 0 the values of all ranks, by rank; an empty list at the others."""
        return self.communicator.gather(value, root=0) or []

    def bcast(self, value: Any) -> Any:
        """Rank 0's value."""
        return self.communicator.bcast(value, root=0)

    def broadcast(self, arrays: Sequence[Any]) -> None:
        """Overwrite contiguous NumPy arrays with rank 0's values."""
        for each in arrays:
            self.communicator.Bcast(each, root=0)

    def clock_offsets(self) -> List[ClockOffset]:
        """Offsets from the shortest of 30 round trips, as in NTP (RFC 5905, section 8), between the
        pairs of a binomial tree.

        In round k all ranks whose number is a multiple of 2^(k+1) measure the rank 2^k above them,
        at the same time: log2(ranks) rounds. An offset to rank 0 is the sum of those on the way,
        and so is its uncertainty.
        """
        measured, step = {}, 1  # type: Dict[int, ClockOffset], int
        while step < self.size:
            if self.rank % (2 * step) == step:
                self._reply_with_clock(self.rank - step)
                break
            if self.rank + step < self.size:
                measured[self.rank + step] = self._measure_clock(self.rank + step)
            step *= 2
        self.await_all()
        edges = {}  # type: Dict[int, ClockOffset]
        for of_rank in self.gather(measured):
            edges.update(of_rank)
        return whole_offsets(edges, self.size) if self.rank == 0 else []

    def await_all(self) -> None:
        """Wait asleep until all ranks are here: others may need the processor for what they
        measure."""
        all_here = self.communicator.Ibarrier()
        while not all_here.Test():
            time.sleep(PROBE_S)

    def _measure_clock(self, rank: int) -> ClockOffset:
        best: Optional[ClockOffset] = None
        for _ in range(PING_PONGS):
            sent_ns = monotonic_ns()
            self.communicator.send(None, dest=rank, tag=PING_TAG)
            self._await_from(rank)
            theirs_ns = self.communicator.recv(source=rank, tag=PING_TAG)
            received_ns = monotonic_ns()
            found = ClockOffset(
                theirs_ns - (sent_ns + received_ns) // 2, (received_ns - sent_ns + 1) // 2
            )
            best = found if best is None or found.uncertainty_ns < best.uncertainty_ns else best
        self.communicator.send(None, dest=rank, tag=STOP_TAG)
        assert best is not None
        return best

    def _reply_with_clock(self, rank: int) -> None:
        """Reply to another rank's pings; the wait for the first one sleeps, because other pairs
        measure meanwhile, maybe on the same processor."""
        while not self.communicator.Iprobe(source=rank, tag=PING_TAG):
            time.sleep(PROBE_S)
        status = self._mpi.Status()
        while True:
            self._await_from(rank)
            self.communicator.recv(source=rank, tag=self._mpi.ANY_TAG, status=status)
            if status.tag == STOP_TAG:
                return
            self.communicator.send(monotonic_ns(), dest=rank, tag=PING_TAG)

    def _await_from(self, rank: int) -> None:
        """Wait for a message, letting other ranks of this machine have the processor: MPI's own
        wait keeps it, and they may be the ones to reply."""
        while not self.communicator.Iprobe(source=rank, tag=self._mpi.ANY_TAG):
            os.sched_yield()

    def abort(self) -> None:
        """Terminate all ranks with exit code 2."""
        self.communicator.Abort(2)


def whole_offsets(edges: "Dict[int, ClockOffset]", size: int) -> List[ClockOffset]:
    """The offsets to rank 0, by rank; ``edges`` are those to each rank's parent, the rank without
    its lowest bit."""
    whole = [ClockOffset(0, 0)]
    for rank in range(1, size):
        parent = whole[rank & (rank - 1)]
        whole.append(
            ClockOffset(
                parent.offset_ns + edges[rank].offset_ns,
                parent.uncertainty_ns + edges[rank].uncertainty_ns,
            )
        )
    return whole


def join(ranks: int) -> World:
    """The world of a run: this process, or for several ranks its MPI job; raises ContractError when
    that has another size.

    Libraries of MPI that do not fit one another wait for ever: SIGALRM ends a rank that has not
    exchanged its first messages with all others within JOIN_TIMEOUT_S.
    """
    if ranks == 1:
        return World()
    signal.alarm(JOIN_TIMEOUT_S)
    try:
        return MpiWorld(ranks)
    except ImportError as error:
        raise ContractError(
            "mpi4py cannot be imported ({});"
            " create the environment again with `suite env create`.".format(error)
        ) from error
    finally:
        signal.alarm(0)


class Plan(NamedTuple):
    """The parameters of each bucket, by index, and each bucket's number of elements."""

    members: List[List[int]]
    lengths: List[int]


def plan_buckets(sizes: Sequence[int], item_bytes: int, bucket_bytes: int) -> Plan:
    """Fill buckets from the last parameter to the first, the order in which a backward pass
    produces gradients.

    A bucket is full once it has ``bucket_bytes`` or more (Li et al., PyTorch Distributed, VLDB
    2020, section 3.2.3).
    """
    members, lengths = [], []  # type: List[List[int]], List[int]
    for place in reversed(range(len(sizes))):
        if not members or lengths[-1] * item_bytes >= bucket_bytes:
            members.append([])
            lengths.append(0)
        members[-1].append(place)
        lengths[-1] += sizes[place]
    return Plan(members, lengths)


def _await(has_ended: Callable[[], bool]) -> None:
    """Poll in bursts of 20, with sleeps of 20 us between them.

    MPI_Wait polls without a pause and occupies a core that the kernel, which moves the messages, or
    another rank could use; with a sleep after every poll too little is moved at a time
    (docs/multi-node.md has the cost of both).
    """
    polls = 0
    while not has_ended():
        polls += 1
        if polls % BURST == 0:
            time.sleep(SLEEP_S)


class BucketTime(NamedTuple):
    """Times of a bucket's exchanges since the last call, each from its start to its end, which may
    be during the backward pass.

    ``mean_since_first_s`` is the mean time from the start of the step's first bucket to this one's
    end: of the last bucket, the exchange of a step.
    """

    size_bytes: int
    exchanges: int
    mean_s: float
    longest_s: float
    mean_since_first_s: float


class Exchange:
    """The sum of one bucket, from its start until :meth:`test` first says that it has ended."""

    def __init__(self, bucket: int, request: Any, sent: Any) -> None:
        self.bucket, self.started_ns, self.ended_ns = (
            bucket,
            monotonic_ns(),
            None,
        )  # type: int, int, Optional[int]
        self._request, self._sent = request, sent  # what is sent must live until then

    def test(self) -> bool:
        """Whether it has ended; lets MPI move messages."""
        if self.ended_ns is None and self._request.Test():
            self.ended_ns = monotonic_ns()
        return self.ended_ns is not None


class Progress:
    """A thread that calls MPI while exchanges are under way and the main thread computes: MPI moves
    messages inside its calls only.

    Gloo, which PyTorch's DistributedDataParallel uses here, has threads for the same reason. Only
    the holder of the lock calls MPI.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._started, self._pending = (
            threading.Condition(self.lock),
            [],
        )  # type: threading.Condition, List[Exchange]
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="exchange", daemon=True)
        self._thread.start()
        # before MPI is finalized, which happens at the interpreter's end
        atexit.register(self._stop)

    def add(self, exchange: Exchange) -> None:
        """Let this exchange go on in the background; call it with the lock held."""
        self._pending.append(exchange)
        self._started.notify()

    def _run(self) -> None:
        while True:
            with self._started:
                self._started.wait_for(lambda: self._pending or self._is_stopping)
                if self._is_stopping:
                    return
                for _ in range(BURST):
                    self._pending = [exchange for exchange in self._pending if not exchange.test()]
            time.sleep(PAUSE_S)

    def _stop(self) -> None:
        with self._started:
            self._is_stopping = True
            self._started.notify()
        self._thread.join()


class Buckets:
    """Gradients in a few contiguous arrays, each summed over all ranks by one non-blocking
    all-reduce, in the numbers that ``settings`` say.

    After :meth:`finish`, ``arrays[b]`` is the sum of bucket ``b`` over all ranks. ``progress`` goes
    on with the sums between the calls, for frameworks that start them during the backward pass.
    ``encodings`` as in :meth:`MpiWorld.bucket_sum`.
    """

    def __init__(
        self,
        world: MpiWorld,
        sizes: Sequence[int],
        dtype: Any,
        settings: Parallel,
        progress: Optional[Progress] = None,
        encodings: Any = None,
    ) -> None:
        import numpy as np  # the contract needs the standard library only

        self._sum, self._sizes = world.bucket_sum(settings.wire, encodings), list(sizes)
        self.plan = plan_buckets(sizes, np.dtype(dtype).itemsize, settings.bucket_bytes)
        self.arrays = [np.zeros(length, dtype) for length in self.plan.lengths]
        self._exchanges, self._progress = [], progress  # type: List[Exchange], Optional[Progress]
        self._lock = threading.Lock() if progress is None else progress.lock
        self._durations = [[] for _ in self.arrays]  # type: List[List[Tuple[float, float]]]

    def views(self) -> List[Any]:
        """A flat view of each parameter's part of its bucket, by parameter."""
        places = {}
        for bucket, members in zip(self.arrays, self.plan.members):
            start = 0
            for place in members:
                stop = start + self._sizes[place]
                places[place] = bucket[start:stop]
                start = stop
        return [places[place] for place in range(len(places))]

    def start(self, bucket: int, send: Any = None) -> None:
        """Start summing a bucket: its array, or ``send``, which must not change until
        :meth:`finish`."""
        with self._lock:
            exchange = Exchange(bucket, self._sum(self.arrays[bucket], send), send)
            self._exchanges.append(exchange)
            exchange.test()
            if self._progress is not None:
                self._progress.add(exchange)

    def finish(self) -> float:
        """Wait for every started bucket; returns the seconds of waiting: the exposed
        (non-overlapped) communication time."""
        began_ns = monotonic_ns()
        with self._lock:
            for exchange in self._exchanges:
                _await(exchange.test)
        for exchange in self._exchanges:
            assert exchange.ended_ns is not None
            times = (
                exchange.ended_ns - exchange.started_ns,
                exchange.ended_ns - self._exchanges[0].started_ns,
            )
            self._durations[exchange.bucket].append(
                (times[0] * SECONDS_PER_NS, times[1] * SECONDS_PER_NS)
            )
        self._exchanges = []
        return (monotonic_ns() - began_ns) * SECONDS_PER_NS

    def take_times(self) -> List[BucketTime]:
        """Every bucket's times since the last call."""
        taken, self._durations = self._durations, [[] for _ in self.arrays]
        return [_bucket_time(bucket.nbytes, times) for bucket, times in zip(self.arrays, taken)]


def _bucket_time(size_bytes: int, times: "List[Tuple[float, float]]") -> BucketTime:
    if not times:
        return BucketTime(size_bytes, 0, 0.0, 0.0, 0.0)
    own, since_first = zip(*times)
    return BucketTime(
        size_bytes, len(times), sum(own) / len(times), max(own), sum(since_first) / len(times)
    )
