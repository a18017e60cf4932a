"""Loading with workers in a framework's process, for test_beside_the_loop.

``main("pytorch")`` prints, as JSON, the labels of mini-batches that three workers make, each of
which waits until all others make one, too; and what is raised where one cannot be made.
"""

import importlib
import json
import multiprocessing
from typing import Any

import numpy as np

from reference_impls.contract import Batch, ContractError, Loading

WORKERS, BATCHES = 3, 6
WAIT_S = 60
"""Of a worker that is alone."""


class Together:
    """Mini-batches of one sample."""

    def __init__(self) -> None:
        self._all = multiprocessing.Barrier(WORKERS)

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> Batch:
        self._all.wait(WAIT_S)
        return Batch(np.zeros((1, 1), np.float32), np.array([index]))


class Damaged(Together):
    """The last mini-batch cannot be made."""

    def __getitem__(self, index: int) -> Batch:
        if index == BATCHES - 1:
            raise ContractError("the image cannot be decoded.")
        return Batch(np.zeros((1, 1), np.float32), np.array([index]))


def main(framework: str) -> None:
    """After the module that opens the framework as a run does: pools have as many threads."""
    fetch = importlib.import_module(f"reference_impls.{framework}.loading").fetch

    def labels(batches: Any) -> list[int]:
        return [int(batch.labels[0]) for batch in fetch(batches, Loading(WORKERS, 2))]

    raised = ""
    try:
        labels(Damaged())
    except Exception as error:  # noqa: BLE001 - each framework wraps it in its own way
        raised = str(error)
    print(json.dumps({"labels": labels(Together()), "raised": raised}))
