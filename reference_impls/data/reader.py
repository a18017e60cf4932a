"""What a data set's reader answers: pictures by number. Pipelines make mini-batches of them, frameworks decide who fetches them and when."""

import abc
from typing import List, NamedTuple, Union

import numpy as np


class Split(NamedTuple):
    """One half of a data set: ``labels`` int64 (samples,), and whatever the reader finds its pictures by."""

    labels: np.ndarray
    pictures: object


Pictures = Union[np.ndarray, List[np.ndarray]]
"""Uint8 pictures in one array (samples, ...), or, large ones, one by one."""


class Reader(abc.ABC):
    """A data set on disk. Opening it reads what names and labels its pictures; the pictures are read when they are asked for."""

    channels_last = False
    """Whether a picture is (height, width, channels), else (channels, height, width)."""

    draws = 0
    """How many random numbers from [0, 1) a training picture's augmentation takes."""

    evaluation_batch = 250
    """Pictures in a mini-batch of the evaluation: memory that suffices for training suffices for them."""

    @abc.abstractmethod
    def training(self) -> Split:
        """The training half."""

    @abc.abstractmethod
    def evaluation(self) -> Split:
        """The evaluation half."""

    @abc.abstractmethod
    def training_pictures(self, split: Split, chosen: np.ndarray, draws: np.ndarray) -> Pictures:
        """Pictures by their numbers, augmented; ``draws`` (samples, self.draws) are theirs whoever fetches them and in which company."""

    @abc.abstractmethod
    def evaluation_pictures(self, split: Split, chosen: np.ndarray) -> Pictures:
        """Pictures by their numbers, as they are evaluated."""
