"""MNIST and data sets in its format (digits): four IDX files, memory-mapped."""

import os
from typing import List

import numpy as np

from reference_impls.contract import ContractError, Request
from reference_impls.data.idx import read_header
from reference_impls.data.reader import Reader, Split


class MnistReader(Reader):
    """Images (samples, 1, 28, 28), without augmentation."""

    def __init__(self, request: Request) -> None:
        if request.data.side is not None:
            raise ContractError("images in MNIST's layout are not scaled: leave data.side out.")
        self._directory = request.data.directory

    def training(self) -> Split:
        """train-*"""
        return self._open("train")

    def evaluation(self) -> Split:
        """t10k-*"""
        return self._open("t10k")

    def files(self) -> List[str]:
        """Images and labels of both."""
        return [
            _path(self._directory, prefix, what)
            for prefix in ("train", "t10k")
            for what in ("images-idx3", "labels-idx1")
        ]

    def training_images(self, split: Split, chosen: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Images by index."""
        return self.evaluation_images(split, chosen)

    def evaluation_images(self, split: Split, chosen: np.ndarray) -> np.ndarray:
        """Images by index."""
        return split.images[chosen][:, np.newaxis]

    def _open(self, prefix: str) -> Split:
        labels = _map(_path(self._directory, prefix, "labels-idx1"))
        return Split(labels.astype(np.int64), _map(_path(self._directory, prefix, "images-idx3")))


def _path(directory: str, prefix: str, what: str) -> str:
    return os.path.join(directory, "{}-{}-ubyte".format(prefix, what))


def _map(path: str) -> np.ndarray:
    header = read_header(path)
    return np.memmap(path, dtype=np.uint8, mode="r", offset=header.offset_bytes, shape=header.shape)
