"""Trains a request in float64 without the code that is timed: the referee of `suite verify-model`.

``python -m reference_impls.<framework>.referee --request request.json`` writes ``referee.npz`` into
the request's output directory:

``losses`` and ``correct``
    of every step, before its update, and of the evaluation after every epoch
``initial/<name>``, ``update/<name>`` and ``statistic/<name>``
    each parameter before the first step, what that step did to it, and batch normalisation's
    statistics after it
``path/<name>`` and ``statistic path/<name>``
    what all steps together did to each parameter, and what all but the first did to each of the
    statistics

Mini-batches, rates and initial weights are those of the request, which golden values pin
(tests/reference_impls/test_golden_values.py). The forward pass and the gradients are those of the
probe's model; SGD is NumPy's. Nothing is taken from the framework's build, load_weights, to_device,
step and count_correct.
"""

import argparse
import os
import sys
from typing import Callable

import numpy as np

from reference_impls.contract import Batch, ContractError, Request, print_error, read_request
from reference_impls.data.pipelines import open_pipeline
from reference_impls.probe import Arrays, ProbedModel, ProbeRequest, SharesInTurn
from reference_impls.replay import DTYPE, assign_start, opening
from reference_impls.schedules import SCHEDULES

FILE_NAME = "referee.npz"


def referee(request: Request, open_model: Callable[[ProbeRequest], ProbedModel]) -> Arrays:
    """All arrays of the archive, from training every epoch of the request."""
    model = open_model(opening(request))
    initial = assign_start(model, request)
    sgd, pipeline, schedule = (
        SharesInTurn(model, request.optimizer, 1),
        open_pipeline(request),
        SCHEDULES[request.optimizer.schedule],
    )
    horizon = request.epochs * -(-request.data.train_samples // request.global_batch_size)
    found = {"initial/" + name: value for name, value in initial.items()}  # type: Arrays
    losses, correct = [], []
    for epoch in range(1, request.epochs + 1):
        for batch in pipeline.training(epoch):
            rate = schedule(request.optimizer.base_learning_rate, len(losses), horizon)
            losses.append(sgd.step(batch.images.astype(DTYPE), batch.labels, rate))
            if len(losses) == 1:
                found.update(
                    ("update/" + name, value - initial[name])
                    for name, value in model.parameters().items()
                )
                found.update(
                    ("statistic/" + name, value) for name, value in model.statistics().items()
                )
        correct.append(sum(_correct(model, batch) for batch in pipeline.evaluation()))
    found.update(
        ("path/" + name, value - initial[name]) for name, value in model.parameters().items()
    )
    found.update(
        ("statistic path/" + name, value - found["statistic/" + name])
        for name, value in model.statistics().items()
    )
    return dict(found, losses=np.asarray(losses), correct=np.asarray(correct, np.float64))


def _correct(model: ProbedModel, batch: Batch) -> int:
    return int((model.logits(batch.images.astype(DTYPE)).argmax(axis=1) == batch.labels).sum())


def main(open_model: Callable[[ProbeRequest], ProbedModel]) -> None:
    """The command line of an implementation's referee."""
    parser = argparse.ArgumentParser(
        description="Train a request in float64, without the code that is timed."
    )
    parser.add_argument("--request", required=True, help="the training request, a JSON file")
    try:
        request = read_request(parser.parse_args().request)
        np.savez(os.path.join(request.output_directory, FILE_NAME), **referee(request, open_model))  # type: ignore[arg-type]
    except ContractError as error:
        print_error(str(error))
        sys.exit(2)
