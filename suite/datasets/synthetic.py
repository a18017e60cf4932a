"""Data that are made on this machine: scikit-learn's handwritten digits, and synthetic data in the
layouts of published data sets. Learnable: each class is a pattern with noise."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from suite.catalog.data_sets import DataSetDefinition

EVALUATION_EVERY = 5  # each fifth sample is for evaluation


def write_digits(directory: Path) -> None:
    """Write the four IDX files of 28x28 images.

    The 1,797 images of 8x8 pixels have values 0..16, which are scaled to 0..255; every pixel is
    repeated 3x3 and a black border of two pixels is added. Samples 4, 9, 14, … (359) are for
    evaluation, the other 1,438 for training. The same bytes on every machine.
    """
    from sklearn.datasets import load_digits  # start-up: loads scikit-learn and scipy

    digits = load_digits()
    pixels = (np.asarray(digits.images) * 255 / 16).round().astype(np.uint8)
    images = np.pad(pixels.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    labels = np.asarray(digits.target).astype(np.uint8)
    evaluation = np.arange(len(labels)) % EVALUATION_EVERY == EVALUATION_EVERY - 1
    for prefix, chosen in (("train", ~evaluation), ("t10k", evaluation)):
        write_idx(directory / f"{prefix}-images-idx3-ubyte", images[chosen])
        write_idx(directory / f"{prefix}-labels-idx1-ubyte", labels[chosen])


def write_idx(path: Path, array: np.ndarray) -> None:
    """One array of bytes in the IDX format of MNIST."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(
        length.to_bytes(4, "big") for length in array.shape
    )
    path.write_bytes(header + array.tobytes())


NOISE = 40.0
FOLDERS = 10
"""Number of classes of the layout imagefolder."""
PHOTOGRAPH = (320, 256)  # width, height


def images(
    labels: "np.ndarray[Any, Any]", shape: tuple[int, int, int], seed: int, part: int
) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Images (samples, height, width, channels) uint8: the class's smooth pattern, shifted by up to
    an eighth of the image, plus noise.

    ``part`` seeds shifts and noise: training and evaluation have the same patterns.
    """
    height, width, channels = shape
    stream = np.random.RandomState([seed, 2, part])
    made = np.empty((len(labels), *shape), np.uint8)
    for index, label in enumerate(labels):
        coarse = np.random.RandomState([seed, 1, int(label)]).uniform(30, 225, (4, 4, channels))
        smooth = coarse.repeat(-(-height // 4), axis=0)[:height].repeat(-(-width // 4), axis=1)[
            :, :width
        ]
        moved = np.roll(smooth, stream.randint(-(height // 8), height // 8 + 1, 2), axis=(0, 1))
        made[index] = np.clip(moved + stream.normal(0, NOISE, shape), 0, 255)
    return made


def labels_of(samples: int, classes: int, seed: int, part: int) -> "np.ndarray[Any, Any]":
    """Labels in random order; the classes' frequencies differ by at most one."""
    return np.random.RandomState([seed, 3, part]).permutation(np.arange(samples) % classes)


def write_mnist(
    folder: Path, definition: DataSetDefinition, train: int, evaluation: int, seed: int
) -> None:
    """Four IDX files of 28x28 images."""
    for part, (prefix, samples) in enumerate((("train", train), ("t10k", evaluation))):
        labels = labels_of(samples, definition.classes or 10, seed, part)
        write_idx(
            folder / f"{prefix}-images-idx3-ubyte", images(labels, (28, 28, 1), seed, part)[..., 0]
        )
        write_idx(folder / f"{prefix}-labels-idx1-ubyte", labels.astype(np.uint8))


def write_cifar10(
    folder: Path, definition: DataSetDefinition, train: int, evaluation: int, seed: int
) -> None:
    """The binary version's records, the training samples over its five files."""
    for part, samples in enumerate((train, evaluation)):
        labels = labels_of(samples, definition.classes or 10, seed, part)
        planes = images(labels, (32, 32, 3), seed, part).transpose(0, 3, 1, 2).reshape(samples, -1)
        records = np.concatenate([labels.astype(np.uint8)[:, np.newaxis], planes], axis=1)
        files = [
            file.name for file in definition.files if ("data_batch" in file.name) == (part == 0)
        ]
        for name, chunk in zip(files, np.array_split(records, len(files)), strict=True):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(chunk.tobytes())


def write_gld23k(
    folder: Path, definition: DataSetDefinition, train: int, evaluation: int, seed: int
) -> None:
    """Two tables and images/<image_id>.jpg."""
    (folder / "images").mkdir()
    for part, (table, samples) in enumerate(
        zip(definition.tables, (train, evaluation), strict=True)
    ):
        labels = labels_of(samples, definition.classes or 203, seed, part)
        with (folder / table.name).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(
                ["user_id", "image_id", "class"] if part == 0 else ["image_id", "class"]
            )
            for index, label in enumerate(labels):
                name = f"{'train' if part == 0 else 'test'}{index:06d}"
                _save(folder / "images" / f"{name}.jpg", label, seed, part * 10**6 + index)
                writer.writerow([index % 10, name, label] if part == 0 else [name, label])


def write_folders(
    folder: Path, definition: DataSetDefinition, train: int, evaluation: int, seed: int
) -> None:
    """train/<class>/ and val/<class>/."""
    for part, (split, samples) in enumerate((("train", train), ("val", evaluation))):
        for index, label in enumerate(labels_of(samples, FOLDERS, seed, part)):
            target = folder / split / f"class{label}"
            target.mkdir(parents=True, exist_ok=True)
            _save(target / f"{index:06d}.jpg", label, seed, part * 10**6 + index)


def _save(path: Path, label: int, seed: int, number: int) -> None:
    from PIL import Image  # start-up: loads Pillow

    width, height = PHOTOGRAPH
    Image.fromarray(images(np.array([label]), (height, width, 3), seed, number)[0]).save(
        path, quality=85
    )


WRITERS: dict[str, Callable[[Path, DataSetDefinition, int, int, int], None]] = {
    "idx": write_mnist,
    "cifar10": write_cifar10,
    "gld23k": write_gld23k,
    "imagefolder": write_folders,
}
