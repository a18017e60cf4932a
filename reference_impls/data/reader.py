"""The reader of a data set: images by index. Pipelines make mini-batches of them, which the
frameworks fetch."""

import abc
from typing import List, NamedTuple, Union

import numpy as np


class Split(NamedTuple):
    """Training or evaluation set: ``labels`` int64 (samples,), and ``images``, the reader's
    references to its images."""

    labels: np.ndarray
    images: object


Images = Union[np.ndarray, List[np.ndarray]]
"""Uint8 images: one array (samples, ...), or a list of large ones."""


class Reader(abc.ABC):
    """A data set on disk. Opening it reads the names and labels of its images; images are read on
    access."""

    channels_last = False
    """True for images (height, width, channels), False for (channels, height, width)."""

    draws = 0
    """Number of random numbers from [0, 1) that the augmentation of one image takes."""

    evaluation_batch = 250
    """Images in a mini-batch of the evaluation, which needs no more memory than training."""

    @abc.abstractmethod
    def training(self) -> Split:
        """The training set."""

    @abc.abstractmethod
    def evaluation(self) -> Split:
        """The evaluation set."""

    @abc.abstractmethod
    def files(self) -> List[str]:
        """Paths of all files that are read."""

    @abc.abstractmethod
    def training_images(self, split: Split, chosen: np.ndarray, draws: np.ndarray) -> Images:
        """Images by index, augmented; ``draws`` (samples, self.draws) are the images' random
        numbers, the same in every mini-batch and process."""

    @abc.abstractmethod
    def evaluation_images(self, split: Split, chosen: np.ndarray) -> Images:
        """Images by index, without augmentation."""
