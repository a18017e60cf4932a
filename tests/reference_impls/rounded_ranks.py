"""A rank of test_wire: three steps of sums in buckets, rounded on the wire; rank 0 prints the
largest errors. Started by mpirun."""

import json
import sys

import numpy as np

from reference_impls import communication
from reference_impls.communication import Buckets, MpiWorld
from reference_impls.contract import LOCAL, Parallel

SIZES = (5, 1000, 1, 333, 70)


def main(ranks: int, wire: str) -> None:
    """Every rank makes all ranks' numbers, and so knows the sum."""
    world = communication.join(ranks)
    assert isinstance(world, MpiWorld)
    buckets = Buckets(world, SIZES, np.float32, Parallel(ranks, 1, "mpi", 400, True, LOCAL, wire))
    errors, are_alike = [], True
    for step in range(3):
        numbers = [
            np.random.RandomState([step, rank]).normal(0, 1, sum(SIZES)).astype(np.float32)
            for rank in range(ranks)
        ]
        expected = np.sum(numbers, axis=0, dtype=np.float64)
        begin = np.cumsum((0, *SIZES))
        for bucket, members in enumerate(buckets.plan.members):
            parts = [numbers[world.rank][begin[place] : begin[place + 1]] for place in members]
            if bucket % 2:
                buckets.start(bucket, np.concatenate(parts))
            else:
                buckets.arrays[bucket][...] = np.concatenate(parts)
                buckets.start(bucket)
        buckets.finish()
        found = np.concatenate([np.ravel(view) for view in buckets.views()])
        errors.append(float(np.abs(found - expected).max()))
        are_alike = are_alike and len(set(world.allgather(found.tobytes()))) == 1
    if world.rank == 0:
        print(
            json.dumps({"errors": errors, "are_alike": are_alike, "buckets": len(buckets.arrays)})
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
