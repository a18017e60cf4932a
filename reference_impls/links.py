"""How fast the first rank's messages reach every other one, and how far apart their clocks are.

``mpirun … python -m reference_impls.links --ranks N``; rank 0 prints one line of JSON for every other rank as soon as it is known, so that a
line that is missing names the link that is broken. Python 3.6 grammar; needs mpi4py and NumPy.
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

LIMIT_S = 45
"""A rank that hears nothing more ends itself: nobody may be left to do it."""

WARM_UP, ROUND_TRIPS, TRIES = 10, 100, 5
TURN_S = 1e-3
FIRST_BYTES, LARGEST_BYTES, LONG_ENOUGH_S = 2**16, 2**24, 0.1


def main() -> None:
    """Measure each link in turn, the others waiting."""
    parser = argparse.ArgumentParser(description="Measure the links of a cluster.")
    parser.add_argument("--ranks", type=int, required=True)
    signal.alarm(LIMIT_S)
    world = MpiWorld(parser.parse_args().ranks)
    nodes = world.allgather(world.node)
    wall_less_monotonic_ns = world.allgather(int(time.time() * 1e9) - monotonic_ns())
    offsets = world.clock_offsets()
    for rank in range(1, world.size):
        if world.rank == rank:
            _answer(world)
        elif world.rank == 0:
            wall_ns = offsets[rank].offset_ns + wall_less_monotonic_ns[rank] - wall_less_monotonic_ns[0]
            clocks = {
                "monotonic_offset_ns": offsets[rank].offset_ns,
                "wall_offset_ns": wall_ns,
                "uncertainty_ns": offsets[rank].uncertainty_ns,
            }
            sys.stdout.write(json.dumps(dict({"rank": rank, "node": nodes[rank]}, **clocks, **_ask(world, rank))) + "\n")
            sys.stdout.flush()
    os._exit(0)  # a link that broke meanwhile would keep MPI_Finalize waiting


def _ask(world: MpiWorld, rank: int) -> Dict[str, Any]:
    """Round trip of 8 bytes (the median), and the rate of a message that takes long enough to tell (the best of some)."""
    import numpy as np

    small = np.zeros(1)
    trips = [_trip_s(world, rank, small, small) for _ in range(WARM_UP + ROUND_TRIPS)]
    size_bytes, took_s = FIRST_BYTES // 2, 0.0
    while took_s < LONG_ENOUGH_S and size_bytes < LARGEST_BYTES:
        size_bytes *= 2
        message = np.zeros(size_bytes, np.uint8)
        took_s = min(_trip_s(world, rank, message, small) for _ in range(TRIES))
    world.communicator.Send(np.zeros(0, np.uint8), dest=rank)
    return {"round_trip_s": sorted(trips[WARM_UP:])[ROUND_TRIPS // 2], "bandwidth_mbit_s": size_bytes * 8e-6 / took_s, "message_bytes": size_bytes}


def _trip_s(world: MpiWorld, rank: int, message: Any, answer: Any) -> float:
    began_ns = monotonic_ns()
    world.communicator.Send(message, dest=rank)
    world.communicator.Recv(answer, source=rank)
    return (monotonic_ns() - began_ns) * SECONDS_PER_NS


def _answer(world: MpiWorld) -> None:
    """Give every message's arrival back, until an empty one comes; wait for the first without a core, which another rank may need."""
    import numpy as np
    from mpi4py import MPI

    while not world.communicator.Iprobe(source=0):
        time.sleep(TURN_S)
    room, small, status = np.zeros(LARGEST_BYTES, np.uint8), np.zeros(1), MPI.Status()
    while True:
        world.communicator.Recv(room, source=0, status=status)
        if status.Get_count(MPI.BYTE) == 0:
            return
        world.communicator.Send(small, dest=0)


if __name__ == "__main__":
    main()
