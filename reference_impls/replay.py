"""Repeats the first steps of a training request in float64, with the model of an implementation's
probe: the referee of `suite audit`.

``python -m <implementation>.replay --request request.json`` writes ``losses.npz`` into the
request's output directory: ``losses``, float64 (steps,), each the mean over the global mini-batch
before its update, and ``by_shares``, whether every rank's share was normalised alone. The request
is a contract.Request whose ``steps`` are the number to take.

One process takes the shares of all ranks in turn where every rank normalised its own share;
otherwise it takes the whole mini-batch, which is the same mathematics.
"""

import argparse
import os
import sys
from typing import Callable, Iterator, Optional, Tuple

import numpy as np

from reference_impls import initial_weights
from reference_impls.contract import Batch, ContractError, Request, print_error, read_request
from reference_impls.data.pipelines import open_pipeline
from reference_impls.probe import (
    ALONE,
    PROBE_VERSION,
    Arrays,
    ProbedModel,
    ProbeRequest,
    SharesInTurn,
)
from reference_impls.schedules import SCHEDULES
from reference_impls.state_file import Progress, StateFile

DTYPE = "float64"
LOSSES_NAME = "losses.npz"


def replay(
    request: Request,
    open_model: Callable[[ProbeRequest], ProbedModel],
    start: Optional[StateFile] = None,
) -> Tuple[np.ndarray, bool]:
    """The losses of the request's first ``request.steps`` steps, from the seed's weights, on the
    seed's mini-batches; and whether every rank's share was normalised alone. From a state on, those
    of the steps after it."""
    model = open_model(opening(request))
    statistics = model.statistics()
    assign_start(model, request)
    by_shares = bool(statistics) and request.parallel.ranks > 1 and request.has_own_statistics
    if start is not None and by_shares:
        raise ContractError(
            "one rank cannot replay a training state of several ranks whose batch normalisation was"
            " not synchronised."
        )
    if start is not None:
        model.restore(start.of_rank(0))
    shares = SharesInTurn(model, request.optimizer, request.parallel.ranks) if by_shares else None
    losses = []  # type: List[float]
    for batch, rate in _steps(request, Progress(0, 0) if start is None else start.progress):
        images = batch.images.astype(DTYPE)
        losses.append(
            model.step(images, batch.labels, rate, 1.0)
            if shares is None
            else shares.step(images, batch.labels, rate)
        )
    return np.asarray(losses), by_shares


def assign_start(model: ProbedModel, request: Request) -> Arrays:
    """Give the model the parameters and statistics that the request begins with; returns the
    parameters."""
    parameters = model.parameters()
    drawn = initial_weights.requested(
        request, {name: parameters[name].shape for name in parameters}
    )
    values = {**model.statistics(), **drawn}
    if request.start is not None:
        checkpoint = StateFile(request.start.path).of_rank(0)
        for name in values:
            kind = "parameter/" if name in parameters else "statistic/"
            if not (kind == "parameter/" and request.start.is_fresh(name)):
                values[name] = np.asarray(checkpoint[kind + name])
    values = {name: value.astype(DTYPE) for name, value in values.items()}
    model.assign(values)
    return {name: values[name] for name in parameters}


def main(open_model: Callable[[ProbeRequest], ProbedModel]) -> None:
    """The command line of an implementation's replay."""
    parser = argparse.ArgumentParser(
        description="Repeat the first steps of a training request in float64."
    )
    parser.add_argument("--request", required=True, help="the training request, a JSON file")
    parser.add_argument(
        "--start-state", help="the training state to continue from (reference_impls.state_file)"
    )
    try:
        arguments = parser.parse_args()
        request = read_request(arguments.request)
        losses, by_shares = replay(
            request, open_model, arguments.start_state and StateFile(arguments.start_state)
        )
        np.savez(
            os.path.join(request.output_directory, LOSSES_NAME),
            losses=losses,
            by_shares=np.asarray(by_shares),
        )
    except ContractError as error:
        print_error(str(error))
        sys.exit(2)


def _steps(request: Request, done: Progress) -> Iterator[Tuple[Batch, float]]:
    """Global mini-batches and learning rates after ``done``, as the loop takes them."""
    pipeline, per_epoch = (
        open_pipeline(request),
        -(-request.data.train_samples // request.global_batch_size),
    )
    schedule, horizon, index = (
        SCHEDULES[request.optimizer.schedule],
        request.epochs * per_epoch,
        done.step,
    )
    for epoch in range(done.epoch + 1, request.epochs + 1):
        for batch in pipeline.training(epoch):
            if index == request.steps:
                return
            yield batch, schedule(request.optimizer.base_learning_rate, index, horizon)
            index += 1


def opening(request: Request) -> ProbeRequest:
    """What opens the model: its mini-batches are not used."""
    return ProbeRequest(
        PROBE_VERSION,
        request.model,
        request.data.classes,
        [],
        request.global_batch_size,
        DTYPE,
        request.seed,
        request.optimizer,
        [],
        request.threads,
        "cpu",
        ALONE,
        1,
        "",
        request.trains,
    )
