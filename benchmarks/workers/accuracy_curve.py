"""Trains a request in PyTorch and evaluates several times an epoch. Prints a JSON list: correct
predictions after each of these parts.

Started by benchmarks/target_scatter.py. The steps are the reference implementation's, in the order
and at the rates of a run; no target ends them.
"""

import argparse
import json
from itertools import count

from reference_impls import contract
from reference_impls.communication import World
from reference_impls.pytorch.implementation import build
from reference_impls.updates import learning_rate, steps_per_epoch


def correct_predictions(request: contract.Request, parts: int) -> list[int]:
    """Of an evaluation after each of ``parts`` parts of every epoch, as many mini-batches in each
    as there can be."""
    built = build(request, World())
    implementation, pipeline = built.implementation, built.pipeline
    whole, steps, found = steps_per_epoch(request), count(), []
    for epoch in range(1, request.epochs + 1):
        for place, batch in enumerate(pipeline.training(epoch), 1):
            implementation.step(
                implementation.to_device(batch), learning_rate(request, next(steps)), 1.0
            )
            if place * parts // whole > (place - 1) * parts // whole:
                found.append(
                    sum(
                        implementation.count_correct(implementation.to_device(one))
                        for one in pipeline.evaluation()
                    )
                )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--request", required=True)
    parser.add_argument("--parts", type=int, required=True)
    arguments = parser.parse_args()
    print(
        json.dumps(correct_predictions(contract.read_request(arguments.request), arguments.parts))
    )
