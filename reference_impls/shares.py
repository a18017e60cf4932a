"""Shares of mini-batches: equal, or by the speeds of the ranks, which are measured before the first
step. Standard library only, Python 3.6 grammar.
"""

import heapq
import math
import statistics
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from reference_impls.communication import World
from reference_impls.contract import (
    LOCAL,
    SECONDS_PER_NS,
    ContractError,
    Implementation,
    Pipeline,
    Request,
    monotonic_ns,
)
from reference_impls.data_stalls import drop_files
from reference_impls.training_state import has_statistics

STEPS, MIN_S = 5, 3.0
"""The measurement has at least these steps, after one that may compile, and takes at least this
time: single steps of small models scatter."""


class Share(NamedTuple):
    """A rank's share of every mini-batch: rank ``rank`` of ``size`` ranks. ``seconds`` is the time
    that each rank takes for a sample; empty: shares are equal."""

    rank: int
    size: int
    seconds: Tuple[float, ...] = ()

    def of(self, samples: int) -> slice:
        """The places of the rank's samples in a mini-batch: every ``size``-th one, or where shares
        follow the speeds those after the samples of the ranks before."""
        if not self.seconds:
            return slice(self.rank, samples, self.size)
        counts = samples_of_ranks(self.seconds, samples)
        first = sum(counts[: self.rank])
        return slice(first, first + counts[self.rank])


def samples_of_ranks(seconds: Sequence[float], samples: int) -> List[int]:
    """How many samples of a mini-batch each rank takes, so that the last one is ready as early as
    possible: one each, and every further one goes to the rank that would be ready with it first.

    ``seconds`` is the time that each rank takes for a sample. Of ranks that would be ready at the
    same time, the lowest takes the sample.
    """
    until_s = (samples - len(seconds)) / math.fsum(1.0 / each for each in seconds)
    counts = [max(1, int(until_s / each)) for each in seconds]  # not more than the samples
    ready = [((count + 1) * each, rank) for rank, (count, each) in enumerate(zip(counts, seconds))]
    heapq.heapify(ready)
    for _ in range(samples - sum(counts)):
        rank = ready[0][1]
        counts[rank] += 1
        heapq.heapreplace(ready, ((counts[rank] + 1) * seconds[rank], rank))
    return counts


def share_by_speed(
    request: Request, world: World, implementation: Implementation, pipeline: Pipeline
) -> Dict[str, Any]:
    """Measure the ranks' speeds, and let the pipeline share mini-batches by them. Returns the value
    of the event shares_of_ranks.

    The ranks take steps together, on their equal shares of the first mini-batch and at a learning
    rate of 0; the time of a step is without the wait for other ranks. Afterwards all are in the
    state in which they were.
    """
    began_ns, before = monotonic_ns(), implementation.training_state()
    if request.parallel.normalisation == LOCAL and has_statistics(before):
        raise ContractError(
            "ranks with unequal shares would normalise over unequal numbers of samples; add"
            " --normalisation synchronised, or leave --shares out."
        )
    batches = iter(pipeline.training(1))
    batch = next(batches)
    del batches  # ends the workers and closes the files
    if request.cache_cleared is not False:
        drop_files(pipeline.files())
    step_s = _step_s(world, implementation, implementation.to_device(batch))
    implementation.restore(before)
    implementation.bucket_times()  # forget these exchanges
    seconds = tuple(world.bcast(world.gather(step_s / len(batch.labels))))
    pipeline.share(seconds)
    return {
        "seconds_per_sample": seconds,
        "samples": samples_of_ranks(seconds, request.global_batch_size),
        "cost_s": _since_s(began_ns),
    }


def _step_s(world: World, implementation: Implementation, on_device: Any) -> float:
    """The median time of a step, without its wait for other ranks; rank 0 says when it is the last
    one."""
    times_s, began_ns = [], monotonic_ns()  # type: List[float], int
    while len(times_s) <= STEPS or world.bcast(_since_s(began_ns) < MIN_S):
        step_ns = monotonic_ns()
        communication_s = implementation.step(on_device, 0.0, 1.0 / world.size).communication_s
        times_s.append(_since_s(step_ns) - communication_s)
    return statistics.median(times_s[1:])


def _since_s(then_ns: int) -> float:
    return (monotonic_ns() - then_ns) * SECONDS_PER_NS
