"""Measures links over MPI: before a run from the first rank to every other one, and within a run
what every node's link carries.

``mpirun … python -m reference_impls.links --ranks N``; rank 0 prints one line of JSON per other
rank as soon as it is measured, so that a missing line shows which link is broken. Python 3.6
grammar; needs mpi4py and NumPy.
"""

import argparse
import json
import os
import signal
import sys
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from reference_impls.communication import MpiWorld, World
from reference_impls.contract import SECONDS_PER_NS, monotonic_ns

TIMEOUT_S, TIMEOUT_PER_LINK_S = 45, 3
"""A rank that receives nothing for this long is killed by SIGALRM: no other process may be left to
do it."""
FIRST_MESSAGES_S = 30
"""The same for the first messages between ranks that have all started: what a firewall drops or
refuses never arrives."""

WARM_UP, ROUND_TRIPS, TRIES = 10, 100, 3
POLL_S = 1e-3
FIRST_BYTES, MAX_BYTES, MIN_TIME_S = 2**16, 2**24, 0.1
QUICK_BYTES = 2**18
"""The largest message that measures a link before a run: a megabyte on each link, in all."""
RUN_BYTES = 2**20
"""The largest message within a run, 84 ms at 100 Mbit/s. A much larger one could be the peak of a
small model's memory."""


def main() -> None:
    """Measure each link in turn, the others waiting."""
    parser = argparse.ArgumentParser(description="Measure the links of a cluster.")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument(
        "--quick", action="store_true", help="measure with small messages only, as before a run"
    )
    arguments = parser.parse_args()
    ranks, max_bytes = arguments.ranks, QUICK_BYTES if arguments.quick else MAX_BYTES
    signal.alarm(TIMEOUT_S + TIMEOUT_PER_LINK_S * ranks)
    import mpi4py.MPI  # noqa: F401 - its import waits until every rank has started

    signal.alarm(FIRST_MESSAGES_S + ranks)
    world = MpiWorld(ranks)
    signal.alarm(TIMEOUT_S + TIMEOUT_PER_LINK_S * ranks)
    nodes = world.nodes
    wall_less_monotonic_ns = world.allgather(int(time.time() * 1e9) - monotonic_ns())
    offsets = world.clock_offsets()
    for rank in range(1, world.size):
        if world.rank == rank:
            _reply(world, 0)
        elif world.rank == 0:
            wall_ns = (
                offsets[rank].offset_ns + wall_less_monotonic_ns[rank] - wall_less_monotonic_ns[0]
            )
            clocks = {
                "monotonic_offset_ns": offsets[rank].offset_ns,
                "wall_offset_ns": wall_ns,
                "uncertainty_ns": offsets[rank].uncertainty_ns,
            }
            sys.stdout.write(
                json.dumps(
                    dict(
                        {"rank": rank, "node": nodes[rank]},
                        **clocks,
                        **_measure(world, rank, max_bytes),
                    )
                )
                + "\n"
            )
            sys.stdout.flush()
    os._exit(0)  # MPI_Finalize would wait for a link that broke meanwhile


class Carried(NamedTuple):
    """A message to another rank: its bytes, and the seconds until the reply, the shortest of three
    times."""

    size_bytes: int
    took_s: float

    @property
    def bytes_per_s(self) -> float:
        """What the link carries."""
        return self.size_bytes / self.took_s


def goodputs(world: World) -> List[float]:
    """At rank 0 what each node's link carries, bytes/s, in the order in which the ranks name the
    nodes; empty at the others, and on one node.

    One rank of each node sends to one of another node. Pairs of nodes measure at the same time, so
    that it takes as long for many nodes as for three. Everybody else sleeps: the measuring ranks
    may need the processor.
    """
    nodes = world.nodes
    if len(set(nodes)) == 1:
        return []
    assert isinstance(world, MpiWorld)
    leaders = [rank for rank in range(world.size) if nodes.index(nodes[rank]) == rank]
    found = 0.0
    for senders_and_receivers in rounds(leaders):
        for sender, receiver in senders_and_receivers:
            if world.rank == sender:
                found = carried(world, receiver, RUN_BYTES).bytes_per_s
            elif world.rank == receiver:
                _reply(world, sender)
        world.await_all()
    of_ranks = world.gather(found)
    return [of_ranks[rank] for rank in leaders] if world.rank == 0 else []


def rounds(leaders: List[int]) -> List[List[Tuple[int, int]]]:
    """Who sends to whom in each round: neighbours in pairs, then the other way round; without a
    neighbour the last one, to the first."""
    pairs = list(zip(leaders[::2], leaders[1::2]))
    alone = [[(leaders[-1], leaders[0])]] if len(leaders) % 2 else []
    return [pairs, [(second, first) for first, second in pairs], *alone]


def _measure(world: MpiWorld, rank: int, max_bytes: int) -> Dict[str, Any]:
    """Median round trip of 8 bytes, and the bandwidth of a large message."""
    import numpy as np  # the contract needs the standard library only

    small = np.zeros(1)
    trips = [_trip_s(world, rank, small, small) for _ in range(WARM_UP + ROUND_TRIPS)]
    large = carried(world, rank, max_bytes)
    return {
        "round_trip_s": sorted(trips[WARM_UP:])[ROUND_TRIPS // 2],
        "bandwidth_mbit_s": large.bytes_per_s * 8e-6,
        "message_bytes": large.size_bytes,
    }


def carried(world: MpiWorld, rank: int, max_bytes: int) -> Carried:
    """Send messages to a rank that replies, each twice as large as the one before, up to one that
    takes at least 0.1 s or has ``max_bytes``."""
    import numpy as np  # the contract needs the standard library only

    small, found = np.zeros(1), Carried(FIRST_BYTES // 2, 0.0)
    while found.took_s < MIN_TIME_S and found.size_bytes < max_bytes:
        message = np.zeros(2 * found.size_bytes, np.uint8)
        found = Carried(len(message), _trip_s(world, rank, message, small))
        if found.took_s >= MIN_TIME_S or found.size_bytes >= max_bytes:
            found = Carried(
                len(message),
                min(
                    found.took_s, *(_trip_s(world, rank, message, small) for _ in range(TRIES - 1))
                ),
            )
    world.communicator.Send(np.zeros(0, np.uint8), dest=rank)
    return found


def _trip_s(world: MpiWorld, rank: int, message: Any, reply: Any) -> float:
    began_ns = monotonic_ns()
    world.communicator.Send(message, dest=rank)
    world.communicator.Recv(reply, source=rank)
    return (monotonic_ns() - began_ns) * SECONDS_PER_NS


def _reply(world: MpiWorld, sender: int) -> None:
    """Acknowledge every message until an empty one; the wait for the first one sleeps, because
    another rank may need the core."""
    import numpy as np  # the contract needs the standard library only
    from mpi4py import MPI  # optional: runs on one rank have no MPI

    while not world.communicator.Iprobe(source=sender):
        time.sleep(POLL_S)
    buffer, small, status = np.zeros(MAX_BYTES, np.uint8), np.zeros(1), MPI.Status()
    while True:
        world.communicator.Recv(buffer, source=sender, status=status)
        if status.Get_count(MPI.BYTE) == 0:
            return
        world.communicator.Send(small, dest=sender)


if __name__ == "__main__":
    main()
