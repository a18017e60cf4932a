"""CIFAR-10's binary version: records of one label byte and three planes of 32x32, memory-mapped."""

import os
from typing import List

import numpy as np

from reference_impls.contract import ContractError, Request
from reference_impls.data.reader import Reader, Split

FOLDER = "cifar-10-batches-bin"
TRAIN = tuple("data_batch_{}.bin".format(number) for number in range(1, 6))
EVAL = ("test_batch.bin",)
SIDE, RECORD_BYTES = 32, 1 + 3 * 32 * 32
PADDING = 4


class Cifar10Reader(Reader):
    """Images (samples, 3, 32, 32), scaled to the request's side where it names one, by Pillow's
    bilinear filter.

    Augmentation ``crop_flip``: a random window of the image with 4 black pixels around it, mirrored
    half the time.
    """

    def __init__(self, request: Request) -> None:
        directory = os.path.join(request.data.directory, FOLDER)
        self._directory = directory if os.path.isdir(directory) else request.data.directory
        self._augments = request.preprocessing.augmentation == "crop_flip"
        self._side = request.data.side or SIDE
        self.draws = 3 if self._augments else 0

    def training(self) -> Split:
        """data_batch_1.bin … data_batch_5.bin."""
        return self._open(TRAIN)

    def evaluation(self) -> Split:
        """test_batch.bin."""
        return self._open(EVAL)

    def files(self) -> List[str]:
        """All batches."""
        return [os.path.join(self._directory, name) for name in TRAIN + EVAL]

    def training_images(self, split: Split, chosen: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Images by index, augmented if the request says so."""
        images = self._images(split, chosen)
        return scaled(crop_and_flip(images, draws) if self._augments else images, self._side)

    def evaluation_images(self, split: Split, chosen: np.ndarray) -> np.ndarray:
        """Images by index."""
        return scaled(self._images(split, chosen), self._side)

    def _images(self, split: Split, chosen: np.ndarray) -> np.ndarray:
        which = np.searchsorted(split.images.ends, chosen, side="right")
        images = np.empty((len(chosen), 3, SIDE, SIDE), np.uint8)
        for number in np.unique(which):
            rows = which == number
            records = split.images.maps[number][chosen[rows] - split.images.starts[number]]
            images[rows] = records[:, 1:].reshape(-1, 3, SIDE, SIDE)
        return images

    def _open(self, names: tuple) -> Split:
        maps = [_map(os.path.join(self._directory, name)) for name in names]
        return Split(
            np.concatenate([records[:, 0] for records in maps]).astype(np.int64), Maps(maps)
        )


class Maps:
    """The records of several files, concatenated."""

    def __init__(self, maps: list) -> None:
        self.maps = maps
        self.ends = np.cumsum([len(records) for records in maps])
        self.starts = self.ends - [len(records) for records in maps]


def crop_and_flip(images: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """A window of each padded image (samples, channels, side, side); its three draws give row,
    column and whether it is mirrored."""
    samples, channels, side, _ = images.shape
    padded = np.zeros((samples, channels, side + 2 * PADDING, side + 2 * PADDING), np.uint8)
    padded[:, :, PADDING:-PADDING, PADDING:-PADDING] = images
    rows = (draws[:, 0, np.newaxis] * (2 * PADDING + 1)).astype(np.int64) + np.arange(side)
    columns = (draws[:, 1, np.newaxis] * (2 * PADDING + 1)).astype(np.int64) + np.arange(side)
    mirrored = draws[:, 2] < 0.5
    columns[mirrored] = columns[mirrored, ::-1]
    every_sample, planes = (
        np.arange(samples)[:, np.newaxis, np.newaxis, np.newaxis],
        np.arange(channels)[np.newaxis, :, np.newaxis, np.newaxis],
    )
    return padded[
        every_sample,
        planes,
        rows[:, np.newaxis, :, np.newaxis],
        columns[:, np.newaxis, np.newaxis, :],
    ]


def scaled(images: np.ndarray, side: int) -> np.ndarray:
    """Images (samples, 3, height, width) as (samples, 3, side, side)."""
    if images.shape[-1] == side:
        return images
    from PIL import Image  # needed for this alone

    return np.stack(
        [
            np.asarray(
                Image.fromarray(image.transpose(1, 2, 0)).resize((side, side), Image.BILINEAR)
            ).transpose(2, 0, 1)
            for image in images
        ]
    )


def _map(path: str) -> np.ndarray:
    try:
        size = os.path.getsize(path)
    except OSError as error:
        raise ContractError(
            "{}: the data file cannot be read: {}.".format(path, error.strerror)
        ) from error
    if size == 0 or size % RECORD_BYTES:
        raise ContractError(
            "{}: {} bytes are not a multiple of the record size {}; the file is damaged.".format(
                path, size, RECORD_BYTES
            )
        )
    return np.memmap(path, dtype=np.uint8, mode="r", shape=(size // RECORD_BYTES, RECORD_BYTES))
