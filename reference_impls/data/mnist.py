"""MNIST and data sets of its shape (digits): four IDX files, memory-mapped."""

import os

import numpy as np

from reference_impls.contract import Request
from reference_impls.data.idx import read_header
from reference_impls.data.reader import Reader, Split


class MnistReader(Reader):
    """Pictures (samples, 1, 28, 28), without augmentation."""

    def __init__(self, request: Request) -> None:
        self._directory = request.data.directory

    def training(self) -> Split:
        """train-*"""
        return self._open("train")

    def evaluation(self) -> Split:
        """t10k-*"""
        return self._open("t10k")

    def training_pictures(self, split: Split, chosen: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """As they are."""
        return self.evaluation_pictures(split, chosen)

    def evaluation_pictures(self, split: Split, chosen: np.ndarray) -> np.ndarray:
        """As they are."""
        return split.pictures[chosen][:, np.newaxis]

    def _open(self, prefix: str) -> Split:
        labels = _map(os.path.join(self._directory, prefix + "-labels-idx1-ubyte"))
        return Split(labels.astype(np.int64), _map(os.path.join(self._directory, prefix + "-images-idx3-ubyte")))


def _map(path: str) -> np.ndarray:
    header = read_header(path)
    return np.memmap(path, dtype=np.uint8, mode="r", offset=header.offset_bytes, shape=header.shape)
