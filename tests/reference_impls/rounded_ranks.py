"""A rank of test_wire: three steps of sums in buckets, sent as asked for; rank 0 prints the largest errors. Started by mpirun."""

import json
import sys
from collections.abc import Sequence

import numpy as np

from reference_impls.communication import Buckets, MpiWorld
from reference_impls.contract import LOCAL, Parallel

SIZES = (5, 1000, 1, 333, 70)


class OnNodes(MpiWorld):
    """Ranks of this machine that take themselves for those of several nodes."""

    def __init__(self, named: Sequence[str]) -> None:
        super().__init__(len(named))
        self._named = named

    @property
    def nodes(self) -> list[str]:
        """The nodes that were given, by rank."""
        return list(self._named)


def main(collective: str, wire: str, nodes: Sequence[str]) -> None:
    """Every rank makes all ranks' numbers, and so knows the sum."""
    world, ranks = OnNodes(nodes), len(nodes)
    buckets = Buckets(world, SIZES, np.float32, Parallel(ranks, len(set(nodes)), collective, 400, True, LOCAL, wire))
    errors, are_alike = [], True
    for step in range(3):
        numbers = [np.random.RandomState([step, rank]).normal(0, 1, sum(SIZES)).astype(np.float32) for rank in range(ranks)]
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
        print(json.dumps({"errors": errors, "are_alike": are_alike, "buckets": len(buckets.arrays)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","))
