"""A rank of test_wire: three steps of sums in buckets, rounded on the wire by PyTorch; rank 0
prints the largest errors, and whether NumPy rounds alike. Started by mpirun."""

import json
import sys

import numpy as np

from reference_impls import communication
from reference_impls.communication import Buckets, MpiWorld
from reference_impls.contract import LOCAL, Parallel
from reference_impls.pytorch.exchange import ENCODINGS
from reference_impls.wire import ENCODINGS as NUMPY_ENCODINGS

SIZES = (5, 1000, 1, 333, 70)


def main(ranks: int, wire: str) -> None:
    """Every rank makes all ranks' numbers, and so knows the sum."""
    world = communication.join(ranks)
    assert isinstance(world, MpiWorld)
    settings = Parallel(ranks, 1, "mpi", 400, True, LOCAL, wire)
    buckets = Buckets(world, SIZES, np.float32, settings, encodings=ENCODINGS)
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
        said = {"errors": errors, "are_alike": are_alike, "buckets": len(buckets.arrays)}
        print(json.dumps({**said, "rounds_as_numpy": all(map(rounds_as_numpy, ENCODINGS))}))


def rounds_as_numpy(wire: str) -> bool:
    """Whether PyTorch's words are NumPy's, for numbers of every size, ties and infinities; and both
    ways back."""
    powers = np.arange(-50, 18)[:, None]
    numbers = np.ldexp(np.linspace(-2, 2, 8193), powers).astype(np.float32).ravel()
    numbers = np.append(numbers, np.float32([np.inf, -np.inf, 0.0, -0.0]))
    ours, theirs = ENCODINGS[wire], NUMPY_ENCODINGS[wire]
    words, unknown = theirs.encode(numbers), ours.decode(ours.encode(np.float32([np.nan])))
    are_equal = np.array_equal(ours.encode(numbers), words)
    are_equal &= np.array_equal(ours.decode(words), theirs.decode(words))
    return bool(are_equal and np.isnan(unknown[0]))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
