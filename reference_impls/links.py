"""Measures round trip, bandwidth and clock offset from the first rank to every other one.

``mpirun … python -m reference_impls.links --ranks N``; rank 0 prints one line of JSON per other rank as soon as it is measured, so that a
missing line shows which link is broken. Python 3.6 grammar; needs mpi4py and NumPy.
"""

import argparse
import json
import os
import signal
import sys
import time
from typing import Any, Dict

from reference_impls.communication import MpiWorld
from reference_impls.contract import SECONDS_PER_NS, monotonic_ns

TIMEOUT_S, TIMEOUT_PER_LINK_S = 45, 3
"""A rank that receives nothing for this long is killed by SIGALRM: no other process may be left to do it."""

WARM_UP, ROUND_TRIPS, TRIES = 10, 100, 5
POLL_S = 1e-3
FIRST_BYTES, MAX_BYTES, MIN_TIME_S = 2**16, 2**24, 0.1


def main() -> None:
    """Measure each link in turn, the others waiting."""
    parser = argparse.ArgumentParser(description="Measure the links of a cluster.")
    parser.add_argument("--ranks", type=int, required=True)
    ranks = parser.parse_args().ranks
    signal.alarm(TIMEOUT_S + TIMEOUT_PER_LINK_S * ranks)
    world = MpiWorld(ranks)
    nodes = world.allgather(world.node)
    wall_less_monotonic_ns = world.allgather(int(time.time() * 1e9) - monotonic_ns())
    offsets = world.clock_offsets()
    for rank in range(1, world.size):
        if world.rank == rank:
            _reply(world)
        elif world.rank == 0:
            wall_ns = offsets[rank].offset_ns + wall_less_monotonic_ns[rank] - wall_less_monotonic_ns[0]
            clocks = {
                "monotonic_offset_ns": offsets[rank].offset_ns,
                "wall_offset_ns": wall_ns,
                "uncertainty_ns": offsets[rank].uncertainty_ns,
            }
            sys.stdout.write(json.dumps(dict({"rank": rank, "node": nodes[rank]}, **clocks, **_measure(world, rank))) + "\n")
            sys.stdout.flush()
    os._exit(0)  # MPI_Finalize would wait for a link that broke meanwhile


def _measure(world: MpiWorld, rank: int) -> Dict[str, Any]:
    """Median round trip of 8 bytes, and the bandwidth of a message that takes at least 0.1 s or has 16 MiB (best of five)."""
    import numpy as np  # the contract needs the standard library only

    small = np.zeros(1)
    trips = [_trip_s(world, rank, small, small) for _ in range(WARM_UP + ROUND_TRIPS)]
    size_bytes, took_s = FIRST_BYTES // 2, 0.0
    while took_s < MIN_TIME_S and size_bytes < MAX_BYTES:
        size_bytes *= 2
        message = np.zeros(size_bytes, np.uint8)
        took_s = min(_trip_s(world, rank, message, small) for _ in range(TRIES))
    world.communicator.Send(np.zeros(0, np.uint8), dest=rank)
    return {"round_trip_s": sorted(trips[WARM_UP:])[ROUND_TRIPS // 2], "bandwidth_mbit_s": size_bytes * 8e-6 / took_s, "message_bytes": size_bytes}


def _trip_s(world: MpiWorld, rank: int, message: Any, reply: Any) -> float:
    began_ns = monotonic_ns()
    world.communicator.Send(message, dest=rank)
    world.communicator.Recv(reply, source=rank)
    return (monotonic_ns() - began_ns) * SECONDS_PER_NS


def _reply(world: MpiWorld) -> None:
    """Acknowledge every message until an empty one; the wait for the first one sleeps, because another rank may need the core."""
    import numpy as np  # the contract needs the standard library only
    from mpi4py import MPI  # optional: runs on one rank have no MPI

    while not world.communicator.Iprobe(source=0):
        time.sleep(POLL_S)
    buffer, small, status = np.zeros(MAX_BYTES, np.uint8), np.zeros(1), MPI.Status()
    while True:
        world.communicator.Recv(buffer, source=0, status=status)
        if status.Get_count(MPI.BYTE) == 0:
            return
        world.communicator.Send(small, dest=0)


if __name__ == "__main__":
    main()
