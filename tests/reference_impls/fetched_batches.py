"""Keeps the mini-batches that a framework trains on: ``python -m
tests.reference_impls.fetched_batches MODULE FOLDER`` in its environment.

The implementation is built for the request in FOLDER, and its pipeline fetches two epochs, of which
the second is late, and the evaluation set. FOLDER/fetched.npz has images and labels in turn, as the
pipeline gives them, in their types. No file of the data set is mapped when the epochs are over:
mapped pages cannot leave the page cache.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

from reference_impls.communication import World
from reference_impls.contract import REQUEST_NAME, read_request

EPOCHS = (1, 29)


def main(module: str, folder: Path) -> None:
    """In order: the mini-batches of the first epoch, of the late one, of the evaluation."""
    build = importlib.import_module(f"{module}.implementation").build
    pipeline = build(read_request(str(folder / REQUEST_NAME)), World()).pipeline
    batches = [batch for epoch in EPOCHS for batch in pipeline.training(epoch)] + list(
        pipeline.evaluation()
    )
    mappings = Path("/proc/self/maps").read_text()
    assert not [path for path in pipeline.files() if path in mappings], mappings
    np.savez(folder / "fetched.npz", *(np.asarray(array) for batch in batches for array in batch))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
