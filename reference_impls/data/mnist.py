"""MNIST and data sets of its shape (digits): four IDX files, memory-mapped, normalised a whole mini-batch at a time."""

import os
from typing import Iterator

import numpy as np

from reference_impls.contract import Batch, ContractError, Pipeline, Request
from reference_impls.data.idx import read_header
from reference_impls.data.order import epoch_order

TRAIN, EVAL = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"), ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
EVAL_BATCH = 250


class MnistPipeline(Pipeline):
    """Mini-batches of float32 images, (samples, 1, 28, 28) or channels last, and int64 labels, (samples,).

    Files are mapped at the first fetch, so that reading them from disk is inside the measured region. The last
    mini-batch of an epoch may be smaller: every sample is seen once an epoch.
    """

    def __init__(self, request: Request, channels_last: bool = False) -> None:
        self._request = request
        self._channel_axis = 3 if channels_last else 1
        scale = np.float32(1.0 / (255.0 * request.preprocessing.std[0]))
        self._scale, self._shift = scale, np.float32(-request.preprocessing.mean[0] / request.preprocessing.std[0])

    def training(self, epoch: int) -> Iterator[Batch]:
        """The epoch's mini-batches, in the seed's order."""
        images, labels = self._open(TRAIN, self._request.data.train_samples)
        order = epoch_order(self._request.seed, epoch, len(labels))
        return self._batches(images, labels, order, self._request.global_batch_size)

    def evaluation(self) -> Iterator[Batch]:
        """The test set, in file order."""
        images, labels = self._open(EVAL, self._request.data.eval_samples)
        return self._batches(images, labels, np.arange(len(labels)), EVAL_BATCH)

    def _open(self, names, samples):
        paths = [os.path.join(self._request.data.directory, name) for name in names]
        arrays = [_map(path) for path in paths]
        for path, array in zip(paths, arrays):
            if len(array) != samples:
                raise ContractError("{}: expected {} samples, found {}.".format(path, samples, len(array)))
        return arrays

    def _batches(self, images, labels, order, size) -> Iterator[Batch]:
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            pixels = images[chosen].astype(np.float32)
            pixels *= self._scale
            pixels += self._shift
            yield Batch(np.expand_dims(pixels, self._channel_axis), labels[chosen].astype(np.int64))


def _map(path: str) -> np.ndarray:
    header = read_header(path)
    return np.memmap(path, dtype=np.uint8, mode="r", offset=header.offset_bytes, shape=header.shape)
