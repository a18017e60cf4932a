"""Updates of the parameters: after every mini-batch, or after every ``accumulation`` of them,
counted anew in every epoch.

The last update of an epoch, and that of a run which a step limit ends, may have fewer mini-batches.
Standard library only, Python 3.6 grammar.
"""

import math
from typing import Callable, Iterator, List, NamedTuple, Optional

from reference_impls.contract import Request
from reference_impls.schedules import SCHEDULES


class Place(NamedTuple):
    """A mini-batch of an epoch: the samples of its update, over all ranks and mini-batches, and
    whether the update follows it."""

    samples: int
    is_last: bool


def steps_per_epoch(request: Request) -> int:
    """Mini-batches of an epoch."""
    return -(-request.data.train_samples // request.global_batch_size)


def updates_of(request: Request, steps: int) -> int:
    """Updates after ``steps`` mini-batches of an epoch."""
    return -(-steps // request.accumulation)


def places(request: Request, left: Optional[int]) -> Iterator[Place]:
    """The mini-batches of an epoch, of which the step limit leaves ``left``; None: all."""
    starts = range(0, request.data.train_samples, request.global_batch_size)
    sizes = [
        min(request.global_batch_size, request.data.train_samples - start)
        for start in starts[:left]
    ]
    for first in range(0, len(sizes), request.accumulation):
        group = sizes[first : first + request.accumulation]
        for number in range(len(group)):
            yield Place(sum(group), number == len(group) - 1)


def rate_of(request: Request) -> Callable[[int], float]:
    """The rate of the update that a mini-batch is part of, counted from 0 over the whole run: the
    schedule counts updates."""
    per_epoch, accumulation = steps_per_epoch(request), request.accumulation
    whole, optimizer = updates_of(request, per_epoch), request.optimizer
    schedule, horizon = SCHEDULES[optimizer.schedule], request.epochs * whole

    def rate(step: int) -> float:
        epochs, place = divmod(step, per_epoch)
        update = epochs * whole + place // accumulation
        return schedule(optimizer.base_learning_rate, update, horizon)

    return rate


def learning_rate(request: Request, step: int) -> float:
    """The rate of a single mini-batch's update."""
    return rate_of(request)(step)


def learning_rates(request: Request, done: int, steps: int) -> List[float]:
    """The rates of an epoch's updates: of its first and its last one, and their mean. ``done``
    mini-batches came before its ``steps``."""
    rates = list(map(rate_of(request), range(done, done + steps, request.accumulation)))
    return [rates[0], rates[-1], math.fsum(rates) / len(rates)] if rates else []
