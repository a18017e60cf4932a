"""Mini-batches of MNIST's and CIFAR-10's files, in the order and with the crops of the seed."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np


class Split:
    """Training or evaluation samples, read when the first mini-batch is fetched."""

    def __init__(self, data, is_training):
        self.size = data["train_samples" if is_training else "eval_samples"]
        self.image_shape = (1, 28, 28) if data["layout"] == "idx" else (3, 32, 32)
        self._folder, self._is_training = Path(data["directory"]), is_training

    @cached_property
    def arrays(self):
        """Images uint8 (samples, channels, height, width) and labels int32."""
        images, labels = self._idx() if self.image_shape[0] == 1 else self._cifar10()
        return images.reshape(-1, *self.image_shape), labels.astype(np.int32)

    def _idx(self):
        part = self._folder / ("train" if self._is_training else "t10k")
        images = np.fromfile(f"{part}-images-idx3-ubyte", np.uint8, offset=16)
        return images, np.fromfile(f"{part}-labels-idx1-ubyte", np.uint8, offset=8)

    def _cifar10(self):
        folder = self._folder / "cifar-10-batches-bin"
        folder = folder if folder.is_dir() else self._folder
        numbers = range(1, 6) if self._is_training else ()
        names = [f"data_batch_{i}.bin" for i in numbers] or ["test_batch.bin"]
        records = np.concatenate([np.fromfile(folder / name, np.uint8) for name in names])
        records = records.reshape(-1, 3073)
        return records[:, 1:], records[:, 0]


def crop_flip(images, draws):
    """A window of each picture with 4 black pixels around it, some of them mirrored."""
    size = np.arange(images.shape[2])
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)))
    rows, columns = ((9 * draws[:, k, None]).astype(int) + size for k in (0, 1))
    columns = np.where(draws[:, 2, None] < 0.5, columns[:, ::-1], columns)
    sample, channel = np.ogrid[: len(images), : images.shape[1]]
    return padded[
        sample[..., None, None],
        channel[..., None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]


def training_batches(split, request, epoch):
    """The epoch's mini-batches, made by this thread or ahead of it by ``workers`` others."""
    seed, size, loading = request["seed"], request["global_batch_size"], request["loading"]
    has_crops = request["preprocessing"]["augmentation"] == "crop_flip"
    order = np.random.RandomState([seed, epoch]).permutation(split.size)
    draws = np.random.RandomState([seed, epoch, 1]).random_sample((split.size, 3))
    images, labels = split.arrays

    def batch(first):
        chosen = order[first : first + size]
        pictures = images[chosen]
        return crop_flip(pictures, draws[chosen]) if has_crops else pictures, labels[chosen]

    if not loading["workers"]:
        yield from map(batch, range(0, split.size, size))
        return
    with ThreadPoolExecutor(loading["workers"]) as pool:
        ahead = deque()
        for first in range(0, split.size, size):
            ahead.append(pool.submit(batch, first))
            if len(ahead) > loading["workers"] * loading["prefetch"]:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def evaluation_batches(split, size):
    """Mini-batches of one size: the last one is filled up with samples that no prediction can hit
    (label -1)."""
    images, labels = split.arrays
    for first in range(0, split.size, size):
        chosen = np.arange(first, first + size)
        labelled = np.where(chosen < split.size, labels[chosen % split.size], -1)
        yield images[chosen % split.size], labelled
