"""Inference of a workload's model beside a training: ``python -m
extensions.concurrent.programs.inference``. Standard library only, Python 3.6 grammar.

The model, its weights and its pictures are those of an implementation's own ``build`` and pipeline;
the forward pass is the one of its evaluation (``to_device`` and ``count_correct``), which returns
when the device has finished. ``global_batch_size`` of the request is the largest batch.

The harness sends ``<first> <count>`` for every batch: the number of its first image, and how many
images it has. The answer is ``<start> <end>``, monotonic ns, taken right before the copy to the
device and right after the forward pass.
"""

from typing import Any, Callable

from reference_impls.communication import World
from reference_impls.contract import Batch, ContractError, Request, monotonic_ns
from reference_impls.turns.messages import READY, Line, main

WARM_UP = 3
"""Forward passes before the first batch: the first ones allocate memory and choose algorithms."""


def serve(request: Request, build: Callable[..., Any], line: Line) -> None:
    """Answer ``ready <ns>``, where ns is the time of the last warm-up pass, then a line for every
    batch until the harness ends it."""
    built = build(request, World())
    images, labels = next(iter(built.pipeline.training(1)))
    if len(labels) < request.global_batch_size:
        raise ContractError(
            "the data set has {} training images, fewer than a batch of {};"
            " use a smaller batch.".format(len(labels), request.global_batch_size)
        )
    forward = Forward(built.implementation, Batch(images, labels))
    times = [forward(request.global_batch_size) for _ in range(WARM_UP)]
    line.answer("{} {}".format(READY, times[-1][1] - times[-1][0]))
    command = line.command()
    while command is not None:
        line.answer("{} {}".format(*forward(int(command.split()[1]))))
        command = line.command()


class Forward:
    """The forward pass of any number of images up to the batch's. Pictures repeat: what a network
    computes takes equally long for each of them."""

    def __init__(self, implementation: Any, batch: Batch) -> None:
        self._implementation, self._batch = implementation, batch

    def __call__(self, count: int) -> "tuple":
        """Start and end, monotonic ns."""
        batch = Batch(self._batch.images[:count], self._batch.labels[:count])
        start_ns = monotonic_ns()
        self._implementation.count_correct(self._implementation.to_device(batch))
        return start_ns, monotonic_ns()


if __name__ == "__main__":
    main(
        "Run the forward pass of a workload's model on each batch that the harness asks for.", serve
    )
